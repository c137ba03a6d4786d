"""The explorable "flash": tiles to step through, what each row holds, and what is moved."""

from typing import Any

import numpy as np

from attention_src.explorables.drawing import Explorable

PRESS = ("button", "To the end", "Enter")
SAYS = "Moved 78; with the table 180"
TOKENS = ["my", "cat", "sat", "on", "the", "mat"]
QUERY = [[1.9, 0.6], [1.5, 2.6], [-0.6, 3.2], [2.4, -1.4], [0.5, -2.2], [2.9, 1.1]]
KEY = [[0.5, 0.3], [1.1, -0.2], [-0.6, 1.2], [1.6, 0.8], [0.2, 1.9], [2.1, 1.5]]
VALUE = [3, 1, 4, 1, 5, 9]
BLOCK = 2  # queries and keys of a tile at the start


def make() -> Explorable:
    """Six queries and six keys of width 2, and values of width 1.

    Returns: what the page is made from
    """
    return Explorable(
        given(),
        "A 6 × 6 grid of scores in which the first tile of 2 × 2 is marked; beside each row stand "
        "its running maximum m, sum l and accumulator a after that tile.",
        "An interactive figure: step through the tiles and watch the running maximum, sum and "
        "accumulator of each row, and what is moved. It needs JavaScript; here is its first tile.",
    )


def given() -> dict[str, Any]:
    """The data that the script starts from.

    Returns: tokens, scores [6, 6] to 2 digits, values [6], the width of queries and keys, the side
        of a tile
    """
    q, k = np.array(QUERY), np.array(KEY)
    scores = (q @ k.T * q.shape[1] ** -0.5).round(2) + 0.0
    return {
        "tokens": TOKENS,
        "scores": scores.tolist(),
        "values": VALUE,
        "width": q.shape[1],
        "block": BLOCK,
    }
