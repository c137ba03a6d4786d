"""The explorable "rope": a query and a key that turn with their positions, and their score."""

from typing import Any

import numpy as np

from attention_src.explorables.drawing import Explorable
from attention_src.rope.reference import rotate
from attention_src.rope.scaling import Frequencies

PRESS = ("button", "Both +1", "Enter")
SAYS = "at distance n − m = −2"
START: dict[str, Any] = {"query": [2.0, 0.5], "key": [1.0, 1.0], "m": 5, "n": 3, "step": 0.5}


def make() -> Explorable:
    """One pair of a query and of a key, each turned by its position.

    Returns: what the page is made from
    """
    m, n = START["m"], START["n"]
    here = score(m, n)
    return Explorable(
        START,
        f"A query at position {m} and a key at position {n}, both turned by their positions: the "
        f"score is {here:.2f}, and it is the same with the query at {m + 10} and the key at "
        f"{n + 10}.",
        "An interactive figure: move a query and a key along a text, see both turn, and see the "
        "score depend on the distance alone. It needs JavaScript; here is its first state.",
    )


def score(m: float, n: float) -> float:
    """The score of the rotated query at m and the rotated key at n.

    Args:
        m, n: positions
    Returns: their dot product
    """
    theta = Frequencies([START["step"]])
    q, k = (
        rotate(np.array([START[name]]), [at], scaling=theta)[0]
        for name, at in (("query", m), ("key", n))
    )
    return float(q @ k)
