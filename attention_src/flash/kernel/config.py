"""What the flash kernels are given: their inputs, and the arguments that all of them take."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_src.flash.kernel.tiles import MAX_TILE_ROWS, Tiles
from attention_src.flash.visibility import Visibility
from attention_src.triton_support.launch import triton

HEAD_SIZES = range(16, 257)  # the widths d_k and d_v that the kernels take
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
        STEP=_step(**strided),
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


def _step(**tensors: Tensor) -> int:
    """The largest of 1, 2, 4, 8 that divides all strides between rows, heads and sequences.

    1 if even 16 does, which Triton sees without being told.
    """
    step = math.gcd(16, *(stride for x in tensors.values() for stride in x.stride()[:3]))
    return step if step < 16 else 1


def _largest_offset(x: Tensor, group: int) -> int:
    """Largest offset added to one base pointer, in elements; from 2³¹ on it needs 64 bits.

    A kernel adds offsets for the heads of a group (of x, or of lse) and for a tile's entries.
    """
    to_last_head = group * max(x.stride(1), x.shape[2] + MAX_TILE_ROWS)
    return max(to_last_head, MAX_TILE_ROWS * x.stride(2) + x.shape[3] * x.stride(3))


def _precision(dtype: torch.dtype, capability: int) -> str:
    """How matrices are multiplied: float32 as three tf32 products, which keeps its precision."""
    return "tf32x3" if dtype == torch.float32 and capability >= 80 else "ieee"
