"""Attention on torch tensors, with gradients: one meaning, two implementations.

Both agree with `attention.reference`: causal is bottom-right, True = may attend, and a fully masked
row gives o = 0 and gradients 0. Torch's own functions differ in these three points, so they are
handled here and not left to a backend.
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from attention_src.shapes import check_groups, check_heads, check_impl, check_mask, check_scale
from attention_src.softmax.layer import softmax
from attention_src.tensors import check_tensors, compute_dtype

IMPLS = ("auto", "dense", "sdpa")


def attention(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H_kv n_k d_k"],
    v: Float[Tensor, "B H_kv n_k d_v"],
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    impl: str = "auto",
) -> Float[Tensor, "B H n_q d_v"]:
    """As `reference.attention`, on tensors, with gradients and grouped key/value heads.

        o = softmax(scale * q k^T, hidden scores = −inf) v

    Args:
        q: [B, H, n_q, d_k]  queries
        k: [B, H_kv, n_k, d_k]  keys; H_kv divides H, query head h uses head h // (H / H_kv)
        v: [B, H_kv, n_k, d_v]  values
        mask: bool tensor or NumPy array, broadcast to [B, H, n_q, n_k]; True = may attend
        causal, scale: as for `reference.attention`
        impl: "dense" (the equation step by step, in float32 at least), "sdpa" (torch's fused
            function) or "auto", which is "sdpa" for every input
    Returns: [B, H, n_q, d_v]  o, in q's dtype
    Raises:
        ValueError: shapes, dtypes or devices that do not fit; a mask that is not boolean; an impl
            that does not exist here
    Cost: 2 B H n_q n_k (d_k + d_v) FLOP; dense needs O(B H n_q n_k) memory.
    Source: grouped heads: Ainslie et al. 2023, arXiv:2305.13245.
    """
    check_impl(impl, IMPLS)
    check_tensors(q=q, k=k, v=v)
    check_heads(q, k, v)
    scale = check_scale(scale, q.shape[-1])
    if impl == "dense" or 0 in (*q.shape, *v.shape):  # empty input: use dense
        return _dense(q, k, v, _visible(q, k, mask, causal), scale)
    # If n_q = n_k, bottom-right is top-left, and torch's is_causal saves half of the work.
    square = causal and mask is None and q.shape[-2] == k.shape[-2]
    visible = None if square else _visible(q, k, mask, causal)
    return _sdpa(q, k, v, visible, scale, is_causal=square)


def attention_scores(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H_kv n_k d_k"],
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "B H n_q n_k"]:
    """The argument of the softmax, in float32 at least.

        s = scale * q k^T, hidden scores = −inf

    Args:
        q, k, mask, causal, scale: as for `attention`
    Returns: [B, H, n_q, n_k]  s
    Raises:
        ValueError: as `attention`
    Cost: 2 B H n_q n_k d_k FLOP; O(B H n_q n_k) memory.
    """
    check_tensors(q=q, k=k)
    check_heads(q, k, k)
    return _scores(q, k, _visible(q, k, mask, causal), check_scale(scale, q.shape[-1]))


def attention_weights(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H_kv n_k d_k"],
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "B H n_q n_k"]:
    """As `reference.attention_weights`, with gradients, in float32 at least.

    Args:
        q, k, mask, causal, scale: as for `attention`
    Returns: [B, H, n_q, n_k]  p; rows sum to 1, or to 0 if fully masked
    Raises:
        ValueError: as `attention`
    """
    return softmax(attention_scores(q, k, mask=mask, causal=causal, scale=scale))


def attention_lse(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H_kv n_k d_k"],
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "B H n_q"]:
    """As `reference.attention_lse`, with gradients, in float32 at least.

    Args:
        q, k, mask, causal, scale: as for `attention`
    Returns: [B, H, n_q]  natural log; −inf, with gradient 0, for a fully masked row
    Raises:
        ValueError: as `attention`
    """
    s = attention_scores(q, k, mask=mask, causal=causal, scale=scale)
    fully_masked = (s == -torch.inf).all(dim=-1, keepdim=True)
    lse = s.masked_fill(fully_masked, 0).logsumexp(dim=-1)
    return lse.masked_fill(fully_masked[..., 0], -torch.inf)


def _visible(q: Tensor, k: Tensor, mask: Any, causal: bool) -> Bool[Tensor, "*rows n_q n_k"] | None:
    """The mask and the causal rule as one boolean tensor; None = all visible."""
    n_q, n_k = q.shape[-2], k.shape[-2]
    visible = None
    if mask is not None:
        mask = torch.as_tensor(mask, device=q.device)
        check_mask(mask, (*q.shape[:3], n_k))
        visible = (
            mask.expand(*mask.shape[:-2], n_q, n_k) if mask.ndim > 1 else mask.expand(n_q, n_k)
        )
    if causal:
        not_later = torch.ones(n_q, n_k, dtype=torch.bool, device=q.device).tril(n_k - n_q)
        visible = not_later if visible is None else visible & not_later
    return visible


def _scores(q: Tensor, k: Tensor, visible: Tensor | None, scale: float) -> Tensor:
    """s = scale * q k^T in float32 at least, −inf where hidden: [B, H, n_q, n_k]."""
    dtype = compute_dtype(q)
    rows = _stack_groups(q.to(dtype), k.shape[1])  # [B, H_kv, G n_q, d_k]
    s = scale * torch.einsum("bhqd,bhkd->bhqk", rows, k.to(dtype))
    s = s.reshape(*q.shape[:3], k.shape[2])
    return s if visible is None else s.masked_fill(~visible, -torch.inf)


def _stack_groups(x: Tensor, H_kv: int) -> Tensor:
    """[B, H, n, d] -> [B, H_kv, G n, d]: the rows of the G heads that share keys, as one matrix."""
    group = check_groups(x.shape[1], H_kv)
    return x.reshape(x.shape[0], H_kv, group * x.shape[2], x.shape[3])


def _dense(q: Tensor, k: Tensor, v: Tensor, visible: Tensor | None, scale: float) -> Tensor:
    """The equation, step by step."""
    p = softmax(_scores(q, k, visible, scale))  # [B, H, n_q, n_k]
    o = torch.einsum("bhqk,bhkd->bhqd", _stack_groups(p, v.shape[1]), v.to(p.dtype))
    return o.reshape(*q.shape[:3], v.shape[-1]).to(q.dtype)


def _sdpa(
    q: Tensor, k: Tensor, v: Tensor, visible: Tensor | None, scale: float, is_causal: bool
) -> Tensor:
    """Torch's fused function, with our conventions.

    Its is_causal is top-left, and backends differ in what they return for a fully masked row. So
    any other mask is passed explicitly, and a fully masked row is made visible first and zeroed
    afterwards. On a CPU, a row whose query holds a NaN may come out as 0: it is set to NaN, so
    that NaN is not masked.
    """
    fully_masked = None
    if visible is not None:
        fully_masked = ~visible.any(dim=-1, keepdim=True)  # [..., n_q, 1]
        visible = visible | fully_masked
    grouped = q.shape[1] != k.shape[1]
    o = F.scaled_dot_product_attention(
        q, k, v, attn_mask=visible, is_causal=is_causal, scale=scale, enable_gqa=grouped
    )
    has_nan = q.detach().amax(dim=-1, keepdim=True).isnan()  # [B, H, n_q, 1]; amax keeps a NaN
    o = o + torch.zeros_like(has_nan, dtype=o.dtype).masked_fill(has_nan, torch.nan)
    return o if fully_masked is None else o.masked_fill(fully_masked, 0)
