"""How the flash kernels are launched: the rule of who sees whom, tile sizes, common arguments."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_src.kernels import triton

LOG2E = math.log2(math.e)


@dataclass(frozen=True)
class Rule:
    """Which keys a query sees, and how its scores are scaled.

    Args:
        causal: only keys up to the query's own position, bottom-right
        window: causal, and only the last `window` keys; 0 = no window
        sinks: with a window, the first `sinks` keys stay visible
        scale: of the scores
    """

    causal: bool
    window: int
    sinks: int
    scale: float


@dataclass(frozen=True)
class Tiles:
    """Queries and keys in a block, warps in a program, and loads in flight."""

    block_q: int
    block_k: int
    num_warps: int
    num_stages: int


def common_arguments(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None, rule: Rule, capability: int
) -> dict[str, Any]:
    """The arguments that all flash kernels take, by name."""
    n_k, d_k, d_v = k.shape[2], q.shape[3], v.shape[3]
    # A window of all keys hides none but the later ones.
    window = rule.window if rule.window < n_k else 0
    return dict(
        q_ptr=q,
        k_ptr=k,
        v_ptr=v,
        key_lengths_ptr=key_lengths,
        **strides(q=q, k=k, v=v),
        n_heads=q.shape[1],
        group=q.shape[1] // k.shape[1],
        n_q=q.shape[2],
        n_k=n_k,
        window=window,
        sinks=min(rule.sinks, n_k),
        scale_log2=rule.scale * LOG2E,
        CAUSAL=rule.causal or rule.window > 0,
        WINDOW=window > 0,
        D_K=d_k,
        D_V=d_v,
        BLOCK_DK=triton.next_power_of_2(d_k),
        BLOCK_DV=triton.next_power_of_2(d_v),
        PRECISION=precision(q.dtype, capability),
        WIDE=max(q.stride(2), k.stride(2), v.stride(2)) * 256 >= 2**31,
    )


def strides(**tensors: Tensor) -> dict[str, int]:
    """stride_qb, stride_qh, stride_qn, stride_qd for q [B, H, n, d], and so on: in elements."""
    return {
        f"stride_{name}{axis}": x.stride(index)
        for name, x in tensors.items()
        for index, axis in enumerate("bhnd")
    }


def precision(dtype: torch.dtype, capability: int) -> str:
    """How a product of float32 matrices is made: three products of tf32 keep float32's digits."""
    return "tf32x3" if dtype == torch.float32 and capability >= 80 else "ieee"


def forward_tiles(dtype: torch.dtype, d: int, capability: int) -> Tiles:
    return Tiles(32, 16, 4, 1)


def dq_tiles(dtype: torch.dtype, d: int, capability: int) -> Tiles:
    return Tiles(32, 16, 4, 1)


def dkdv_tiles(dtype: torch.dtype, d: int, capability: int) -> Tiles:
    return Tiles(16, 32, 4, 1)
