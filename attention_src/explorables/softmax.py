"""The explorable "softmax": its first state, as data and as a picture."""

from typing import Any

from attention_src.explorables.drawing import INK, KEYS, WEIGHTS, Explorable, rect, svg, text
from attention_src.softmax.reference import softmax

PRESS = ("button", "All +1", "Enter")
SAYS = "apple 0.587"
# The first four keys start with a score; the reader may add the others.
START: dict[str, Any] = {
    "labels": ["apple", "banana", "chair", "desk", "eagle", "fig"],
    "scores": [4.2, 3.8, 0.6, -0.9],
}
SIZE = (404, 154)


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
        picture=_picture(keys),
        size=SIZE,
    )


def _picture(keys: list) -> str:
    """Two columns of bars, from (label, score, weight) of each key."""
    parts = [text(70, 16, "score"), text(230, 16, "weight at temperature 1")]
    for j, (label, score, weight) in enumerate(keys):
        y = 30 + 32 * j
        bar = 20 * abs(score)
        parts += [
            text(0, y + 16, label, KEYS),
            rect(90 - (bar if score < 0 else 0), y, bar, 20, INK),
            text(214, y + 16, f"{score:.1f}".replace("-", "−"), anchor="end"),
            rect(230, y, 120 * weight, 20, WEIGHTS),
            text(400, y + 16, f"{weight:.3f}", anchor="end"),
        ]
    return svg(SIZE, parts)
