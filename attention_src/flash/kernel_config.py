"""How the flash kernels are launched: tile sizes for every chip, and the arguments in common."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_src.flash.masks import Rule
from attention_src.kernels import triton

LOG2E = math.log2(math.e)
TALLEST = 128  # rows of a tile


@dataclass(frozen=True)
class Tiles:
    """Queries and keys in a block, warps in a program, and loads in flight."""

    block_q: int
    block_k: int
    num_warps: int
    num_stages: int


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
        WIDE=any(tile_span(x) >= 2**31 for x in strided.values()),
    )


def strides(**tensors: Tensor) -> dict[str, int]:
    """stride_qb, stride_qh, stride_qn, stride_qd for q [B, H, n, d], and so on, in elements."""
    return {
        f"stride_{name}{axis}": x.stride(index)
        for name, x in tensors.items()
        for index, axis in enumerate("bhnd")
    }


def tile_span(x: Tensor) -> int:
    """How many elements lie between the first and the last of the tallest tile of x, at most."""
    return TALLEST * x.stride(2) + x.shape[3] * x.stride(3)


def precision(dtype: torch.dtype, capability: int) -> str:
    """How a product of float32 matrices is made: three products of tf32 keep float32's digits."""
    return "tf32x3" if dtype == torch.float32 and capability >= 80 else "ieee"


def forward_tiles(dtype: torch.dtype, d: int, capability: int) -> Tiles:
    return Tiles(32, 16, 4, 1)


def dq_tiles(dtype: torch.dtype, d: int, capability: int) -> Tiles:
    return Tiles(32, 16, 4, 1)


def dkdv_tiles(dtype: torch.dtype, d: int, capability: int) -> Tiles:
    return Tiles(16, 32, 4, 1)
