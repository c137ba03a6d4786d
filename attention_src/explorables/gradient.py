"""The explorable "gradient": its first state, as data and as a picture."""

from typing import Any

import numpy as np

from attention_src.attention.reference import attention_backward, attention_weights
from attention_src.explorables.drawing import KEYS, QUERIES, WEIGHTS, Explorable, rect, svg, text

PRESS = ("button", "1 step", "Enter")
SAYS = "Push on the query: length"
START: dict[str, Any] = {
    "labels": ["rock", "blues", "jazz"],
    "keys": [[2.0, 0.0], [1.0, 2.0], [0.0, -2.0]],
    "values": [0, 4, 10],
    "query": [2.0, 0.5],
    "target": 10,
}
SIZE = (404, 136)


def make() -> Explorable:
    """Three keys with their values, and a query that looks at the wrong one.

    Returns: what the page is made from
    """
    weights, output, push = first_state()
    rows = list(zip(START["labels"], START["values"], weights, strict=True))
    numbers = ", ".join(f"{label} {weight:.3f}" for label, _, weight in rows)
    length = np.linalg.norm(push)
    return Explorable(
        START,
        f"The weights that the query (2, 0.5) gives to three keys: {numbers}; output {output:.2f}, "
        f"wanted {START['target']}; the push on the query has length {length:.1f}.",
        "An interactive figure: drag the query among the keys, change target and temperature, and "
        "see which way the loss pushes query, keys and values. It needs JavaScript; here is its "
        "first state.",
        picture=_picture(rows, output, push),
        size=SIZE,
    )


def first_state() -> tuple[np.ndarray, float, np.ndarray]:
    """What attention and its gradient give at the start.

    Returns:
        weights: [n_k]
        output: one number
        push: [2]  minus the gradient by the query of (output - target)^2 / 2
    """
    q, k = np.array([START["query"]]), np.array(START["keys"])
    v = np.array(START["values"], dtype=float)[:, None]
    weights = attention_weights(q, k)[0]
    output = float((weights @ v)[0])
    dq, _, _ = attention_backward(q, k, v, np.array([[output - START["target"]]]))
    return weights, output, -dq[0]


def _picture(rows: list, output: float, push: np.ndarray) -> str:
    """A bar for each key's weight, the output, and the push in words."""
    parts = [text(0, 16, "query (2, 0.5)", QUERIES)]
    for j, (label, value, weight) in enumerate(rows):
        y = 26 + 28 * j
        parts += [
            text(0, y + 16, f"{label} holds {value}", KEYS),
            rect(150, y, 190 * weight, 20, WEIGHTS),
            text(400, y + 16, f"{weight:.3f}", anchor="end"),
        ]
    across, up = (f"{x:.1f}".replace("-", "−") for x in push)
    parts.append(text(0, 128, f"push on the query ({across}, {up})", QUERIES))
    return svg(SIZE, [*parts, text(400, 128, f"output {output:.2f}", anchor="end")])
