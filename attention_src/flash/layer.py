"""FlashAttention on torch tensors, with gradients: one meaning, four implementations.

It equals `attention.layer.attention` with the mask

    window_mask(n_q, n_k, window, sinks) or causal_mask(n_q, n_k)  &  padding_mask(key_lengths, n_k)

A fully masked row gives o = 0, lse = −inf and gradients 0. Causal is aligned to n_k, padding
included, not to key_lengths.
"""

import importlib.util
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.attention.layer import attention, attention_lse
from attention_src.attention.masks import combine
from attention_src.flash.layer_tiled import tiled_attention
from attention_src.flash.visibility import Visibility
from attention_src.shapes import check_heads, check_impl, check_scale, check_shape
from attention_src.tensors import check_tensors, kernel_takes
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton

IMPLS = ("auto", "dense", "sdpa", "tiled", "triton")


def flash_attention(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H_kv n_k d_k"],
    v: Float[Tensor, "B H_kv n_k d_v"],
    *,
    causal: bool = False,
    window: int | None = None,
    sinks: int = 0,
    key_lengths: Any = None,
    scale: float | None = None,
    impl: str = "auto",
) -> Float[Tensor, "B H n_q d_v"]:
    """Exact attention with grouped key/value heads; "tiled" and "triton" never store the scores.

        o = softmax(scale * q k^T, hidden scores = −inf) v

    Args:
        q: [B, H, n_q, d_k]  queries
        k: [B, H_kv, n_k, d_k]  keys; H_kv divides H, query head h uses head h // (H / H_kv)
        v: [B, H_kv, n_k, d_v]  values
        causal: key j is visible to query i iff j <= i + n_k - n_q (bottom-right)
        window: number of most recent keys visible, including the query's own; implies causal;
            None = all
        sinks: number of first keys that stay visible outside the window
        key_lengths: int [B], tensor, array or list: the number of keys of each sequence, 0 to n_k;
            the rest is padding. None = all n_k. Validated, which synchronises with the GPU unless
            they are on the CPU.
        scale: None = d_k ** -0.5
        impl: "triton" (the kernel), "tiled" (the same algorithm in PyTorch), "dense" or "sdpa" (as
            in `attention.layer`, with an explicit mask), or "auto": "triton" for CUDA tensors of
            float16, bfloat16 or float32 with d_k and d_v from 16 to 256, if Triton is installed;
            otherwise "tiled"
    Returns: [B, H, n_q, d_v]  o, in q's dtype
    Raises:
        ValueError: shapes, dtypes or devices that do not fit; sinks without a window; an unknown
            impl, or one that cannot take these tensors
    Cost: 2 B H n_q n_k (d_k + d_v) FLOP; triton and tiled skip the hidden blocks. Memory: triton
        and tiled O(B H n_q d_v), dense O(B H n_q n_k), sdpa O(B n_q n_k) for its mask.
    Source: Dao et al. 2022, arXiv:2205.14135; Dao 2023, arXiv:2307.08691, Algorithms 1 and 2.
    """
    options: dict[str, Any] = dict(causal=causal, window=window, sinks=sinks)
    options |= dict(key_lengths=key_lengths, scale=scale, impl=impl)
    return _attend(q, k, v, **options, with_lse=False)[0]


def flash_attention_with_lse(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H_kv n_k d_k"],
    v: Float[Tensor, "B H_kv n_k d_v"],
    *,
    causal: bool = False,
    window: int | None = None,
    sinks: int = 0,
    key_lengths: Any = None,
    scale: float | None = None,
    impl: str = "auto",
) -> tuple[Float[Tensor, "B H n_q d_v"], Float[Tensor, "B H n_q"]]:
    """As `flash_attention`, also returning lse, with which partial results can be merged.

        lse_i = log(sum_j exp(s_ij)),  s = scale * q k^T, hidden scores = −inf

    Args:
        q, k, v, causal, window, sinks, key_lengths, scale, impl: as for `flash_attention`
    Returns: o [B, H, n_q, d_v] in q's dtype, and lse [B, H, n_q] in float32 at least, natural log,
        −inf for a fully masked row. Gradients flow through both.
    Raises:
        ValueError: as `flash_attention`
    Cost: as `flash_attention`; dense and sdpa compute the scores a second time for lse.
    Source: Dao 2023, arXiv:2307.08691, Algorithm 1 (their L). With a gradient dlse of lse, the
        backward pass has delta = rowsum(o * do) - dlse.
    """
    options: dict[str, Any] = dict(causal=causal, window=window, sinks=sinks)
    options |= dict(key_lengths=key_lengths, scale=scale, impl=impl)
    return _attend(q, k, v, **options, with_lse=True)


def _attend(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool,
    window: int | None,
    sinks: int,
    key_lengths: Any,
    scale: float | None,
    impl: str,
    with_lse: bool,
) -> tuple[Tensor, Any]:
    """Check, choose an implementation, run it; lse is None where it would cost extra."""
    check_impl(impl, IMPLS)
    check_tensors(q=q, k=k, v=v)
    check_heads(q, k, v)
    scale = check_scale(scale, q.shape[-1])
    visibility = Visibility(q.shape[-2], k.shape[-2], causal, window, sinks)
    lengths = None if key_lengths is None else check_lengths(key_lengths, q, k)
    if impl == "auto":
        impl = _chosen(q, v)
    if impl == "triton":
        from attention_src.flash.kernel import flash_forward

        return flash_forward(q, k, v, lengths, visibility.restricts, window or 0, sinks, scale)
    if impl == "tiled":
        return tiled_attention(q, k, v, lengths, visibility, scale)
    mask = _mask(visibility, lengths, q.device)
    o = attention(q, k, v, mask=mask, scale=scale, impl=impl)
    return o, attention_lse(q, k, mask=mask, scale=scale) if with_lse else None


def _chosen(q: Tensor, v: Tensor) -> str:
    """The implementation that impl="auto" stands for."""
    if not (kernel_takes(q) and importlib.util.find_spec("triton")):
        return "tiled"
    from attention_src.flash.kernel.config import HEAD_SIZES

    return "triton" if q.shape[-1] in HEAD_SIZES and v.shape[-1] in HEAD_SIZES else "tiled"


def _mask(visibility: Visibility, lengths: Tensor | None, device: torch.device) -> Tensor | None:
    """One mask for the dense implementations: [B or 1, 1, n_q or 1, n_k]; None = all visible."""
    in_order = padding = None
    offs_k = torch.arange(visibility.n_k, device=device)
    if visibility.restricts:
        in_order = visibility.visible(torch.arange(visibility.n_q, device=device), offs_k)
    if lengths is not None:
        padding = (offs_k < lengths[:, None])[:, None, None, :]
    return combine(in_order, padding)


def check_lengths(key_lengths: Any, q: Tensor, k: Tensor) -> Tensor:
    """Return key_lengths as an int32 tensor [B] on q's device.

    Args:
        key_lengths: as for `flash_attention`
        q: [B, H, n_q, d_k]
        k: [B, H_kv, n_k, d_k]
    Returns: int32 [B]
    Raises:
        ValueError: not whole numbers between 0 and n_k, or not one for each sequence
    """
    try:
        lengths = torch.as_tensor(key_lengths)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(
            f"key_lengths is {key_lengths!r}; it should be a list of whole numbers, [B]"
        ) from None
    check_shape(lengths, "key_lengths", "[B]", q.shape[:1])
    whole = not (lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool)
    if not whole and lengths.numel():
        raise ValueError(f"key_lengths has dtype {lengths.dtype}; it should hold whole numbers")
    return _in_range(lengths, k.shape[-2]).to(q.device)


@torch.library.custom_op("attention_src::flash_lengths", mutates_args=())
def _in_range(lengths: Tensor, n_k: int) -> Tensor:
    """An operator of its own: torch.compile cannot branch on a tensor's values while it traces."""
    if ((lengths < 0) | (lengths > n_k)).any():
        raise ValueError(
            f"key_lengths is {lengths.tolist()}; each should be between 0 and n_k={n_k}"
        )
    return lengths.to(torch.int32, copy=True)


@_in_range.register_fake
def _(lengths: Tensor, n_k: int) -> Tensor:
    return torch.empty_like(lengths, dtype=torch.int32)
