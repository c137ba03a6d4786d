"""Attention on torch tensors, with gradients: one meaning, two implementations.

Both agree with `attention.reference`: causal is bottom-right, True = may attend, and a fully masked
row gives o = 0 and gradients 0. Torch's own functions differ in these three points, so they are
handled here and not left to a backend. torch.autocast changes nothing here: the inputs' dtype does.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.attention.layer_scores import (
    bias_tensor,
    fused_attention,
    masked_scores,
    sink_column,
    stack_groups,
    visible_keys,
)
from attention_src.attention.score_modifiers import ScoreOptions
from attention_src.shapes import check_heads, check_impl, check_scale
from attention_src.softmax.layer import softmax
from attention_src.tensors import check_tensors, without_autocast

IMPLS = ("auto", "dense", "sdpa")


@without_autocast
def attention(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H_kv n_k d_k"],
    v: Float[Tensor, "B H_kv n_k d_v"],
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    bias: Any = None,
    softcap: float | None = None,
    sink_logits: Tensor | None = None,
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
        bias: floating tensor or array, broadcast to [B, H, n_q, n_k], or a `bias.Alibi`; a tensor
            gets a gradient
        softcap: as for `reference.attention`
        sink_logits: [H]  as for `reference.attention`, with a gradient
        impl: "dense" (the equation step by step, in float32 at least), "sdpa" (torch's fused
            function, once differentiable; no softcap or sinks) or "auto": "dense" with one of
            those two, else "sdpa"
    Returns: [B, H, n_q, d_v]  o, in q's dtype
    Raises:
        ValueError: shapes, dtypes or devices that do not fit; a mask that is not boolean; causal
            that is neither True nor False; an impl that does not exist here, or cannot do what
            is asked
        RuntimeError: what "sdpa" lacks: a second derivative, a forward one, torch.func.vmap
    Cost: 2 B H n_q n_k (d_k + d_v) FLOP; dense needs O(B H n_q n_k) memory.
    Source: grouped heads: Ainslie et al. 2023, arXiv:2305.13245.
    """
    options = ScoreOptions(mask, causal, scale, bias, softcap, sink_logits)
    return attention_with_options(q, k, v, options, impl)


@without_autocast
def attention_with_options(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    options: ScoreOptions,
    impl: str = "auto",
) -> Float[Tensor, "B H n_q d_v"]:
    """As `attention`, with the options as one object.

    Args:
        q, k, v, impl: as for `attention`
        options: what changes the scores
    Returns: [B, H, n_q, d_v]  o, in q's dtype
    Raises:
        ValueError: as `attention`
    """
    impl = _check_impl(impl, softcap=options.softcap, sink_logits=options.sink_logits)
    check_tensors(q=q, k=k, v=v)
    check_heads(q, k, v)
    scale = check_scale(options.scale, q.shape[-1])
    o = None
    if impl != "dense" and 0 not in (*q.shape, *v.shape):  # empty input: use dense
        o = _fused(q, k, v, options, scale)
    if o is not None:
        return o
    p = _weights(q, k, options)
    o = torch.einsum("bhqk,bhkd->bhqd", stack_groups(p, v.shape[1]), v.to(p.dtype))
    return o.reshape(*q.shape[:3], v.shape[-1]).to(q.dtype)


def _fused(
    q: Tensor, k: Tensor, v: Tensor, options: ScoreOptions, scale: float
) -> Float[Tensor, "B H n_q d_v"] | None:
    """As `fused_attention`: None = use dense."""
    # If n_q = n_k, bottom-right is top-left, and torch's is_causal saves half of the work.
    plain = options.mask is None and options.bias is None
    square = options.causal and plain and q.shape[-2] == k.shape[-2]
    visible = None if square else visible_keys(q, k, options)
    bias = bias_tensor(options.bias, q, k)
    return fused_attention(q, k, v, visible, bias, scale, is_causal=bool(square))


@without_autocast
def attention_scores(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H_kv n_k d_k"],
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    bias: Any = None,
    softcap: float | None = None,
) -> Float[Tensor, "B H n_q n_k"]:
    """The argument of the softmax, in float32 at least.

        s = scale * q k^T, hidden scores = −inf

    Args:
        q, k, mask, causal, scale, bias, softcap: as for `attention`
    Returns: [B, H, n_q, n_k]  s
    Raises:
        ValueError: as `attention`
    Cost: 2 B H n_q n_k d_k FLOP; O(B H n_q n_k) memory.
    """
    return _scores(q, k, ScoreOptions(mask, causal, scale, bias, softcap))


@without_autocast
def attention_weights(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H_kv n_k d_k"],
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    bias: Any = None,
    softcap: float | None = None,
    sink_logits: Tensor | None = None,
) -> Float[Tensor, "B H n_q n_k"]:
    """As `reference.attention_weights`, with gradients, in float32 at least.

    Args:
        q, k, mask, causal, scale, bias, softcap, sink_logits: as for `attention`
    Returns: [B, H, n_q, n_k]  p; rows sum to 1, or to 0 if fully masked; to less than 1 with sinks
    Raises:
        ValueError: as `attention`
    """
    return _weights(q, k, ScoreOptions(mask, causal, scale, bias, softcap, sink_logits))


@without_autocast
def attention_lse(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H_kv n_k d_k"],
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    bias: Any = None,
    softcap: float | None = None,
    sink_logits: Tensor | None = None,
) -> Float[Tensor, "B H n_q"]:
    """As `reference.attention_lse`, with gradients, in float32 at least.

    Args:
        q, k, mask, causal, scale, bias, softcap, sink_logits: as for `attention`
    Returns: [B, H, n_q]  natural log; −inf, with gradient 0, for a fully masked row without a sink
    Raises:
        ValueError: as `attention`
    """
    return scores_lse(q, k, ScoreOptions(mask, causal, scale, bias, softcap, sink_logits))


@without_autocast
def scores_lse(q: Tensor, k: Tensor, options: ScoreOptions) -> Float[Tensor, "B H n_q"]:
    """As `attention_lse`, with the options as one object.

    Args:
        q, k: as for `attention`
        options: what changes the scores
    Returns: [B, H, n_q]  as `attention_lse`
    Raises:
        ValueError: as `attention`
    """
    s = sink_column(_scores(q, k, options), options.sink_logits)
    fully_masked = (s == -torch.inf).all(dim=-1, keepdim=True)
    lse = s.masked_fill(fully_masked, 0).logsumexp(dim=-1)
    return lse.masked_fill(fully_masked[..., 0], -torch.inf)


def _scores(q: Tensor, k: Tensor, options: ScoreOptions) -> Float[Tensor, "B H n_q n_k"]:
    check_tensors(q=q, k=k)
    check_heads(q, k, k)
    return masked_scores(q, k, options)


def _weights(q: Tensor, k: Tensor, options: ScoreOptions) -> Float[Tensor, "B H n_q n_k"]:
    """p, without the weight that a sink takes."""
    s = _scores(q, k, options)
    return softmax(sink_column(s, options.sink_logits))[..., : s.shape[-1]]


def _check_impl(impl: str, **dense_only: Any) -> str:
    """The implementation to use; ValueError for what only the dense one can do."""
    check_impl(impl, IMPLS)
    given = [name for name, value in dense_only.items() if value is not None]
    if impl == "sdpa" and given:
        raise ValueError(f'impl is "sdpa", which has no {given[0]}; it should be "dense" or "auto"')
    return "dense" if given else impl
