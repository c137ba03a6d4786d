"""The explorable "masking": its first state, as data and as a picture."""

from typing import Any

import numpy as np

from attention_src.attention.masks import causal_mask
from attention_src.explorables.drawing import (
    INK,
    KEYS,
    QUERIES,
    WEIGHTS,
    Explorable,
    rect,
    svg,
    text,
)
from attention_src.softmax.reference import softmax

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
SIZE = (404, 318)


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
        picture=_picture(),
        size=SIZE,
    )


def _picture() -> str:
    """The weights under a causal mask, with hidden cells crossed out."""
    tokens, scores = START["tokens"], np.array(START["scores"])
    mask = causal_mask(len(tokens))
    weights = softmax(np.where(mask, scores, -np.inf))
    parts = [text(0, 14, "key →", KEYS), text(0, 32, "query ↓", QUERIES)]
    for i, token in enumerate(tokens):
        parts.append(text(90 + 56 * i, 24, token, KEYS, "middle"))
        parts.append(text(0, 66 + 46 * i, token, QUERIES))
        for j in range(len(tokens)):
            x, y = 64 + 56 * j, 38 + 46 * i
            frame = f' stroke="{INK}" stroke-opacity="0.5"'
            if mask[i, j]:
                # A bar as long as the weight, because a number on a colour is hard to read.
                parts.append(rect(x, y, 52, 42, "none", frame))
                parts.append(rect(x, y + 32, 52 * weights[i, j], 10, WEIGHTS))
                parts.append(text(x + 26, y + 21, f"{weights[i, j]:.2f}", anchor="middle"))
            else:
                parts.append(rect(x, y, 52, 42, "none", frame))
                parts.append(f'<path d="M{x},{y + 42}L{x + 52},{y}" stroke="{INK}"/>')
    return svg(SIZE, parts)
