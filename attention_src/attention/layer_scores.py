"""The steps of attention on torch tensors: visibility, scores, torch's own function."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_src.attention.bias import Alibi
from attention_src.attention.layer_fused import torch_attention
from attention_src.attention.score_modifiers import ScoreOptions, check_bias, check_sink_logits
from attention_src.shapes import check_groups, check_mask, check_scale
from attention_src.tensors import as_tensor, check_tensors, compute_dtype


def visible_keys(
    q: Tensor, k: Tensor, options: ScoreOptions
) -> Bool[Tensor, "*rows n_q n_k"] | None:
    """The mask and the causal rule as one boolean tensor.

    Args:
        q: [B, H, n_q, d_k]
        k: [B, H_kv, n_k, d_k]
        options: their mask and causal
    Returns: bool, broadcast to [B, H, n_q, n_k]; None = all visible
    Raises:
        ValueError: as `shapes.check_mask`
    """
    n_q, n_k = q.shape[-2], k.shape[-2]
    visible = None
    if options.mask is not None:
        mask = as_tensor(options.mask, "mask", "a boolean tensor or array", device=q.device)
        check_mask(mask, (*q.shape[:3], n_k))
        visible = _spread(mask, n_q, n_k)
    if options.causal:
        not_later = torch.ones(n_q, n_k, dtype=torch.bool, device=q.device).tril(n_k - n_q)
        visible = not_later if visible is None else visible & not_later
    return visible


def _spread(x: Tensor, n_q: int, n_k: int) -> Tensor:
    """A view of [..., 1 or n_q, 1 or n_k] as [..., n_q, n_k]."""
    return x.expand(*x.shape[:-2], n_q, n_k)


def bias_tensor(bias: Any, q: Tensor, k: Tensor) -> Float[Tensor, "..."] | None:
    """A bias as numbers.

    Args:
        bias: as for `layer.attention`
        q: [B, H, n_q, d_k]
        k: [B, H_kv, n_k, d_k]
    Returns: in float32 at least, broadcast to [B, H, n_q, n_k]; None = none
    Raises:
        ValueError: as `score_modifiers.check_bias`
    """
    if bias is None:
        return None
    target = (*q.shape[:3], k.shape[-2])
    check_bias(bias, target)
    dtype = compute_dtype(q)
    if not isinstance(bias, Alibi):
        return as_tensor(bias, "bias", "an array of numbers", dtype=dtype, device=q.device)
    slopes = as_tensor(bias.slopes, "slopes", "a row of numbers", dtype=dtype, device=q.device)
    n_q, n_k = target[-2:]
    t = torch.arange(n_q, device=q.device) + n_k - n_q
    return Alibi(slopes).tile(t, torch.arange(n_k, device=q.device))


def masked_scores(q: Tensor, k: Tensor, options: ScoreOptions) -> Float[Tensor, "B H n_q n_k"]:
    """The argument of the softmax.

        s = softcap * tanh(scale * q k^T / softcap) + bias, hidden scores = −inf

    Args:
        q: [B, H, n_q, d_k]
        k: [B, H_kv, n_k, d_k]
        options: all but their sinks
    Returns: [B, H, n_q, n_k]  s, in float32 at least
    Raises:
        ValueError: as `visible_keys` and `bias_tensor`; a scale that is no finite number
    """
    visible, bias = visible_keys(q, k, options), bias_tensor(options.bias, q, k)
    scale, softcap = check_scale(options.scale, q.shape[-1]), options.softcap
    dtype = compute_dtype(q)
    rows = stack_groups(q.to(dtype), k.shape[1])  # [B, H_kv, G n_q, d_k]
    s = scale * torch.einsum("bhqd,bhkd->bhqk", rows, k.to(dtype))
    s = s.reshape(*q.shape[:3], k.shape[2])
    if softcap is not None:
        s = softcap * torch.tanh(s / softcap)
    if bias is not None:
        s = s + bias
    return s if visible is None else s.masked_fill(~visible, -torch.inf)


def sink_column(s: Tensor, sink_logits: Tensor | None) -> Tensor:
    """Add a column for the learned sink of each head.

    Args:
        s: [B, H, n_q, n_k]  scores
        sink_logits: [H]; None = no sinks
    Returns: [B, H, n_q, n_k + 1], or s itself without sinks
    Raises:
        ValueError: as `score_modifiers.check_sink_logits`; not floating point, or not on s's device
    """
    if sink_logits is None:
        return s
    check_tensors(one_dtype=False, s=s, sink_logits=sink_logits)
    check_sink_logits(sink_logits, s.shape)
    sink = sink_logits.to(s.dtype)[:, None, None].expand(*s.shape[:-1], 1)
    return torch.cat([s, sink], dim=-1)


def stack_groups(x: Tensor, H_kv: int) -> Tensor:
    """The rows of the G query heads that share keys, as one matrix.

        [B, H, n, d] -> [B, H_kv, G n, d]

    Args:
        x: [B, H, n, d]
        H_kv: number of key/value heads
    Returns: [B, H_kv, G n, d]
    Raises:
        ValueError: H_kv does not divide H
    """
    group = check_groups(x.shape[1], H_kv)
    return x.reshape(x.shape[0], H_kv, group * x.shape[2], x.shape[3])


def fused_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visible: Tensor | None,
    bias: Tensor | None,
    scale: float,
    is_causal: bool,
) -> Tensor | None:
    """Torch's fused function, with our conventions.

    Its is_causal is top-left, and backends differ in what they return for a fully masked row. So
    any other mask is passed explicitly, and a fully masked row is made visible first and zeroed
    afterwards. On a CPU, see `is_trusted`.

    Args:
        q, k, v: as for `layer.attention`
        visible, bias: as `visible_keys` and `bias_tensor` return them
        scale: of the scores
        is_causal: causal with n_q = n_k, and neither visible nor bias is given
    Returns: [B, H, n_q, d_v]  o; None = its answer cannot be trusted: use dense
    Raises:
        RuntimeError: as `layer_fused.torch_attention`
    """
    fully_masked = None
    if bias is not None:  # torch takes one tensor: the bias, with −inf where hidden
        if visible is not None:
            bias = torch.where(visible, bias, -torch.inf)
        fully_masked = (bias == -torch.inf).all(dim=-1, keepdim=True)
        visible = _spread(bias.masked_fill(fully_masked, 0), q.shape[2], k.shape[2])
    elif visible is not None:
        fully_masked = ~visible.any(dim=-1, keepdim=True)  # [..., n_q, 1]
        visible = visible | fully_masked
    o = torch_attention(q, k, v, visible, scale, is_causal)
    if q.is_cpu:  # where, and only where, a row may be wrong
        if torch.compiler.is_compiling():  # which cannot branch
            o = _nan_where_lost(o, q, k)
        elif not is_trusted(o, fully_masked):
            return None
    return o if fully_masked is None else o.masked_fill(fully_masked, 0)


def is_trusted(o: Tensor, fully_masked: Tensor | None = None) -> bool:
    """Whether what torch's fused function computed on a CPU is the answer.

    It takes a row without any score above −inf, NaN being none, for a fully masked one, and returns
    0. It adds −inf to hidden scores, so that a NaN there is not hidden. So an answer with a row of
    zeros or with a NaN may be wrong, whatever led to it.

    Args:
        o: [B, H, n_q, d_v]  what it returned
        fully_masked: bool, broadcast to [B, H, n_q, 1]: the rows that are not looked at
    Returns: False if a row is 0 or has a NaN
    """
    largest = o.detach().abs().amax(dim=-1, keepdim=True)  # amax keeps a NaN
    fine = largest > 0
    return bool((fine if fully_masked is None else fine | fully_masked).all())


def _nan_where_lost(o: Tensor, q: Tensor, k: Tensor) -> Tensor:
    """NaN in the rows that came out as 0 although their scores need not be finite."""
    dtype = compute_dtype(q)
    largest = k.detach().abs().amax(dim=-2)[..., None].to(dtype)  # [B, H_kv, d_k, 1]
    bound = stack_groups(q.detach().abs().to(dtype), k.shape[1]) @ largest  # of |q·k|, in each row
    lost = (o == 0).all(dim=-1, keepdim=True) & ~bound.reshape(*q.shape[:3], 1).isfinite()
    return o.masked_fill(lost, torch.nan)
