"""The explorable "softmax": scores to drag, a temperature, five rules, the weights they give."""

from typing import Any

from attention_src.explorables.drawing import Explorable
from attention_src.softmax.reference import softmax

PRESS = ("button", "All +1", "Enter")
SAYS = "apple 0.587"
# The first four keys start with a score; the reader may add the others.
START: dict[str, Any] = {
    "labels": ["apple", "banana", "chair", "desk", "eagle", "fig"],
    "scores": [4.2, 3.8, 0.6, -0.9],
}


def make() -> Explorable:
    """Four keys, their scores and their softmax weights.

    Returns: what the page is made from
    """
    weights = softmax(START["scores"])
    keys = list(zip(START["labels"], START["scores"], weights, strict=False))
    numbers = ", ".join(f"{label} {score:.1f} and {weight:.3f}" for label, score, weight in keys)
    return Explorable(
        START,
        f"Four keys with their scores and softmax weights as bars: {numbers}.",
        "An interactive figure: change the scores, the temperature and the rule, and see the "
        "weights and their entropy. It needs JavaScript; here is its first state.",
    )
