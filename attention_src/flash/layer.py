"""FlashAttention on torch tensors, with gradients: one meaning, four implementations.

Without key_lengths it equals `attention.layer.attention` with the mask

    window_mask(n_q, n_k, window, sinks, lookahead) or causal_mask(n_q, n_k)

With key_lengths each sequence is attended as if its keys ended there: keys behind are hidden,
whatever numbers they hold, and the last query is at the sequence's last key. A fully masked row
gives o = 0, lse = −inf and gradients 0. torch.autocast changes nothing here: only the inputs' dtype
does.
"""

import importlib.util
import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.attention import layer as dense
from attention_src.attention.bias import Alibi
from attention_src.attention.masks import combine
from attention_src.attention.score_modifiers import ScoreOptions, check_sink_logits
from attention_src.flash.layer_arguments import bias_and_slopes, check_lengths, clear_padding
from attention_src.flash.layer_tiled import tiled_attention
from attention_src.flash.visibility import Visibility
from attention_src.shapes import check_heads, check_impl, check_scale
from attention_src.tensors import call_kernel, check_tensors, kernel_takes
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
    lookahead: int = 0,
    key_lengths: Any = None,
    scale: float | None = None,
    bias: Any = None,
    softcap: float | None = None,
    sink_logits: Tensor | None = None,
    impl: str = "auto",
) -> Float[Tensor, "B H n_q d_v"]:
    """Exact attention with grouped key/value heads; "tiled" and "triton" never store the scores.

        o = softmax(scale * q k^T, hidden scores = −inf) v

    Args:
        q: [B, H, n_q, d_k]  queries
        k: [B, H_kv, n_k, d_k]  keys; H_kv divides H, query head h uses head h // (H / H_kv)
        v: [B, H_kv, n_k, d_v]  values
        causal: key j is visible to query i iff j <= t, where t = i + n_k - n_q (bottom-right), or
            i + key_lengths[b] - n_q with key_lengths. A batch of whole sequences that is padded at
            its end needs no key_lengths: no token sees the padding behind it.
        window: number of most recent keys visible, including the query's own; implies causal
            unless lookahead says otherwise; None = all
        sinks: number of first keys that stay visible outside the window
        lookahead: number of later keys visible, with a window: both sides of it
        key_lengths: int [B], tensor, array or list: the number of keys of each sequence, 0 to n_k;
            the rest is padding, or not written yet: it may hold anything, NaN too. None = all n_k.
            Validated, which synchronises with the GPU unless they are on the CPU.
        scale: None = d_k ** -0.5
        bias, softcap, sink_logits: as for `attention.layer.attention`; a tensor's columns are the
            n_k keys, an `Alibi` counts distances from t
        impl: "triton" (the kernel; no bias but an `Alibi`), "tiled" (the same algorithm in
            PyTorch), "dense" or "sdpa" (as in `attention.layer`, with an explicit mask; sdpa has no
            softcap and no sink_logits), or "auto": "triton" for CUDA tensors of float16, bfloat16
            or float32 with d_k and d_v from 16 to 256, if Triton is installed and bias is not a
            tensor; otherwise "tiled"
    Returns: [B, H, n_q, d_v]  o, in q's dtype
    Raises:
        ValueError: shapes, dtypes or devices that do not fit; sinks without a window; causal
            that is neither True nor False; an unknown impl, or one that cannot take these tensors
    Cost: 2 B H n_q n_k (d_k + d_v) FLOP; triton and tiled skip the hidden blocks. Memory: triton
        and tiled O(B H n_q d_v), dense O(B H n_q n_k), sdpa O(B n_q n_k) for its mask; with
        key_lengths all but triton copy k and v.
    Source: Dao et al. 2022, arXiv:2205.14135; Dao 2023, arXiv:2307.08691, Algorithms 1 and 2.
    """
    options = ScoreOptions(None, causal, scale, bias, softcap, sink_logits)
    reach = (window, sinks, lookahead)
    return flash_attention_with_options(q, k, v, options, reach, key_lengths, impl)[0]


def flash_attention_with_lse(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H_kv n_k d_k"],
    v: Float[Tensor, "B H_kv n_k d_v"],
    *,
    causal: bool = False,
    window: int | None = None,
    sinks: int = 0,
    lookahead: int = 0,
    key_lengths: Any = None,
    scale: float | None = None,
    bias: Any = None,
    softcap: float | None = None,
    sink_logits: Tensor | None = None,
    impl: str = "auto",
) -> tuple[Float[Tensor, "B H n_q d_v"], Float[Tensor, "B H n_q"]]:
    """As `flash_attention`, also returning lse, with which partial results can be merged.

        lse_i = log(sum_j exp(s_ij)),  s = scale * q k^T, hidden scores = −inf

    Args:
        q, k, v and all options: as for `flash_attention`
    Returns: o [B, H, n_q, d_v] in q's dtype, and lse [B, H, n_q] in float32 at least, natural log,
        sinks included; −inf for a fully masked row without a sink. Gradients flow through both.
    Raises:
        ValueError: as `flash_attention`
    Cost: as `flash_attention`; dense and sdpa compute the scores a second time for lse.
    Source: Dao 2023, arXiv:2307.08691, Algorithm 1 (their L). With a gradient dlse of lse, the
        backward pass has delta = rowsum(o * do) - dlse.
    """
    options = ScoreOptions(None, causal, scale, bias, softcap, sink_logits)
    reach = (window, sinks, lookahead)
    o, lse = flash_attention_with_options(q, k, v, options, reach, key_lengths, impl, with_lse=True)
    assert lse is not None  # it was asked for
    return o, lse


def flash_attention_with_options(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    options: ScoreOptions,
    reach: tuple[int | None, int, int],
    key_lengths: Any,
    impl: str,
    *,
    with_lse: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """As `flash_attention_with_lse`, with the options as one object: check, choose, run.

    Args:
        q, k, v, key_lengths, impl: as for `flash_attention`
        options: what changes the scores; no mask
        reach: window, sinks and lookahead, as for `flash_attention`
        with_lse: False = lse may be None, where it would cost extra
    Returns: o and lse, as `flash_attention_with_lse`
    Raises:
        ValueError: as `flash_attention`
    """
    check_impl(impl, IMPLS)
    check_tensors(q=q, k=k, v=v)
    check_heads(q, k, v)
    scale, softcap, sink_logits = options.scale, options.softcap, options.sink_logits
    scale = check_scale(scale, q.shape[-1])
    visibility = Visibility(q.shape[-2], k.shape[-2], options.causal, *reach)
    lengths = None if key_lengths is None else check_lengths(key_lengths, q, k)
    bias, slopes = bias_and_slopes(options.bias, q, k)
    if impl == "auto":
        impl = "tiled" if bias is not None else _chosen(q, v)
    if lengths is not None and impl != "triton":  # its kernels never read the padding
        k, v = clear_padding(k, lengths), clear_padding(v, lengths)
    if impl in ("dense", "sdpa"):
        mask = _mask(visibility, lengths, q.device)
        if slopes is not None:
            t = visibility.positions(torch.arange(q.shape[-2], device=q.device), lengths)
            bias = Alibi(slopes).tile(t, torch.arange(k.shape[-2], device=q.device))
        masked = ScoreOptions(mask, False, scale, bias, softcap, sink_logits)
        o = dense.attention_with_options(q, k, v, masked, impl=impl)
        return o, dense.scores_lse(q, k, masked) if with_lse else None
    if impl == "tiled":
        o, lse = tiled_attention(q, k, v, lengths, visibility, scale, softcap, bias, slopes)
    else:
        if bias is not None:
            raise ValueError(
                'bias is a tensor but impl is "triton", whose kernels never read a matrix of '
                'biases; it should be an Alibi, or impl "tiled", "dense" or "sdpa"'
            )
        from attention_src.flash.kernel import flash_forward

        window, sinks, lookahead = reach
        rule = (bool(options.causal), window or 0, sinks, scale, lookahead, softcap or 0.0, slopes)
        o, lse_log2 = call_kernel(flash_forward, "dense", q, k, v, lengths, *rule)
        if sink_logits is None and not with_lse:
            return o, None
        lse = lse_log2 * math.log(2)
    return (o, lse) if sink_logits is None else _with_sink(o, lse, sink_logits)


def _with_sink(o: Tensor, lse: Tensor, sink_logits: Any) -> tuple[Tensor, Tensor]:
    """Let a learned sink take its share of every row afterwards: a key whose value is 0.

    lse' = log(exp(lse) + exp(sink)),  o' = exp(lse - lse') o
    """
    check_tensors(one_dtype=False, q=o, sink_logits=sink_logits)
    check_sink_logits(sink_logits, (*lse.shape, 1))
    sink = sink_logits.to(lse.dtype)[:, None].expand_as(lse)
    nothing = (lse == -torch.inf) & (sink == -torch.inf)  # −inf − (−inf) would be NaN
    joined = torch.logaddexp(lse, sink.masked_fill(nothing, 0))
    share = (lse - joined).exp()[..., None]  # [B, H, n_q, 1]
    return (share * o.to(lse.dtype)).to(o.dtype), joined.masked_fill(nothing, -torch.inf)


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
        t = visibility.positions(torch.arange(visibility.n_q, device=device), lengths)
        in_order = visibility.visible(t, offs_k)
        in_order = in_order[None, None] if lengths is None else in_order[:, None]
    if lengths is not None:
        padding = (offs_k < lengths[:, None])[:, None, None, :]
    return combine(in_order, padding)
