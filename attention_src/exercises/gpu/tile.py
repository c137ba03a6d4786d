"""The check of the places of a tile in memory."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Array = np.ndarray
Pair = tuple[int, int]


def _tile(a: int, b: int, shape: Pair, strides: Pair, block: Pair) -> tuple[Array, Array]:
    rows = a * block[0] + np.arange(block[0], dtype=np.int64)[:, None]
    columns = b * block[1] + np.arange(block[1], dtype=np.int64)[None, :]
    at = rows * strides[0] + columns * strides[1]
    return at, (rows < shape[0]) & (columns < shape[1])


def _with(
    place: Callable = lambda r, c, sr, sc, n_c: r * sr + c * sc,
    inside: Callable = lambda r, c, n_r, n_c: (r < n_r) & (c < n_c),
    row: Callable = lambda a, br, bc: a * br,
    column: Callable = lambda b, br, bc: b * bc,
    exchange: bool = False,
) -> Callable:
    """The tile with one of its parts exchanged."""

    def tile(a: int, b: int, shape: Pair, strides: Pair, block: Pair) -> tuple[Array, Array]:
        a, b = (b, a) if exchange else (a, b)
        r = row(a, *block) + np.arange(block[0], dtype=np.int64)[:, None]
        c = column(b, *block) + np.arange(block[1], dtype=np.int64)[None, :]
        return place(r, c, *strides, shape[1]), inside(r, c, *shape)

    return tile


_MISTAKES = [
    Mistake(
        "strides exchanged",
        _with(place=lambda r, c, sr, sc, n_c: r * sc + c * sr),
        "Going down one row moves by strides[0], not by strides[1].",
    ),
    Mistake(
        "one row after the other",
        _with(place=lambda r, c, sr, sc, n_c: r * n_c + c),
        "You counted as if rows lay one after the other in memory. Use the strides.",
    ),
    Mistake(
        "columns next to each other",
        _with(place=lambda r, c, sr, sc, n_c: r * sr + c),
        "You left strides[1] out: columns need not be neighbours in memory.",
    ),
    Mistake(
        "32 bits",
        _with(
            place=lambda r, c, sr, sc, n_c: (r * sr + c * sc + 2**31) % 2**32 - 2**31,
        ),
        "These places wrapped around at 2^31. Count in 64 bits: np.arange(..., dtype=np.int64).",
    ),
    Mistake(
        "program ids exchanged",
        _with(exchange=True),
        "a counts tiles from above (rows), b from the left (columns).",
    ),
    Mistake(
        "a not multiplied",
        _with(row=lambda a, br, bc: a, column=lambda b, br, bc: b),
        "Program a begins at row a * block[0]: it handles a whole tile.",
    ),
    Mistake(
        "blocks exchanged",
        _with(row=lambda a, br, bc: a * bc, column=lambda b, br, bc: b * br),
        "Rows begin at a * block[0], columns at b * block[1].",
    ),
    Mistake(
        "one too many",
        _with(inside=lambda r, c, n_r, n_c: (r <= n_r) & (c <= n_c)),
        "Rows are numbered from 0: row shape[0] is the first outside.",
    ),
    Mistake(
        "rows only",
        _with(inside=lambda r, c, n_r, n_c: (r < n_r) & (c < np.inf)),
        "A tile may stick out on the right too.",
    ),
    Mistake(
        "columns only",
        _with(inside=lambda r, c, n_r, n_c: (c < n_c) & (r < np.inf)),
        "A tile may stick out at the bottom too.",
    ),
    Mistake(
        "or",
        _with(inside=lambda r, c, n_r, n_c: (r < n_r) | (c < n_c)),
        "Inside means: its row and its column belong to the table.",
    ),
    Mistake(
        "by place",
        _with(inside=lambda r, c, n_r, n_c: r * n_c + c < n_r * n_c),
        "You compared places. Behind the end of a row the next one begins: compare rows with "
        "shape[0] and columns with shape[1].",
    ),
]

_CASES = {
    "the first tile": (0, 0, (5, 7), (7, 1), (2, 3)),
    "one further down, two to the right": (1, 2, (9, 11), (11, 1), (2, 3)),
    "the same tile of a wider table": (0, 0, (5, 7), (20, 2), (2, 3)),
    "over the edges": (2, 1, (5, 5), (5, 1), (2, 3)),
    "a transposed table": (1, 0, (6, 5), (1, 6), (3, 4)),
    "every second row of a wider table": (0, 1, (4, 6), (40, 2), (2, 4)),
    "wholly outside": (9, 9, (4, 4), (4, 1), (2, 2)),
    "a row repeated": (1, 1, (8, 8), (0, 1), (3, 2)),
    "read backwards": (1, 0, (7, 3), (-3, -1), (2, 2)),
    "one number": (3, 4, (9, 9), (9, 1), (1, 1)),
    "beyond 2^31 places": (3, 1, (40_000, 300_000), (300_000, 1), (9_000, 2)),
    "rows 2^33 apart": (5, 0, (100, 4), (2**33, 1), (3, 2)),
}


def _draw(rng: np.random.Generator) -> tuple:
    a, b = (int(x) for x in rng.integers(0, 4, 2))
    n_rows, n_columns = (int(x) for x in rng.integers(1, 12, 2))
    block_rows, block_columns = (int(x) for x in rng.integers(1, 6, 2))
    far = int(rng.choice([1, 1000, 10**9]))
    strides = [(n_columns, 1), (1, n_rows), (far * n_columns, far), (0, 1), (-n_columns, 2)]
    step = strides[rng.integers(len(strides))]
    return a, b, (n_rows, n_columns), step, (block_rows, block_columns)


TILE = Check(
    "tile",
    reference=_tile,
    cases=[Case(name, args) for name, args in _CASES.items()],
    draw=_draw,
    mistakes=_MISTAKES,
    returns=("at", "inside"),
    rtol=1e-14,  # places are whole numbers, up to 10^12
    hints=[
        "Which rows of the table does program a handle? They begin at a * block[0].",
        "rows = a * block[0] + np.arange(block[0], dtype=np.int64)[:, None]",
        "at = rows * strides[0] + columns * strides[1], and inside compares both.",
    ],
)


def check_tile(f: Any) -> Result:
    """Check f(a, b, shape, strides, block) -> (at, inside).

    Args:
        f: the learner's function; both of its arrays have the shape `block`
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return TILE.run(f)
