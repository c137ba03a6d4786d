"""Flash attention as operators of torch: forward, backward, and the gradients through both.

Inside, lse is in base 2: the chip has powers of 2, and a large one loses digits in another base.
"""

from typing import Any

import torch
from torch import Tensor

from attention_src.attention.score_modifiers import check_softcap
from attention_src.flash.kernel.backward import dkdv_launch, dq_launch
from attention_src.flash.kernel.config import HEAD_SIZES, Inputs
from attention_src.flash.kernel.forward import forward_launch
from attention_src.flash.kernel.tiles import MAX_TILE_ROWS
from attention_src.flash.visibility import Visibility
from attention_src.shapes import check_heads, check_scale, check_shape, check_size, shape
from attention_src.tensors import refuse_derivatives
from attention_src.triton_support.launch import capability, check_kernel_tensors
from attention_src.triton_support.launch_cache import Prepared, planned


@torch.library.custom_op("attention_src::flash_forward", mutates_args=())
def flash_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    key_lengths: Tensor | None,
    causal: bool,
    window: int,
    sinks: int,
    scale: float,
    lookahead: int = 0,
    softcap: float = 0.0,
    slopes: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention and lse in base 2, without a matrix of scores in memory.

        o = softmax(scale * q k^T, hidden scores = −inf) v,  lse_log2_i = log2(sum_j exp(s_ij))

    Args:
        q: [B, H, n_q, d_k]  float16, bfloat16 or float32, any strides
        k: [B, H_kv, n_k, d_k]  query head h uses key head h // (H / H_kv)
        v: [B, H_kv, n_k, d_v]  d_k and d_v from 16 to 256
        key_lengths: int32 [B]  the number of keys of each sequence, clamped to 0 … n_k; the padding
            behind them is never read. None = all n_k.
        causal: key j is visible to query i iff j <= t, t = i + key_lengths[b] - n_q
        window: number of most recent keys visible, including the query's own; implies causal
            unless lookahead is above 0; 0 = no window
        sinks: with a window, the first `sinks` keys stay visible
        scale: of the scores, usually d_k ** -0.5
        lookahead: with a window, the number of later keys that are visible
        softcap: scores become softcap * tanh(s / softcap), before ALiBi; 0 = no bound
        slopes: float32 [H]  of ALiBi: scores become s - slopes[h] * |t - j|; None = no bias
    Returns: o [B, H, n_q, d_v] in q's dtype; lse_log2 float32 [B, H, n_q]. A fully masked row has
        o = 0 and lse_log2 = −inf. Both have gradients.
    Raises:
        ValueError: shapes, dtypes or devices that do not fit; a width the kernels do not take
    Cost: 2 B H n_q n_k (d_k + d_v) FLOP, less the hidden blocks; O(B H n_q) memory beyond the
        output.
    Source: Dao 2023, arXiv:2307.08691, Algorithm 1 (their B_r, B_c, L are BLOCK_Q, BLOCK_K, lse;
        their O^(j) and l^(j) are acc and l). Grouped heads: Ainslie et al. 2023, arXiv:2305.13245.
        Sinks: Xiao et al. 2023, arXiv:2309.17453.
    """
    options = (causal, window, sinks, scale, lookahead, softcap, slopes)
    o, lse_log2 = _forward(q, k, v, key_lengths, *options)
    return o, lse_log2


@planned
def _forward(q: Tensor, k: Tensor, v: Tensor, *options: Any) -> Prepared:
    inputs = _checked(q, k, v, *options)
    outputs, chip = _empty_outputs(q, v), capability(q)
    return outputs, [forward_launch(inputs, *outputs, capability=chip)]


@torch.library.custom_op("attention_src::flash_backward", mutates_args=())
def flash_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    key_lengths: Tensor | None,
    o: Tensor,
    lse_log2: Tensor,
    do: Tensor,
    dlse_log2: Tensor,
    causal: bool,
    window: int,
    sinks: int,
    scale: float,
    lookahead: int = 0,
    softcap: float = 0.0,
    slopes: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of `flash_forward`, with the weights recomputed block by block.

        p = exp2(log2(e) s - lse_log2)   ds = p * (do v^T - delta)
        delta = rowsum(o * do) - log2(e) dlse_log2
        dv = p^T do        dq = scale * ds k           dk = scale * ds^T q

    With softcap, ds is also multiplied by 1 - tanh². slopes get no gradient.

    Args:
        q, k, v, key_lengths and the options: as given to `flash_forward`
        o, lse_log2: as returned by it
        do: [B, H, n_q, d_v]  gradient of the loss by o, any strides
        dlse_log2: float32 [B, H, n_q]  gradient of the loss by lse_log2
    Returns: dq, dk, dv  with the shapes and dtypes of q, k, v; the same bits on every run
    Raises:
        ValueError: as `flash_forward`; o, lse_log2, do or dlse_log2 does not fit
    Cost: 2 B H n_q n_k (4 d_k + 3 d_v) FLOP: seven products instead of five, because scores and dp
        are computed once for dq and again for dk and dv, which avoids atomic additions. O(B H n_q)
        memory beyond the gradients.
    Source: Dao 2023, arXiv:2307.08691, Algorithm 2 (their D is delta without dlse), with dq in a
        loop of its own. The gradient of lse: d lse_i / d s_ij = p_ij, in base 2 log2(e) p_ij.
    """
    options = (causal, window, sinks, scale, lookahead, softcap, slopes)
    dq, dk, dv, *_ = _gradients(q, k, v, o, lse_log2, do, dlse_log2, key_lengths, *options)
    return dq, dk, dv


@planned
def _gradients(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse_log2: Tensor,
    do: Tensor,
    dlse_log2: Tensor,
    *options: Any,
) -> Prepared:
    inputs = _checked(q, k, v, *options)
    for name, x in (("o", o), ("do", do)):
        check_shape(x, name, "[B, H, n_q, d_v]", (*q.shape[:3], v.shape[3]))
    for name, x in (("lse_log2", lse_log2), ("dlse_log2", dlse_log2)):
        check_shape(x, name, "[B, H, n_q]", q.shape[:3])
    check_kernel_tensors(q=q, o=o, do=do)
    check_kernel_tensors(lse_log2=lse_log2, dlse_log2=dlse_log2)
    o, lse_log2, dlse_log2 = (x.contiguous() for x in (o, lse_log2, dlse_log2))
    dq, dk, dv = _empty_gradients(q, k, v)
    # Whole tiles, so that reading lse_padded and delta needs no mask.
    n_padded = MAX_TILE_ROWS * -(-q.shape[2] // MAX_TILE_ROWS)
    lse_padded, delta = (lse_log2.new_empty((*q.shape[:2], n_padded)) for _ in range(2))
    chip = capability(q)
    rows = dict(lse_padded=lse_padded, delta=delta)
    by_dq = dq_launch(inputs, o, lse_log2, do, dlse_log2, **rows, dq=dq, capability=chip)
    by_dkdv = dkdv_launch(inputs, do, **rows, dk=dk, dv=dv, capability=chip)
    return (dq, dk, dv, lse_padded, delta), [by_dq, by_dkdv]


def _checked(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    key_lengths: Tensor | None,
    causal: bool,
    window: int,
    sinks: int,
    scale: float,
    lookahead: int,
    softcap: float,
    slopes: Tensor | None,
) -> Inputs:
    """Check what both operators are given."""
    check_heads(q, k, v)
    check_kernel_tensors(q=q, k=k, v=v)
    for name, d in (("d_k", q.shape[3]), ("d_v", v.shape[3])):
        if d not in HEAD_SIZES:
            raise ValueError(
                f"{name} is {d}; the flash kernels take widths from {HEAD_SIZES[0]} to "
                f"{HEAD_SIZES[-1]}. Choose another impl: 'tiled' or 'sdpa'"
            )
    _check_row(key_lengths, "key_lengths", "[B]", q.shape[0], torch.int32, q)
    _check_row(slopes, "slopes", "[H]", q.shape[1], torch.float32, q)
    check_scale(scale, q.shape[3])
    check_size(window, "window")
    check_softcap(softcap or None)
    visibility = Visibility(q.shape[2], k.shape[2], causal, window or None, sinks, lookahead)
    return Inputs(q, k, v, key_lengths, visibility, scale, slopes, softcap)


def _check_row(
    x: Tensor | None, name: str, axes: str, size: int, dtype: torch.dtype, q: Tensor
) -> None:
    """Check an optional row of numbers: its shape, dtype and device."""
    if x is None or (tuple(x.shape), x.dtype, x.device) == ((size,), dtype, q.device):
        return
    raise ValueError(
        f"{name} is {shape(x)} {x.dtype} on {x.device}; it should be {axes} = [{size}] {dtype} on "
        f"{q.device}"
    )


def _empty_outputs(q: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Memory for o and lse_log2."""
    o = torch.empty((*q.shape[:3], v.shape[3]), dtype=q.dtype, device=q.device)
    return o, torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)


def _empty_gradients(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Memory for dq, dk and dv."""
    dq, dk, dv = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))
    return dq, dk, dv


@flash_forward.register_fake
def _(q, k, v, key_lengths, *options):
    return _empty_outputs(q, v)


@flash_backward.register_fake
def _(q, k, v, key_lengths, o, lse_log2, do, dlse_log2, *options):
    return _empty_gradients(q, k, v)


def _setup(ctx: Any, inputs: tuple, output: tuple[Tensor, Tensor]) -> None:
    """Save inputs and outputs, and nothing of size n_q n_k."""
    q, k, v, key_lengths, *ctx.options, slopes = inputs
    ctx.save_for_backward(q, k, v, key_lengths, slopes, *output)


def _backward(ctx: Any, do: Tensor, dlse_log2: Tensor) -> tuple:
    q, k, v, key_lengths, slopes, o, lse_log2 = ctx.saved_tensors
    options = (*ctx.options, slopes)
    gradients = flash_backward(q, k, v, key_lengths, o, lse_log2, do, dlse_log2, *options)
    return *gradients, *[None] * 8  # one for each option


flash_forward.register_autograd(_backward, setup_context=_setup)
refuse_derivatives(flash_backward, "dense")
