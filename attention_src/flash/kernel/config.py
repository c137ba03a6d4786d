"""How the flash kernels are launched: tile sizes for every chip, and the arguments in common."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_src.flash.visibility import Rule
from attention_src.triton_support.launch import triton

LOG2E = math.log2(math.e)
TALLEST = 128  # rows of a tile


class Tiles(NamedTuple):
    """Queries and keys in a block, warps in a program, and iterations whose loads are in flight."""

    block_q: int
    block_k: int
    num_warps: int
    num_stages: int


# Tiles by chip and bytes of a number, for d up to 64, 128 and 256. Larger tiles read less, but
# their accumulators have to fit the registers, 255 a thread, and the tiles themselves the shared
# memory: `python -m benchmarks.static flash` shows both, and that nothing is spilled up to 128. A
# chip that is not here takes the row of the next older one. None: the tiles do not fit.
Table = dict[tuple[int, int], tuple[Tiles, Tiles, Tiles | None]]
FORWARD: Table = {
    (75, 2): (Tiles(32, 32, 8, 1), Tiles(32, 32, 8, 1), Tiles(16, 16, 8, 1)),
    (75, 4): (Tiles(32, 32, 8, 1), Tiles(32, 32, 8, 1), Tiles(16, 16, 8, 1)),
    (80, 2): (Tiles(128, 64, 4, 2), Tiles(128, 32, 8, 2), Tiles(64, 32, 8, 1)),
    (80, 4): (Tiles(32, 32, 4, 2), Tiles(32, 32, 8, 2), Tiles(16, 16, 8, 1)),
    (90, 2): (Tiles(128, 128, 8, 2), Tiles(128, 128, 8, 2), Tiles(128, 32, 8, 2)),
    (90, 4): (Tiles(64, 32, 4, 2), Tiles(32, 32, 8, 2), Tiles(16, 16, 8, 1)),
    (100, 2): (Tiles(128, 64, 8, 2), Tiles(128, 64, 8, 2), Tiles(128, 32, 8, 2)),
    (100, 4): (Tiles(64, 32, 4, 2), Tiles(32, 32, 8, 2), Tiles(16, 16, 8, 1)),
}
DQ: Table = {
    (75, 2): (Tiles(32, 32, 8, 1), Tiles(16, 16, 8, 1), Tiles(16, 16, 8, 1)),
    (75, 4): (Tiles(32, 32, 8, 1), Tiles(16, 16, 8, 1), None),
    (80, 2): (Tiles(128, 64, 8, 2), Tiles(128, 32, 8, 2), Tiles(32, 32, 8, 1)),
    (80, 4): (Tiles(32, 32, 4, 2), Tiles(16, 32, 8, 2), Tiles(16, 16, 8, 1)),
    (90, 2): (Tiles(128, 64, 8, 3), Tiles(128, 64, 8, 3), Tiles(64, 64, 8, 2)),
    (90, 4): (Tiles(64, 32, 4, 2), Tiles(16, 32, 8, 2), Tiles(16, 16, 8, 1)),
    (100, 2): (Tiles(128, 64, 8, 2), Tiles(128, 64, 8, 2), Tiles(64, 32, 8, 2)),
    (100, 4): (Tiles(64, 32, 8, 2), Tiles(16, 32, 8, 2), Tiles(16, 16, 8, 1)),
}
DKDV: Table = {
    (75, 2): (Tiles(16, 32, 8, 1), Tiles(16, 16, 8, 1), Tiles(16, 16, 8, 1)),
    (75, 4): (Tiles(32, 32, 8, 1), Tiles(16, 32, 8, 1), None),
    (80, 2): (Tiles(32, 128, 8, 2), Tiles(32, 64, 8, 2), Tiles(16, 32, 8, 1)),
    (80, 4): (Tiles(32, 32, 8, 2), Tiles(16, 16, 4, 2), Tiles(16, 16, 8, 1)),
    (90, 2): (Tiles(64, 128, 8, 3), Tiles(64, 128, 8, 3), Tiles(32, 64, 8, 2)),
    (90, 4): (Tiles(32, 32, 8, 2), Tiles(16, 16, 4, 2), Tiles(16, 16, 8, 1)),
    (100, 2): (Tiles(64, 128, 8, 2), Tiles(64, 128, 8, 2), Tiles(32, 64, 8, 2)),
    (100, 4): (Tiles(32, 32, 8, 2), Tiles(16, 16, 4, 2), Tiles(16, 16, 8, 1)),
}
# Small, so that small tests cross the borders of blocks; different, so that no side is confused.
INTERPRETED_Q, INTERPRETED_DKDV = Tiles(32, 16, 4, 1), Tiles(16, 32, 4, 1)


def common_arguments(
    key_lengths: Tensor | None, rule: Rule, scale: float, capability: int, **strided: Tensor
) -> dict[str, Any]:
    """The arguments that all flash kernels take, by name.

    Args:
        key_lengths, rule, scale, capability: as for the launches
        strided: q, k, v, and what else is [B, H, n, d] of any strides
    """
    q, k, v = (strided[name] for name in "qkv")
    window = rule.window or 0
    window = window if window < rule.n_k else 0  # it hides nothing that causal does not
    return dict(
        **{f"{name}_ptr": x for name, x in strided.items()},
        **strides(**strided),
        key_lengths_ptr=key_lengths,
        n_heads=q.shape[1],
        n_kv_heads=k.shape[1],
        n_q=rule.n_q,
        n_k=rule.n_k,
        window=window,
        sinks=min(rule.sinks, rule.n_k),
        scale_log2=scale * LOG2E,
        CAUSAL=rule.looks_back_only,
        WINDOW=window > 0,
        D_K=k.shape[3],
        D_V=v.shape[3],
        BLOCK_DK=triton.next_power_of_2(k.shape[3]),
        BLOCK_DV=triton.next_power_of_2(v.shape[3]),
        PRECISION=precision(q.dtype, capability),
        WIDE=any(span(x, q.shape[1] // k.shape[1]) >= 2**31 for x in strided.values()),
    )


def strides(**tensors: Tensor) -> dict[str, int]:
    """stride_qb, stride_qh, stride_qn, stride_qd for q [B, H, n, d], and so on, in elements."""
    return {
        f"stride_{name}{axis}": x.stride(index)
        for name, x in tensors.items()
        for index, axis in enumerate("bhnd")
    }


def span(x: Tensor, group: int) -> int:
    """Elements between those that a kernel reaches from one pointer by 32-bit offsets, at most.

    These are the rows and columns of a tile, and the heads of a group, be they of x or of lse.
    """
    group_span = group * max(x.stride(1), x.shape[2] + TALLEST)
    return max(group_span, TALLEST * x.stride(2) + x.shape[3] * x.stride(3))


def precision(dtype: torch.dtype, capability: int) -> str:
    """How a product of float32 matrices is made: three products of tf32 keep float32's digits."""
    return "tf32x3" if dtype == torch.float32 and capability >= 80 else "ieee"


def forward_tiles(dtype: torch.dtype, d: int, capability: int) -> Tiles:
    """The forward kernel's tiles for the wider of d_k and d_v."""
    return _tiles(FORWARD, dtype, d, capability)


def dq_tiles(dtype: torch.dtype, d: int, capability: int) -> Tiles:
    """The same for dq; its block_q is a multiple of that of dk and dv, which read what it wrote."""
    return _tiles(DQ, dtype, d, capability)


def dkdv_tiles(dtype: torch.dtype, d: int, capability: int) -> Tiles:
    """The same for dk and dv."""
    return _tiles(DKDV, dtype, d, capability)


def _tiles(table: Table, dtype: torch.dtype, d: int, capability: int) -> Tiles:
    """The row of the newest chip that is not newer than this one, and the column of the width.

    Raises:
        ValueError: even the smallest tiles do not fit this chip
    """
    if capability == 0:
        return INTERPRETED_DKDV if table is DKDV else INTERPRETED_Q
    if capability >= 120:  # it has sm_86's matrix instructions, and as much shared memory
        capability = 86
    chip = max([known for known, _ in table if known <= capability], default=75)
    tiles = table[chip, dtype.itemsize][0 if d <= 64 else 1 if d <= 128 else 2]
    if tiles is None:
        raise ValueError(
            f"d is {d} in {dtype}, whose gradients do not fit sm_{capability}'s shared memory; it "
            "should be at most 128 there. Choose another impl: 'tiled' or 'sdpa'"
        )
    return tiles
