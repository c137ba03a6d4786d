"""The explorable "masking": a mask to paint, and the weights that renormalise under it."""

from typing import Any

from attention_src.explorables.drawing import Explorable

PRESS = ("button", "padding", "Enter")
SAYS = "Padding: as if the last two keys were filler"
START: dict[str, Any] = {
    "tokens": ["my", "cat", "sat", "on", "the", "mat"],
    "scores": [
        [1.2, 0.6, 0.1, -0.4, 0.3, 0.8],
        [1.9, 1.1, 0.7, -0.6, 0.2, 1.4],
        [0.3, 2.3, 0.9, 0.5, -0.2, 1.0],
        [-0.5, 0.8, 1.8, 0.4, 0.7, 1.5],
        [0.1, 0.4, 0.6, 1.3, 0.2, 2.1],
        [0.7, 1.6, 1.9, 0.9, 1.2, 0.5],
    ],
}
TRIES = (
    "Tap or drag over cells; tap a token for its whole row or column. With the keyboard: arrow "
    "keys and Space. Large: the weight. Small: the score, which never changes.",
)


def make() -> Explorable:
    """Six tokens, fixed scores, and a causal mask to begin with.

    Returns: what the page is made from
    """
    return Explorable(
        START,
        "A 6 × 6 grid of weights under a causal mask: the upper right triangle is crossed out, and "
        "each row's visible weights sum to 1.",
        "An interactive figure: paint which query may look at which key, and see each row's "
        "weights renormalise. It needs JavaScript; here is its first state.",
        tries=TRIES,
    )
