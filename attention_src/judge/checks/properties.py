"""What can be said of a function whose numbers nothing explains: what mixes that should not."""

import sys
from typing import Any

import numpy as np

from attention_src.judge.calls.oracle import softmax
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import How, same


def not_the_same_twice(t: Trier, how: How) -> str:
    """Whether a second call gives another answer; adds the finding.

    Args:
        t: a function that ran
        how: a way in which it ran
    Returns: why it cannot be judged, if it makes new weights in each call
    """
    first, made = _makes_weights(lambda: t.case(how)[0])
    second = t.case(how)[0]
    if not first or not second or not same(first, second, 1e-12, nan=True):
        if made:
            return (
                "It makes new weights in each call (a layer is made inside it), so no two calls "
                "agree. Make them once, in __init__, or pass them."
            )
        t.draft.add("random")
    return ""


def _makes_weights(call: Any) -> tuple[Any, bool]:
    """What a call returns, and whether it drew weights of a torch layer."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return call(), False
    made: list[bool] = []
    was = torch.nn.Module.__init__

    def watch(module: Any, *args: Any, **options: Any) -> None:
        made.extend([True] * hasattr(type(module), "reset_parameters"))
        was(module, *args, **options)

    torch.nn.Module.__init__ = watch
    try:
        return call(), bool(made)
    finally:
        torch.nn.Module.__init__ = was


def explain(t: Trier, how: How) -> bool:
    """Add the first promise of every attention that it breaks.

    Args:
        t: a function that ran
        how: a way in which it ran
    Returns: False if it breaks none
    """
    if t.right is softmax:
        return _rows(t, how)
    if t.callee.tied:
        return False
    arrays, other = t.draw(how.sizes, 0), t.draw(how.sizes, 1)
    first = t.run(how, arrays)
    if first is None or not np.isfinite(first.o).all():
        return False

    def run(part: tuple, roles: str = "qkv") -> Any:
        """What it gives if that part of some arrays is another."""
        changed = {r: x.copy() for r, x in arrays.items()}
        for r in roles:
            changed[r][part] = other[r][part]
        trial = t.run(how, changed)
        return first.o if trial is None else trial.o

    def apart(axis: int) -> bool:
        """Whether what changes at 0 or 1 on an axis changes nothing at the other."""
        part, o = (slice(None),) * axis, first.o.swapaxes(0, axis)
        return all(same(run((*part, i)).swapaxes(0, axis)[1 - i], o[1 - i]) for i in (0, 1))

    rows = (slice(None), slice(None))
    if how.sizes["B"] > 1 and not apart(0):
        t.draft.add("texts mix")
    elif how.sizes["H"] == how.sizes["G"] > 1 and not apart(1):
        t.draft.add("heads mix")
    elif not t.layer and not same(run((*rows, 1), "q")[:, :, 0], first.o[:, :, 0]):
        t.draft.add("queries mix")
    else:
        return _not_an_average(t, how, arrays, first.o)
    return True


def _rows(t: Trier, how: How) -> bool:
    trial = t.case(how)[0]
    if trial is None or same(sums := trial.o.sum(axis=-1), np.ones_like(sums)):
        return False
    shown = np.round(sums.ravel()[:4], 4).tolist()
    t.draft.add("weights do not sum to 1", case=f"its rows sum to {shown} …")
    return True


def _not_an_average(t: Trier, how: How, arrays: dict, o: Any) -> bool:
    double = t.run(how, arrays | {"v": 2 * arrays["v"]})
    ones = t.run(how, arrays | {"v": np.ones_like(arrays["v"])})
    if double and not same(double.o, 2 * o):
        t.draft.add("not linear in the values")
    elif ones and not same(ones.o, np.ones_like(ones.o)):
        sums = np.round(ones.o.ravel()[:4], 4).tolist()
        t.draft.add("weights do not sum to 1", case=f"with values of 1 it gives {sums} …")
    else:
        return False
    return True
