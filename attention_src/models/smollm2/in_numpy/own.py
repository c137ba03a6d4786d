"""`in_numpy.listing` on functions of your own."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace

from attention_src.models.smollm2.in_numpy.listing import OURS
from attention_src.models.smollm2.learner.dispatch import COARSER, UNUSED, Parts


def on(own: Mapping[str, Callable]) -> SimpleNamespace:
    """The parts of a forward pass: yours, checked at each call, and the listing's for the rest.

    Args:
        own: name -> function, as `exercises.keep.parts()` returns them
    Returns: the parts that `listing.forward` takes
    Raises:
        ValueError: a name that is no part's, or what is not a function
    """
    parts, names = Parts(own), set(own)
    if any("grouped_attention" in COARSER.get(name, ()) for name in own):
        names.add("grouped_attention")  # it is made of finer parts, of which some are yours
    taken = (names & vars(OURS).keys()) - set(UNUSED)
    return SimpleNamespace(**vars(OURS) | {name: getattr(parts, name) for name in taken})
