"""The checks of a chain's times and of a tile's places."""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.gpu import check_chain_time, check_tile
from attention_src.exercises.gpu.chain import CHAIN_TIME
from attention_src.exercises.gpu.tile import TILE


# The worked solutions, in the words of the chapter.
def chain_time(flops, sizes, peak, bandwidth):
    moved = sizes[:-1] + sizes[1:]  # each step reads one and writes one
    apart = np.maximum(flops / peak, moved / bandwidth).sum()
    ends = sizes[0] + sizes[-1]
    return apart, np.maximum(flops.sum() / peak, ends / bandwidth)


def tile(a, b, shape, strides, block):
    rows = a * block[0] + np.arange(block[0], dtype=np.int64)[:, None]
    columns = b * block[1] + np.arange(block[1], dtype=np.int64)[None, :]
    at = rows * strides[0] + columns * strides[1]
    return at, (rows < shape[0]) & (columns < shape[1])


def test_worked_solutions_and_stubs():
    assert_worked("gpu", check_chain_time, chain_time)
    assert_worked("gpu", check_tile, tile)


def test_each_known_mistake_is_named():
    for check in (CHAIN_TIME, TILE):
        for mistake in check.mistakes:
            result = check.run(mistake.wrong)
            assert result.status == "wrong"
            assert f"({mistake.name})" in " ".join(result.message.split())


# --- the chain ---------------------------------------------------------------------------------


def chain_by_loop(flops, sizes, peak, bandwidth):
    apart = 0.0
    for i, step in enumerate(flops):
        apart += max(step / peak, (sizes[i] + sizes[i + 1]) / bandwidth)
    return apart, max(sum(flops) / peak, (sizes[0] + sizes[-1]) / bandwidth)


def chain_in_torch(flops, sizes, peak, bandwidth):
    torch = pytest.importorskip("torch")
    f, s = torch.from_numpy(flops), torch.from_numpy(sizes)
    apart = torch.maximum(f / peak, (s[1:] + s[:-1]) / bandwidth).sum()
    return apart, torch.maximum(f.sum() / peak, (s[0] + s[-1]) / bandwidth)


def chain_by_roofline(flops, sizes, peak, bandwidth):
    def seconds(f, b):
        return f / min(peak, bandwidth * f / b) if f and b else f / peak + b / bandwidth

    moved = np.convolve(sizes, [1, 1], "valid")
    return sum(map(seconds, flops, moved)), seconds(flops.sum(), sizes[0] + sizes[-1])


RIGHT_CHAIN = {
    "worked solution": chain_time,
    "loop": chain_by_loop,
    "torch": chain_in_torch,
    "by intensity": chain_by_roofline,
    "a list": lambda *x: list(chain_by_loop(*x)),
    "stacked": lambda f, s, p, b: (
        np.stack([f / p, (s[:-1] + s[1:]) / b]).max(axis=0).sum(),
        np.max([np.sum(f) / p, (s[0] + s[-1]) / b]),
    ),
    "where": lambda f, s, p, b: (
        np.where(f / p > (s[:-1] + s[1:]) / b, f / p, (s[:-1] + s[1:]) / b).sum(),
        max(f.sum() / p, (s[0] + s[-1]) / b),
    ),
}


def chain_in_place(flops, sizes, peak, bandwidth):
    answer = chain_time(flops, sizes, peak, bandwidth)
    sizes[1:] += sizes[:-1]
    return answer


def chain_kept(flops, sizes, peak, bandwidth, kept={}):  # noqa: B006
    return kept.setdefault(len(flops), chain_time(flops, sizes, peak, bandwidth))


WRONG_CHAIN = {
    "one maximum": (
        lambda f, s, p, b: (
            max(f.sum() / p, (2 * s.sum() - s[0] - s[-1]) / b),
            chain_time(f, s, p, b)[1],
        ),
        "total instead of each",
    ),
    "added": (
        lambda f, s, p, b: (
            f.sum() / p + (s[:-1] + s[1:]).sum() / b,
            f.sum() / p + (s[0] + s[-1]) / b,
        ),
        "They overlap",
    ),
    "exchanged": (lambda *x: chain_time(*x)[::-1], "first apart"),
    "apart twice": (lambda *x: (chain_time(*x)[0],) * 2, ""),
    "fused twice": (lambda *x: (chain_time(*x)[1],) * 2, ""),
    "one number": (lambda *x: chain_time(*x)[0], "should return (apart, fused)"),
    "each step": (
        lambda f, s, p, b: (np.maximum(f / p, (s[:-1] + s[1:]) / b), chain_time(f, s, p, b)[1]),
        "shape",
    ),
    "milliseconds": (lambda *x: tuple(1e3 * t for t in chain_time(*x)), ""),
    "memory only": (
        lambda f, s, p, b: ((s[:-1] + s[1:]).sum() / b, (s[0] + s[-1]) / b),
        "",
    ),
    "arithmetic only": (lambda f, s, p, b: (f.sum() / p, f.sum() / p), ""),
    "only the first array": (
        lambda f, s, p, b: (chain_time(f, s, p, b)[0], max(f.sum() / p, s[0] / b)),
        "",
    ),
    "two steps at most": (
        lambda f, s, p, b: (chain_time(f[:2], s[:3], p, b)[0], chain_time(f, s, p, b)[1]),
        "",
    ),
    "six steps at most": (
        lambda f, s, p, b: (chain_time(f[:6], s[:7], p, b)[0], chain_time(f, s, p, b)[1]),
        "",
    ),
    "in place": (chain_in_place, "in place"),
    "kept by length": (chain_kept, ""),
    "peak and bandwidth exchanged": (lambda f, s, p, b: chain_time(f, s, b, p), ""),
}


# --- the tile ----------------------------------------------------------------------------------


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


RIGHT_TILE = {
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


WRONG_TILE = {
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

RIGHT = [(check_chain_time, answer) for answer in RIGHT_CHAIN.values()]
RIGHT += [(check_tile, answer) for answer in RIGHT_TILE.values()]
WRONG = [(check_chain_time, *wrong) for wrong in WRONG_CHAIN.values()]
WRONG += [(check_tile, *wrong) for wrong in WRONG_TILE.values()]


@pytest.mark.parametrize(("check", "answer"), RIGHT)
def test_right_answers_pass(check, answer):
    assert check(answer).status == "passed"


@pytest.mark.parametrize(("check", "answer", "spoken_of"), WRONG)
def test_wrong_answers_are_rejected_and_named(check, answer, spoken_of):
    assert_rejected(check, answer, spoken_of)
