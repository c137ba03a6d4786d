"""The check of a tile's places: right answers pass, wrong ones do not and are named.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.gpu import check_tile
from attention_src.exercises.gpu.tile import TILE


# The worked solution, in the words of the chapter.
def tile(a, b, shape, strides, block):
    rows = a * block[0] + np.arange(block[0], dtype=np.int64)[:, None]
    columns = b * block[1] + np.arange(block[1], dtype=np.int64)[None, :]
    at = rows * strides[0] + columns * strides[1]
    return at, (rows < shape[0]) & (columns < shape[1])


def test_worked_solution_and_stub():
    assert_worked("gpu", check_tile, tile)


@pytest.mark.parametrize("mistake", TILE.mistakes, ids=lambda mistake: mistake.name)
def test_each_known_mistake_is_named(mistake):
    assert_rejected(TILE.run, mistake.wrong, f"({mistake.name})")


def tile_by_loop(a, b, shape, strides, block):
    at, inside = np.zeros(block, np.int64), np.zeros(block, bool)
    for i, j in np.ndindex(*block):
        r, c = a * block[0] + i, b * block[1] + j
        at[i, j] = r * strides[0] + c * strides[1]
        inside[i, j] = r < shape[0] and c < shape[1]
    return at, inside


def tile_from_its_start(a, b, shape, strides, block):
    i, j = np.indices(block).astype(np.int64)
    start = a * block[0] * strides[0] + b * block[1] * strides[1]
    inside = (i < shape[0] - a * block[0]) & (j < shape[1] - b * block[1])
    return start + i * strides[0] + j * strides[1], inside


def tile_by_meshgrid(a, b, shape, strides, block):
    r = np.arange(a * block[0], (a + 1) * block[0], dtype=np.int64)
    c = np.arange(b * block[1], (b + 1) * block[1], dtype=np.int64)
    r, c = np.meshgrid(r, c, indexing="ij")
    return r * strides[0] + c * strides[1], ~((r >= shape[0]) | (c >= shape[1]))


def tile_in_torch(a, b, shape, strides, block):
    torch = pytest.importorskip("torch")
    r = (a * block[0] + torch.arange(block[0]))[:, None]
    c = (b * block[1] + torch.arange(block[1]))[None]
    return r * strides[0] + c * strides[1], (r < shape[0]) & (c < shape[1])


def tile_by_outer(a, b, shape, strides, block):
    r, c = (
        program * size + np.arange(size, dtype=np.int64)
        for program, size in zip((a, b), block, strict=True)
    )
    at = np.add.outer(r * strides[0], c * strides[1])
    return at, np.logical_and.outer(r < shape[0], c < shape[1])


RIGHT = {
    "worked solution": tile,
    "loop": tile_by_loop,
    "from its start": tile_from_its_start,
    "meshgrid": tile_by_meshgrid,
    "torch": tile_in_torch,
    "outer": tile_by_outer,
    "lists": lambda *x: [part.tolist() for part in tile(*x)],
}


def _at(change):
    def wrong(*x):
        at, inside = tile(*x)
        return change(at, inside), inside

    return wrong


def _inside(change):
    def wrong(a, b, shape, strides, block):
        at, inside = tile(a, b, shape, strides, block)
        return at, change(at, inside, shape)

    return wrong


def one_row_too_many(a, b, shape, strides, block):
    at, _ = tile(a, b, shape, strides, block)
    return at, tile(a, b, (shape[0] + 1, shape[1]), strides, block)[1]


def tile_kept(a, b, shape, strides, block, kept={}):  # noqa: B006
    return kept.setdefault((a, b, shape, block), tile(a, b, shape, strides, block))


WRONG = {
    "strides exchanged": (lambda a, b, n, s, block: tile(a, b, n, s[::-1], block), "strides[0]"),
    "programs exchanged": (lambda a, b, *x: tile(b, a, *x), "tiles from above"),
    "transposed": (lambda *x: tuple(part.T for part in tile(*x)), "shape"),
    "32 bits": (_at(lambda at, inside: at.astype(np.int32)), "64 bits"),
    "outside as 0": (_at(lambda at, inside: np.where(inside, at, 0)), ""),
    "outside as -1": (_at(lambda at, inside: np.where(inside, at, -1)), ""),
    "one further": (_at(lambda at, inside: at + 1), ""),
    "float16": (_at(lambda at, inside: at.astype(np.float16)), ""),
    "float32": (_at(lambda at, inside: at.astype(np.float32)), "8.1e+09"),
    "by float32": (_at(lambda at, inside: at.astype(np.float32).astype(np.int64)), ""),
    "one further if far": (_at(lambda at, inside: at + (abs(at) > 2**31)), ""),
    "kept, whatever the strides": (tile_kept, ""),
    "flat": (lambda *x: tuple(part.ravel() for part in tile(*x)), "shape"),
    "zeros and ones": (_inside(lambda at, inside, shape: inside.astype(int)), "dtype bool"),
    "all inside": (_inside(lambda at, inside, shape: np.ones_like(inside)), ""),
    "by place": (_inside(lambda at, inside, shape: at < shape[0] * shape[1]), ""),
    "outside": (_inside(lambda at, inside, shape: ~inside), ""),
    "one row too many": (one_row_too_many, ""),
    "contiguous": (lambda a, b, n, s, block: tile(a, b, n, (n[1], 1), block), "Use the strides"),
    "absolute strides": (
        lambda a, b, n, s, block: tile(a, b, n, (abs(s[0]), abs(s[1])), block),
        "",
    ),
    "square tiles": (lambda a, b, n, s, block: tile(a, b, n, s, (block[0],) * 2), "shape"),
    "places only": (lambda *x: tile(*x)[0], "should return (at, inside)"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_tile(RIGHT[name]).status == "passed"


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    assert_rejected(check_tile, *WRONG[name])
