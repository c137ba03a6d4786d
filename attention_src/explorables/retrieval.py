"""The explorable "retrieval": a query among keys, the weights and the output that it brings."""

from typing import Any

from attention_src.explorables.drawing import Explorable
from attention_src.softmax.reference import softmax

PRESS = ("combobox", "Score", "ArrowDown")
SAYS = "which is also the nearest key"
# Two numbers describe a thing: how edible it is, and its size.
START: dict[str, Any] = {
    "labels": ["apple", "banana", "chair"],
    "keys": [[2.0, -0.5], [1.73, 0.4], [-1.0, 2.0]],
    "values": [10, 5, 2],
    "query": [1.5, 0.0],
}


def make() -> Explorable:
    """Three keys with their values, and the query "fruit".

    Returns: what the page is made from
    """
    first, second = START["query"]
    scores = [first * k[0] + second * k[1] for k in START["keys"]]
    weights = [float(p) for p in softmax(scores)]
    output = sum(p * v for p, v in zip(weights, START["values"], strict=True))
    pairs = zip(START["labels"], weights, strict=True)
    numbers = ", ".join(f"{label} {weight:.3f}" for label, weight in pairs)
    return Explorable(
        START,
        f"The weights that the query (1.5, 0) gives to three keys: {numbers}; output {output:.2f}.",
        "An interactive figure: drag the query among the keys, change the score and the "
        "temperature, and see the weights and the output move. It needs JavaScript; here is its "
        "first state.",
    )
