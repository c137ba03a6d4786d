"""The tile sizes of the flash kernels, for every chip."""

from typing import NamedTuple

import torch

MAX_TILE_ROWS = 128


class Tiles(NamedTuple):
    """Queries and keys in a block, and the options of a `Launch`."""

    block_q: int
    block_k: int
    num_warps: int
    num_stages: int
    max_registers: int | None = None


# Tiles by (chip, bytes of a number), for d up to 64, 128 and 256. Larger tiles read less, but their
# accumulators must fit in registers, 255 a thread, and the tiles in shared memory. With three
# stages, copies are under way during the softmax. At most 128 registers let two programs of 8 warps
# share a multiprocessor. `python -m benchmarks.static flash` shows all this. In bfloat16 nothing
# spills at multiples of 8 up to 128 (benchmarks/results/widths.json), except 8 bytes a thread of dq
# on sm_75, at d = 24 and 32. Above 128, nothing does on sm_80 and sm_100; dk and dv spill up to 192
# bytes on sm_90 and 912 on sm_75, where dq spills up to 320. A chip that is not listed takes the
# row of the next older one. None: no tile fits.
Table = dict[tuple[int, int], tuple[Tiles, Tiles, Tiles | None]]
FORWARD: Table = {
    (75, 2): (Tiles(32, 32, 8, 1), Tiles(32, 32, 8, 1), Tiles(16, 16, 8, 1)),
    (75, 4): (Tiles(32, 32, 8, 1), Tiles(32, 32, 8, 1), Tiles(16, 16, 8, 1)),
    (80, 2): (Tiles(128, 64, 4, 2), Tiles(128, 32, 8, 3), Tiles(64, 32, 8, 1)),
    (80, 4): (Tiles(32, 32, 4, 2), Tiles(32, 32, 8, 2), Tiles(16, 16, 8, 1)),
    (90, 2): (Tiles(128, 64, 8, 3, 128), Tiles(128, 128, 8, 3), Tiles(128, 32, 8, 2)),
    (90, 4): (Tiles(64, 32, 4, 2), Tiles(32, 32, 8, 2), Tiles(16, 16, 8, 1)),
    (100, 2): (Tiles(128, 64, 8, 3), Tiles(128, 64, 8, 3), Tiles(128, 32, 8, 2)),
    (100, 4): (Tiles(64, 32, 4, 2), Tiles(32, 32, 8, 2), Tiles(16, 16, 8, 1)),
}
DQ: Table = {
    (75, 2): (Tiles(32, 32, 8, 1), Tiles(16, 16, 8, 1), Tiles(16, 16, 8, 1)),
    (75, 4): (Tiles(32, 32, 8, 1), Tiles(16, 16, 8, 1), None),
    (80, 2): (Tiles(128, 64, 8, 3), Tiles(128, 32, 8, 3), Tiles(32, 32, 8, 1)),
    (80, 4): (Tiles(32, 32, 4, 2), Tiles(16, 32, 8, 2), Tiles(16, 16, 8, 1)),
    (90, 2): (Tiles(128, 64, 8, 3, 128), Tiles(128, 64, 8, 3), Tiles(64, 64, 8, 2)),
    (90, 4): (Tiles(64, 32, 4, 2), Tiles(16, 32, 8, 2), Tiles(16, 16, 8, 1)),
    (100, 2): (Tiles(128, 64, 8, 2), Tiles(128, 64, 8, 2), Tiles(64, 32, 8, 2)),
    (100, 4): (Tiles(64, 32, 8, 2), Tiles(16, 32, 8, 2), Tiles(16, 16, 8, 1)),
}
DKDV: Table = {
    (75, 2): (Tiles(16, 32, 8, 1), Tiles(16, 16, 8, 1), Tiles(16, 16, 8, 1)),
    (75, 4): (Tiles(32, 32, 8, 1), Tiles(16, 32, 8, 1), None),
    (80, 2): (Tiles(32, 128, 8, 3), Tiles(32, 64, 8, 3), Tiles(16, 32, 8, 1)),
    (80, 4): (Tiles(32, 32, 8, 2), Tiles(16, 16, 4, 2), Tiles(16, 16, 8, 1)),
    (90, 2): (Tiles(64, 128, 8, 3), Tiles(64, 128, 8, 3), Tiles(32, 64, 8, 2)),
    (90, 4): (Tiles(32, 32, 8, 2), Tiles(16, 16, 4, 2), Tiles(16, 16, 8, 1)),
    (100, 2): (Tiles(64, 128, 8, 2), Tiles(64, 128, 8, 2), Tiles(32, 64, 8, 2)),
    (100, 4): (Tiles(32, 32, 8, 2), Tiles(16, 16, 4, 2), Tiles(16, 16, 8, 1)),
}
# Small, so that small tests cross block borders; unequal, so that a swap of the two sides shows.
INTERPRETED_Q, INTERPRETED_DKDV = Tiles(32, 16, 4, 1), Tiles(16, 32, 4, 1)


def forward_tiles(dtype: torch.dtype, d: int, capability: int, changed: bool = False) -> Tiles:
    """The forward kernel's tiles.

    Args:
        dtype: of q, k and v
        d: the larger of d_k and d_v, up to 256
        capability: the chip; 0 in the interpreter
        changed: whether scores are changed, which takes registers: a smaller tile, lest they spill
    Returns: the tiles
    """
    return _tiles(FORWARD, dtype, d, capability, changed)


def dq_tiles(dtype: torch.dtype, d: int, capability: int, changed: bool = False) -> Tiles:
    """As `forward_tiles`, for dq.

    block_q is a multiple of that for dk and dv, whose kernel reads what this one writes.

    Raises:
        ValueError: even the smallest tiles do not fit this chip
    """
    return _tiles(DQ, dtype, d, capability, changed)


def dkdv_tiles(dtype: torch.dtype, d: int, capability: int, changed: bool = False) -> Tiles:
    """As `dq_tiles`, for dk and dv.

    Raises:
        ValueError: as `dq_tiles`; block_q does not divide dq's
    """
    tiles = _tiles(DKDV, dtype, d, capability, changed)
    if tiles == DKDV[90, 2][1] and 64 < d < 128:
        # Masks for the columns beyond d take registers: half the queries, but a stage more.
        tiles = Tiles(32, 128, 8, 4)
    written = dq_tiles(dtype, d, capability, changed).block_q
    if written % tiles.block_q:
        raise ValueError(
            f"block_q is {tiles.block_q} for dk and dv; it should divide dq's {written}, because "
            "they read whole blocks of what dq's kernel writes"
        )
    return tiles


def _tiles(table: Table, dtype: torch.dtype, d: int, capability: int, changed: bool) -> Tiles:
    """The tiles of the newest listed chip that is not newer than this one, for this width.

    Raises:
        ValueError: even the smallest tiles do not fit this chip
    """
    if capability == 0:
        return INTERPRETED_DKDV if table is DKDV else INTERPRETED_Q
    if capability >= 120:  # the matrix instructions and shared memory of sm_86
        capability = 86
    chip = max([known for known, _ in table if known <= capability], default=75)
    tiles = table[chip, dtype.itemsize][0 if d <= 64 else 1 if d <= 128 else 2]
    if tiles is None:
        raise ValueError(
            f"d is {d} in {dtype}, whose gradients do not fit sm_{capability}'s shared memory; it "
            "should be at most 128 there. Choose another impl: 'tiled' or 'sdpa'"
        )
    # Half the side over which the kernel's loop runs. From sm_100 on, products of half precision
    # have a memory of their own and leave the registers free. Hopper's tiles of 64 float32 rows
    # stay as they are: over 8 warps they came out wrong on an H200, with Triton 3.6.
    free = dtype.itemsize == 2 and chip >= 100
    if changed and not free and (chip, dtype.itemsize, tiles.block_q) != (90, 4, 64):
        if table is DKDV:
            tiles = tiles._replace(block_q=max(16, tiles.block_q // 2))
        else:
            tiles = tiles._replace(block_k=max(16, tiles.block_k // 2))
        tiles = tiles._replace(num_warps=8)
    return tiles
