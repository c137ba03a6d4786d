"""Attention in NumPy: THE oracle that every other implementation is compared with.

Computed in float64 and returned in q's floating dtype (integers: float64). Leading axes broadcast,
so [n, d] is one head, [H, n, d] several, [B, H, n, d] a batch of them. A fully masked row, and a
row with no keys at all, gives o = 0 and lse = −inf. A NaN in a query makes that query's row NaN;
hidden keys and values should still be finite, because 0 · NaN is NaN.

Scores can be changed before the softmax, in this order: scale, softcap, bias, mask.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.attention.bias import Alibi
from attention_src.attention.masks import causal_mask
from attention_src.attention.score_modifiers import ScoreOptions, check_bias, check_sink_logits
from attention_src.errstate import own_errstate
from attention_src.shapes import (
    as_array,
    as_float64,
    check_leading,
    check_mask,
    check_qkv,
    check_scale,
    check_shape,
)
from attention_src.softmax.reference_float64 import log_sum_exp64, softmax64, softmax_backward64


@own_errstate(invalid="ignore")  # NaN is a valid result
def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    bias: Any = None,
    softcap: float | None = None,
    sink_logits: Any = None,
) -> Float[np.ndarray, "*batch n_q d_v"]:
    """Scaled dot-product attention, dense: the oracle for everything else.

        o = softmax(scale * q k^T, hidden scores = −inf) v

    With every change, s = softcap * tanh(scale * q k^T / softcap) + bias, and p_ij = exp(s_ij) /
    (exp(sink_logits) + sum_j exp(s_ij)): a learned sink takes weight and has no value.

    Args:
        q: [..., n_q, d_k]  queries
        k: [..., n_k, d_k]  keys
        v: [..., n_k, d_v]  values
        mask: bool [..., n_q, n_k], broadcast; True = may attend; None = all
        causal: key j is visible to query i iff j <= i + n_k - n_q (bottom-right)
        scale: None = d_k ** -0.5
        bias: floats [..., n_q, n_k], broadcast, added to the scores (−inf hides); or a
            `bias.Alibi`; None = 0
        softcap: keeps scores between -softcap and softcap; None = no bound
        sink_logits: [H]  a score that every query of a head gives to no key; None = no sinks
    Returns: [..., n_q, d_v]  o, in q's dtype
    Raises:
        ValueError: "k has d_k=32 but q has d_k=64: ..." names the axis; a mask that is not boolean;
            causal is neither True nor False
    Cost: 2 n_q n_k (d_k + d_v) FLOP; O(n_q n_k) memory.
    Source: Vaswani et al. 2017, arXiv:1706.03762, Eq. 1. softcap: Gemma Team 2024,
        arXiv:2408.00118, section 2. sink_logits: OpenAI 2025, arXiv:2508.10925, section 2.2.
    """
    options = ScoreOptions(mask, causal, scale, bias, softcap, sink_logits)
    q, k, v, dtype = _checked(q, k, v)
    scale = check_scale(scale, q.shape[-1])
    s = scale * (q @ k.swapaxes(-1, -2))  # [..., n_q, n_k]  one product for each query and key
    s = _changed(s, v, options)  # what the keywords ask for: softcap, bias, −inf where hidden
    p = _softmax(s, sink_logits)  # [..., n_q, n_k]  each row: how much of each value
    return (p @ v).astype(dtype)  # [..., n_q, d_v]


@own_errstate(invalid="ignore")  # NaN is a valid result
def attention_weights(
    q: Any,
    k: Any,
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    bias: Any = None,
    softcap: float | None = None,
    sink_logits: Any = None,
) -> Float[np.ndarray, "*batch n_q n_k"]:
    """The weights alone: how much of each key's value each query takes.

        p = softmax(scale * q k^T, hidden scores = −inf)

    Args:
        q, k, mask, causal, scale, bias, softcap, sink_logits: as for `attention`
    Returns: [..., n_q, n_k]  p, in q's dtype; rows sum to 1, or to 0 if fully masked; to less than
        1 with sinks
    Raises:
        ValueError: as `attention`
    Cost: 2 n_q n_k d_k FLOP; O(n_q n_k) memory.
    Source: Vaswani et al. 2017, arXiv:1706.03762, Eq. 1.
    """
    options = ScoreOptions(mask, causal, scale, bias, softcap, sink_logits)
    q, k, v, dtype = _checked(q, k)
    s = check_scale(scale, q.shape[-1]) * (q @ k.swapaxes(-1, -2))  # [..., n_q, n_k]
    return _softmax(_changed(s, v, options), sink_logits).astype(dtype)


@own_errstate(invalid="ignore")  # NaN is a valid result
def attention_lse(
    q: Any,
    k: Any,
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    bias: Any = None,
    softcap: float | None = None,
    sink_logits: Any = None,
) -> Float[np.ndarray, "*batch n_q"]:
    """The log of each row's softmax denominator: what is needed to merge two partial results.

        lse = log(sum_j exp(s_j)),  s = scale * q k^T, hidden scores = −inf

    Args:
        q, k, mask, causal, scale, bias, softcap, sink_logits: as for `attention`
    Returns: [..., n_q]  natural log, sinks included; −inf for a fully masked row without a sink
    Raises:
        ValueError: as `attention`
    Cost: 2 n_q n_k d_k FLOP; O(n_q n_k) memory.
    Source: Dao 2023, arXiv:2307.08691, Algorithm 1 (their L is our lse).
    """
    options = ScoreOptions(mask, causal, scale, bias, softcap, sink_logits)
    q, k, v, dtype = _checked(q, k)
    s = check_scale(scale, q.shape[-1]) * (q @ k.swapaxes(-1, -2))  # [..., n_q, n_k]
    return log_sum_exp64(_with_sink(_changed(s, v, options), sink_logits)).astype(dtype)


@own_errstate(invalid="ignore")  # NaN is a valid result
def attention_backward(
    q: Any,
    k: Any,
    v: Any,
    do: Any,
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    bias: Any = None,
    softcap: float | None = None,
    sink_logits: Any = None,
) -> tuple[
    Float[np.ndarray, "*batch_q n_q d_k"],
    Float[np.ndarray, "*batch_k n_k d_k"],
    Float[np.ndarray, "*batch_v n_k d_v"],
]:
    """The gradients of attention, by hand.

        dv = p^T do        dp = do v^T        ds = p * (dp - rowsum(p * dp))
        dq = scale * ds k  dk = scale * ds^T q

    With softcap, ds is also multiplied by 1 - tanh(scale * q k^T / softcap)².

    Args:
        q, k, v, mask, causal, scale, bias, softcap, sink_logits: as for `attention`
        do: [..., n_q, d_v]  gradient of the loss by o
    Returns: dq, dk, dv  with the shapes and dtypes of q, k, v. Axes along which an argument was
        broadcast are summed. Hidden keys and fully masked queries get gradient 0.
    Raises:
        ValueError: as `attention`; do does not have o's shape
    Cost: 2 n_q n_k (3 d_k + 2 d_v) FLOP; O(n_q n_k) memory.
    Source: Dao et al. 2022, arXiv:2205.14135, appendix B.2 (rowsum(p * dp) is their D, our delta).
    """
    options = ScoreOptions(mask, causal, scale, bias, softcap, sink_logits)
    q64, k64, v64, _ = _checked(q, k, v)
    scale = check_scale(scale, q64.shape[-1])
    products = scale * (q64 @ k64.swapaxes(-1, -2))  # [..., n_q, n_k]
    s = _changed(products, v64, options)
    do64, _ = as_float64(do, "do")
    rows = (*np.broadcast_shapes(s.shape[:-2], v64.shape[:-2]), s.shape[-2])
    check_shape(do64, "do", "[..., n_q, d_v]", (*rows, v64.shape[-1]))
    p = np.broadcast_to(_softmax(s, sink_logits), (*rows, s.shape[-1]))  # [..., n_q, n_k]
    dv = p.swapaxes(-1, -2) @ do64  # [..., n_k, d_v]
    dp = do64 @ v64.swapaxes(-1, -2)  # [..., n_q, n_k]
    ds = softmax_backward64(p, dp)  # [..., n_q, n_k]
    if softcap is not None:
        ds = ds * (1 - np.tanh(products / softcap) ** 2)
    dq = scale * (ds @ k64)  # [..., n_q, d_k]
    dk = scale * (ds.swapaxes(-1, -2) @ q64)  # [..., n_k, d_k]
    return _like(dq, q), _like(dk, k), _like(dv, v)


def _checked(q: Any, k: Any, v: Any = None) -> tuple[np.ndarray, np.ndarray, Any, np.dtype]:
    """q, k and v in float64 (v is None if there are no values), and the dtype of the answer."""
    q, dtype = as_float64(q, "q")
    k, _ = as_float64(k, "k")
    v = None if v is None else as_float64(v, "v")[0]
    check_qkv(q, k, v)
    check_leading(q, k, v)
    return q, k, v, dtype


def _changed(
    s: np.ndarray, v: np.ndarray | None, options: ScoreOptions
) -> Float[np.ndarray, "*batch n_q n_k"]:
    """The scores, changed as the options say, with −inf where hidden; without options, s."""
    if options.softcap is not None:
        s = options.softcap * np.tanh(s / options.softcap)
    if options.bias is not None:
        bias = options.bias
        if not isinstance(bias, Alibi):
            bias, _ = as_float64(bias, "bias")
        check_bias(bias, s.shape)
        s = s + (bias.array(*s.shape[-2:]) if isinstance(bias, Alibi) else bias)
    if options.mask is not None:
        mask = as_array(options.mask, "mask")
        leading = s.shape[:-2] if v is None else np.broadcast_shapes(s.shape[:-2], v.shape[:-2])
        check_mask(mask, (*leading, *s.shape[-2:]))
        s = np.where(mask, s, -np.inf)
    return np.where(causal_mask(*s.shape[-2:]), s, -np.inf) if options.causal else s


def _softmax(s: np.ndarray, sink_logits: Any) -> Float[np.ndarray, "*batch n_q n_k"]:
    """The weights, without the one that a sink takes."""
    return softmax64(_with_sink(s, sink_logits))[..., : s.shape[-1]]


def _with_sink(s: np.ndarray, sink_logits: Any) -> np.ndarray:
    """The scores, and one more column for the learned sink of each head."""
    if sink_logits is None:
        return s
    sink, _ = as_float64(sink_logits, "sink_logits")
    check_sink_logits(sink, s.shape)
    return np.concatenate([s, np.broadcast_to(sink[:, None, None], (*s.shape[:-1], 1))], axis=-1)


def _like(gradient: np.ndarray, x: Any) -> np.ndarray:
    """Sum a gradient over the axes along which x was broadcast, and convert it to x's dtype."""
    array, dtype = as_float64(x, "x")
    new = gradient.ndim - array.ndim  # leading axes that x does not have
    repeated = [
        a + new for a, n in enumerate(array.shape) if n == 1 and gradient.shape[a + new] > 1
    ]
    gradient = gradient.sum(axis=(*range(new), *repeated), keepdims=True)
    return gradient.reshape(array.shape).astype(dtype)
