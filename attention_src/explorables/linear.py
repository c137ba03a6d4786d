"""The explorable "linear": a cache that grows beside a state that does not."""

from typing import Any

import numpy as np

from attention_src.explorables.drawing import Explorable

PRESS = ("button", "All", "Enter")
SAYS = "Right: 5 0 8. The cache is off by 3.5, the state by 13.5"
# The first four keys are orthogonal: there are no more such directions. Ada comes back at the end.
TOKENS: list[dict[str, Any]] = [
    {"name": "Ada", "key": [1, 0, 0, 0], "value": [2, 7, 4]},
    {"name": "Ben", "key": [0, 1, 0, 0], "value": [9, 1, 5]},
    {"name": "Cleo", "key": [0, 0, 1, 0], "value": [3, 8, 6]},
    {"name": "Dan", "key": [0, 0, 0, 1], "value": [6, 4, 1]},
    {"name": "Eve", "key": [0.5, 0.5, 0.5, 0.5], "value": [8, 2, 9]},
    {"name": "Finn", "key": [0.5, 0.5, -0.5, -0.5], "value": [1, 5, 7]},
    {"name": "Gus", "key": [0.5, -0.5, 0.5, -0.5], "value": [7, 6, 3]},
    {"name": "Ada", "key": [1, 0, 0, 0], "value": [5, 0, 8]},
]
START: dict[str, Any] = {"tokens": TOKENS, "seen": 3, "asked": "Ada", "scale": 12, "decay": 0.8}


def make() -> Explorable:
    """Three people have been written; Ada is asked for.

    Returns: what the page is made from
    """
    seen = TOKENS[: START["seen"]]
    k, v = (np.array([token[name] for token in seen], dtype=float) for name in ("key", "value"))
    state = k.T @ v  # [4, 3]
    says = ", ".join(f"{x:g}" for x in state[0])
    return Explorable(
        START,
        f"Left, a cache with a row for each of {len(seen)} people; right, a state of 4 by 3 "
        f"numbers, the sum of the outer products of their keys and values. Asked for Ada, both "
        f"say {says}.",
        "An interactive figure: tokens come in one at a time; ask a growing cache and a fixed "
        "state for a name, and compare what they say. It needs JavaScript; here is its first "
        "state.",
    )
