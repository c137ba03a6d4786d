"""How the flash kernels are launched: tile sizes for every chip, and the arguments they share."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_src.flash.visibility import Visibility
from attention_src.triton_support.launch import triton

HEAD_SIZES = range(16, 257)  # the widths d_k and d_v that the kernels take
MAX_TILE_ROWS = 128
LOG2E = math.log2(math.e)


class Inputs(NamedTuple):
    """What the forward and the backward pass both read.

    Args:
        q, k, v: [B, H, n_q, d_k], [B, H_kv, n_k, d_k], [B, H_kv, n_k, d_v], any strides
        key_lengths: int32 [B]; None = all n_k keys are real
        visibility: which query sees which key
        scale: of the scores
        slopes: float32 [H] of ALiBi; None = no bias
        softcap: 0 = no bound
    """

    q: Tensor
    k: Tensor
    v: Tensor
    key_lengths: Tensor | None
    visibility: Visibility
    scale: float
    slopes: Tensor | None = None
    softcap: float = 0.0

    @property
    def group(self) -> int:
        """Number of query heads that share a key/value head."""
        return self.q.shape[1] // self.k.shape[1]

    @property
    def max_width(self) -> int:
        """The larger of d_k and d_v."""
        return max(self.k.shape[3], self.v.shape[3])

    @property
    def changed(self) -> bool:
        """Whether scores are changed, by a softcap or by ALiBi."""
        return self.softcap > 0 or self.slopes is not None


class Tiles(NamedTuple):
    """Queries and keys in a block, warps in a program, loop iterations with loads in flight."""

    block_q: int
    block_k: int
    num_warps: int
    num_stages: int


# Tiles by (chip, bytes of a number), for d up to 64, 128 and 256. Larger tiles read less, but their
# accumulators must fit in registers, 255 a thread, and the tiles in shared memory. `python -m
# benchmarks.static flash` shows both, and that nothing spills up to d = 128. A chip that is not
# listed takes the row of the next older one. None: no tile fits.
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
# Small, so that small tests cross block borders; unequal, so that a swap of the two sides shows.
INTERPRETED_Q, INTERPRETED_DKDV = Tiles(32, 16, 4, 1), Tiles(16, 32, 4, 1)


def common_arguments(
    inputs: Inputs, tiles: Tiles, capability: int, **more: Tensor
) -> dict[str, Any]:
    """The arguments that all flash kernels take.

    Args:
        inputs: of the launch
        tiles: block sizes
        capability: the chip
        more: other tensors [B, H, n, d] of any strides, by name
    Returns: by the kernels' parameter names
    """
    q, k, v, key_lengths, visibility, scale, slopes, softcap = inputs
    window = visibility.window or 0
    window = window if window < visibility.n_k else 0  # a longer one hides nothing
    lookahead = min(visibility.lookahead, visibility.n_q + visibility.n_k)  # which shows all
    strided = dict(q=q, k=k, v=v, **more)
    return dict(
        **{f"{name}_ptr": x for name, x in strided.items()},
        **_strides(**strided),
        key_lengths_ptr=key_lengths,
        n_heads=q.shape[1],
        n_kv_heads=k.shape[1],
        n_q=visibility.n_q,
        n_k=visibility.n_k,
        window=window + lookahead if window else 0,
        sinks=min(visibility.sinks, visibility.n_k),
        **_score_scales(scale, softcap, slopes),
        slopes_ptr=slopes,
        SOFTCAP=softcap > 0,
        ALIBI=slopes is not None,
        CAUSAL=visibility.restricts,
        WINDOW=window > 0,
        LOOKAHEAD=lookahead,
        PRECISION=_precision(q.dtype, capability),
        D_K=k.shape[3],
        D_V=v.shape[3],
        BLOCK_DK=triton.next_power_of_2(k.shape[3]),
        BLOCK_DV=triton.next_power_of_2(v.shape[3]),
        BLOCK_Q=tiles.block_q,
        BLOCK_K=tiles.block_k,
        INT64=any(_largest_offset(x, inputs.group) >= 2**31 for x in strided.values()),
    )


def _score_scales(scale: float, softcap: float, slopes: Tensor | None) -> dict[str, float]:
    """The factors on the way from q·k to a score in base 2.

    Plain scores need one, scale_log2. Softcap takes cap_scale before its tanh; ALiBi, which adds
    natural units, takes score_scale before it.
    """
    score_scale = softcap or scale
    return dict(
        cap_scale=scale / softcap if softcap else 0.0,
        score_scale=score_scale,
        scale_log2=LOG2E if slopes is not None else score_scale * LOG2E,
    )


def _strides(**tensors: Tensor) -> dict[str, int]:
    """stride_qb, stride_qh, stride_qn, stride_qd for q [B, H, n, d], and so on, in elements."""
    return {
        f"stride_{name}{axis}": x.stride(index)
        for name, x in tensors.items()
        for index, axis in enumerate("bhnd")
    }


def _largest_offset(x: Tensor, group: int) -> int:
    """Largest offset added to one base pointer, in elements; from 2³¹ on it needs 64 bits.

    A kernel adds offsets for the heads of a group (of x, or of lse) and for a tile's entries.
    """
    to_last_head = group * max(x.stride(1), x.shape[2] + MAX_TILE_ROWS)
    return max(to_last_head, MAX_TILE_ROWS * x.stride(2) + x.shape[3] * x.stride(3))


def _precision(dtype: torch.dtype, capability: int) -> str:
    """How matrices are multiplied: float32 as three tf32 products, which keeps its precision."""
    return "tf32x3" if dtype == torch.float32 and capability >= 80 else "ieee"


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
    """As `dq_tiles`, for dk and dv."""
    return _tiles(DKDV, dtype, d, capability, changed)


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
    # have a memory of their own and leave the registers free.
    if changed and not (chip >= 100 and dtype.itemsize == 2):
        if table is DKDV:
            tiles = tiles._replace(block_q=max(16, tiles.block_q // 2))
        else:
            tiles = tiles._replace(block_k=max(16, tiles.block_k // 2))
        tiles = tiles._replace(num_warps=8)
    return tiles
