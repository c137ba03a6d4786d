"""The explorable "gradient": which way a loss pushes a query, its keys and its values."""

from typing import Any

import numpy as np

from attention_src.attention.reference import attention_backward, attention_weights
from attention_src.explorables.drawing import Explorable

PRESS = ("button", "1 step", "Enter")
SAYS = "Output 1.76, loss 33.98. Push on the query: length 11.1."
START: dict[str, Any] = {
    "labels": ["rock", "blues", "jazz"],
    "keys": [[2.0, 0.0], [1.0, 2.0], [0.0, -2.0]],
    "values": [0, 4, 10],
    "query": [2.0, 0.5],
    "target": 10,
}


def make() -> Explorable:
    """Three keys with their values, and a query that looks at the wrong one.

    Returns: what the page is made from
    """
    weights, output, push = first_state()
    pairs = zip(START["labels"], weights, strict=True)
    numbers = ", ".join(f"{label} {weight:.3f}" for label, weight in pairs)
    length = np.linalg.norm(push)
    return Explorable(
        START,
        f"The weights that the query (2, 0.5) gives to three keys: {numbers}; output {output:.2f}, "
        f"wanted {START['target']}; the push on the query has length {length:.1f}.",
        "An interactive figure: drag the query among the keys, change target and temperature, and "
        "see which way the loss pushes query, keys and values. It needs JavaScript; here is its "
        "first state.",
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
