"""Multi-head attention in NumPy, in two equal forms: head by head, and all heads in one product.

Weight matrices are laid out for x @ w. The columns of a head are adjacent; head 0 comes first.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.attention.reference import attention
from attention_src.errstate import own_errstate
from attention_src.shapes import (
    as_array,
    as_float64,
    check_groups,
    check_mask,
    check_number,
    check_size,
)


def split_heads(x: Any, n_heads: int) -> Float[np.ndarray, "*batch H n d"]:
    """Split the last axis into heads.

        [..., n, H * d] -> [..., H, n, d]

    Args:
        x: [..., n, H * d]
        n_heads: H
    Returns: [..., H, n, d]
    Raises:
        ValueError: n_heads does not divide the last axis
    Cost: none: a view where NumPy can make one.
    """
    x, dtype = as_float64(x, "x")
    n_heads = check_size(n_heads, "n_heads", at_least=1)
    if x.ndim < 2 or x.shape[-1] % n_heads:
        raise ValueError(
            f"x has shape {list(x.shape)}; it should be [..., n, H * d] with H={n_heads} heads"
        )
    return _split(x, n_heads).astype(dtype, copy=False)


def _split(x: np.ndarray, n_heads: int) -> Float[np.ndarray, "*batch H n d"]:
    heads = x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads)  # [..., n, H, d]
    return heads.swapaxes(-2, -3)  # [..., H, n, d]


def merge_heads(x: Any) -> Float[np.ndarray, "*batch n H_d"]:
    """Concatenate the heads: the inverse of `split_heads`.

        [..., H, n, d] -> [..., n, H * d]

    Args:
        x: [..., H, n, d]
    Returns: [..., n, H * d]
    Raises:
        ValueError: fewer than three axes
    Cost: one copy.
    """
    x, dtype = as_float64(x, "x")
    if x.ndim < 3:
        raise ValueError(f"x has shape {list(x.shape)}; it should be [..., H, n, d]")
    return _merge(x).astype(dtype, copy=False)


def _merge(x: np.ndarray) -> Float[np.ndarray, "*batch n H_d"]:
    H, n, d = x.shape[-3:]
    return x.swapaxes(-2, -3).reshape(*x.shape[:-3], n, H * d)


@own_errstate()
def rms_norm(x: Any, gain: Any, *, eps: float = 1e-6) -> Float[np.ndarray, "*batch d"]:
    """Divide by the root mean square of the components, then scale each component.

        y = gain * x / sqrt(mean(x ** 2) + eps)

    On queries and keys it bounds the scores: |q| is at most max(|gain|) sqrt(d).

    Args:
        x: [..., d]
        gain: [d]
        eps: at least 0
    Returns: [..., d]  y, in x's dtype
    Raises:
        ValueError: gain is not [d]; eps is negative
    Cost: 4 d FLOP per vector.
    Source: Zhang and Sennrich 2019, arXiv:1910.07467, Eq. 4 (their g is our gain).
    """
    x, dtype = as_float64(x, "x")
    gain, _ = as_float64(gain, "gain")
    if x.ndim < 1 or gain.shape != x.shape[-1:]:
        raise ValueError(
            f"gain has shape {list(gain.shape)} but x has shape {list(x.shape)}; gain should be "
            "[d], one number for each component"
        )
    eps = check_number(eps, "eps", at_least=0)
    mean_square = (x**2).mean(axis=-1, keepdims=True)
    return (gain * x / np.sqrt(mean_square + eps)).astype(dtype)


@own_errstate()
def multihead_attention(
    x: Any,
    w_q: Any,
    w_k: Any,
    w_v: Any,
    w_o: Any,
    *,
    n_heads: int,
    n_kv_heads: int | None = None,
    context: Any = None,
    mask: Any = None,
    causal: bool = False,
    q_gain: Any = None,
    k_gain: Any = None,
    eps: float = 1e-6,
) -> Float[np.ndarray, "*batch n_q d_model"]:
    """Multi-head attention, fused form: one product projects for all heads at once.

        q, k, v = split(x w_q), split(c w_k), split(c w_v);  y = merge(attention(q, k, v)) w_o

    Args:
        x: [..., n_q, d_model]  the queries are computed from it
        w_q: [d_model, H * d_k]
        w_k: [d_context, H_kv * d_k]
        w_v: [d_context, H_kv * d_v]
        w_o: [H * d_v, d_model]
        n_heads: H
        n_kv_heads: H_kv, which divides H; None = H
        context: [..., n_k, d_context]  keys and values are computed from it; None = x
        mask: bool, broadcast to [..., H, n_q, n_k]; True = may attend
        causal: bottom-right, as in `attention`
        q_gain: [d_k] normalises each query with `rms_norm`; [H * d_k] normalises x w_q before the
            heads are split; None = neither
        k_gain: [d_k] or [H_kv * d_k], the same for keys
        eps: of `rms_norm`
    Returns: [..., n_q, d_model]  y, in x's dtype
    Raises:
        ValueError: names the matrix or gain that does not fit
    Cost: the four products and `attention` for H heads.
    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2 (their W^O is our w_o). Norm of
        each head: Qwen3, arXiv:2505.09388; of the whole width: OLMo 2, arXiv:2501.00656.
    """
    x, c, w, sizes, dtype = _prepare(x, context, (w_q, w_k, w_v, w_o), n_heads, n_kv_heads)
    q = _split_normalised(x @ w["q"], sizes["H"], q_gain, "q_gain", eps)  # [..., H, n_q, d_k]
    k = _split_normalised(c @ w["k"], sizes["H_kv"], k_gain, "k_gain", eps)  # [..., H_kv, n_k, d_k]
    v = _split(c @ w["v"], sizes["H_kv"])  # [..., H_kv, n_k, d_v]
    k, v = (np.repeat(heads, sizes["group"], axis=-3) for heads in (k, v))  # H_kv -> H
    o = attention(q, k, v, mask=mask, causal=causal)  # [..., H, n_q, d_v]
    return (_merge(o) @ w["o"]).astype(dtype)


@own_errstate()
def multihead_attention_by_head(
    x: Any,
    w_q: Any,
    w_k: Any,
    w_v: Any,
    w_o: Any,
    *,
    n_heads: int,
    n_kv_heads: int | None = None,
    context: Any = None,
    mask: Any = None,
    causal: bool = False,
) -> Float[np.ndarray, "*batch n_q d_model"]:
    """Multi-head attention, concat form, as in the paper: one head after the other.

        head_h = attention(x w_q[h], c w_k[h], c w_v[h]);  y = concat(head_0, head_1, ...) w_o

    Args:
        x, w_q, w_k, w_v, w_o, n_heads, n_kv_heads, context, mask, causal: as for
            `multihead_attention`; w_q[h] is the d_k columns of head h
    Returns: [..., n_q, d_model]  y, in x's dtype
    Raises:
        ValueError: names the matrix that does not fit
    Cost: as `multihead_attention`, in H small products instead of one large one.
    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2.
    """
    x, c, w, sizes, dtype = _prepare(x, context, (w_q, w_k, w_v, w_o), n_heads, n_kv_heads)
    if mask is not None:
        mask = as_array(mask, "mask")
        leading = np.broadcast_shapes(x.shape[:-2], c.shape[:-2])
        full = (*leading, sizes["H"], x.shape[-2], c.shape[-2])
        check_mask(mask, full)
        mask = np.broadcast_to(mask, full)
    columns_q = np.split(w["q"], sizes["H"], axis=1)  # H times [d_model, d_k]
    columns_k = np.split(w["k"], sizes["H_kv"], axis=1)
    columns_v = np.split(w["v"], sizes["H_kv"], axis=1)
    heads = []
    for h in range(sizes["H"]):
        g = h // sizes["group"]  # the key/value head that query head h uses
        heads.append(
            attention(
                x @ columns_q[h],
                c @ columns_k[g],
                c @ columns_v[g],
                mask=None if mask is None else mask[..., h, :, :],
                causal=causal,
            )
        )
    return (np.concatenate(heads, axis=-1) @ w["o"]).astype(dtype)


def _split_normalised(
    x: np.ndarray, n_heads: int, gain: Any, name: str, eps: float
) -> Float[np.ndarray, "*batch H n d"]:
    """Split into heads, and normalise before or after: the gain's width says which."""
    if gain is None:
        return _split(x, n_heads)
    width, d = x.shape[-1], x.shape[-1] // n_heads
    if np.shape(gain) not in ((width,), (d,)):
        raise ValueError(
            f"{name} has shape {list(np.shape(gain))}; it should be [{d}] for each head, or "
            f"[{width}] for all together"
        )
    if np.shape(gain) == (width,):
        return _split(rms_norm(x, gain, eps=eps), n_heads)
    return rms_norm(_split(x, n_heads), gain, eps=eps)


def _prepare(
    x: Any, context: Any, matrices: tuple, n_heads: int, n_kv_heads: int | None
) -> tuple[np.ndarray, np.ndarray, dict, dict, np.dtype]:
    """Checked float64 inputs: x, context, the four matrices by name, and the head counts."""
    x, dtype = as_float64(x, "x")
    c = x if context is None else as_float64(context, "context")[0]
    H = check_size(n_heads, "n_heads", at_least=1)
    H_kv = H if n_kv_heads is None else check_size(n_kv_heads, "n_kv_heads", at_least=1)
    group = check_groups(H, H_kv)
    w = {}
    for name, matrix in zip("qkvo", matrices, strict=True):
        w[name], _ = as_float64(matrix, f"w_{name}")
        if w[name].ndim != 2:
            raise ValueError(f"w_{name} has shape {list(w[name].shape)}; it should have two axes")
    for name, source, label in (("q", x, "x"), ("k", c, "context"), ("v", c, "context")):
        if source.ndim < 2 or source.shape[-1] != w[name].shape[0]:
            raise ValueError(
                f"w_{name} has shape {list(w[name].shape)}, but {label} has shape "
                f"{list(source.shape)}: the last axis of {label} should equal the rows of w_{name}"
            )
    for name, count in (("q", H), ("k", H_kv), ("v", H_kv)):
        if w[name].shape[1] % count:
            raise ValueError(
                f"w_{name} has {w[name].shape[1]} columns, which do not divide into {count} heads"
            )
    d_v = w["v"].shape[1] // H_kv
    if w["o"].shape[0] != H * d_v:
        raise ValueError(
            f"w_o has {w['o'].shape[0]} rows; it should have H * d_v = {H} * {d_v} = {H * d_v}"
        )
    return x, c, w, {"H": H, "H_kv": H_kv, "group": group}, dtype
