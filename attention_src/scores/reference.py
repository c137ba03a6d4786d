"""How well does a key fit a query? Five answers in NumPy, computed in float64.

Every function takes array-likes q [..., n_q, d] and k [..., n_k, d], compares each query with each
key, and returns the scores [..., n_q, n_k] in q's dtype (float64 for integers). Leading axes
broadcast. A score beyond the range of q's dtype becomes inf, with NumPy's warning.

    dot         no parameters; grows with the width d
    scaled_dot  the dot product divided by sqrt(d); does not grow with d
    cosine      the angle alone; ignores the lengths
    bilinear    a learned matrix W in between; the widths may differ
    additive    a small network with one hidden layer; the widths may differ
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.errstate import own_errstate
from attention_src.shapes import as_float64, check_leading, check_qkv, check_scale, shape


@own_errstate()
def dot(q: Any, k: Any) -> Float[np.ndarray, "*batch n_q n_k"]:
    """The dot product: large when query and key point the same way, and when they are long.

        s_ij = q_i · k_j

    Args:
        q: [..., n_q, d]  queries
        k: [..., n_k, d]  keys
    Returns: [..., n_q, n_k]  scores
    Raises:
        ValueError: q and k differ in d, or their leading axes do not broadcast
    Cost: 2 n_q n_k d FLOP.
    Source: Luong et al. 2015, arXiv:1508.04025, section 3.1, "dot" (their h_t is our q, h_s our k).
    """
    q, k, dtype = _same_width(q, k)
    return _products(q, k).astype(dtype)


@own_errstate()
def scaled_dot(q: Any, k: Any) -> Float[np.ndarray, "*batch n_q n_k"]:
    """The dot product divided by sqrt(d): components of variance 1 give scores of variance 1.

        s_ij = q_i · k_j / sqrt(d)

    Args:
        q: [..., n_q, d]  queries
        k: [..., n_k, d]  keys
    Returns: [..., n_q, n_k]  scores; if components are independent with mean 0 and variance 1,
        scores have variance 1, while those of `dot` have variance d
    Raises:
        ValueError: as `dot`
    Cost: 2 n_q n_k d FLOP, and one multiplication per score.
    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1 (their d_k is our d).
    """
    q, k, dtype = _same_width(q, k)
    return (check_scale(None, q.shape[-1]) * _products(q, k)).astype(dtype)


@own_errstate()
def cosine(q: Any, k: Any) -> Float[np.ndarray, "*batch n_q n_k"]:
    """The cosine of the angle between query and key: 1 parallel, 0 orthogonal, −1 opposite.

        s_ij = q_i · k_j / (|q_i| |k_j|)

    Args:
        q: [..., n_q, d]  queries
        k: [..., n_k, d]  keys
    Returns: [..., n_q, n_k]  scores from −1 to 1. A zero vector has no direction: its scores are 0,
        as if it were orthogonal to everything.
    Raises:
        ValueError: as `dot`
    Cost: 2 n_q n_k d FLOP, plus 3 (n_q + n_k) d to normalise.
    Source: Graves et al. 2014, arXiv:1410.5401, Eq. 6 (their K is our s).
    """
    q, k, dtype = _same_width(q, k)
    s = _products(_directions(q), _directions(k))
    return np.clip(s, -1, 1).astype(dtype)  # rounding may exceed 1 by 2e-16


@own_errstate()
def bilinear(q: Any, k: Any, W: Any) -> Float[np.ndarray, "*batch n_q n_k"]:
    """A learned matrix weighs each component of the query against each component of the key.

        s_ij = q_i^T W k_j

    Args:
        q: [..., n_q, d_q]  queries
        k: [..., n_k, d_k]  keys; the widths may differ
        W: [d_q, d_k]  the identity gives `dot`; W_Q W_K^T gives an attention head's score
    Returns: [..., n_q, n_k]  scores
    Raises:
        ValueError: W is not [d_q, d_k], or the leading axes of q and k do not broadcast
    Cost: 2 n_q d_q d_k + 2 n_q n_k d_k FLOP.
    Source: Luong et al. 2015, arXiv:1508.04025, section 3.1, "general" (their W_a is our W).
    """
    q, k, dtype = _any_width(q, k)
    W = _parameter(W, "W", d_q=q.shape[-1], d_k=k.shape[-1])
    return _products(_products(q, W.T), k).astype(dtype)


@own_errstate()
def additive(q: Any, k: Any, W_q: Any, W_k: Any, w: Any) -> Float[np.ndarray, "*batch n_q n_k"]:
    """A network with one hidden layer takes query and key together.

        s_ij = w · tanh(W_q q_i + W_k k_j)

    Args:
        q: [..., n_q, d_q]  queries
        k: [..., n_k, d_k]  keys; the widths may differ
        W_q: [d_a, d_q]  from a query to the hidden layer
        W_k: [d_a, d_k]  from a key to the hidden layer
        w: [d_a]  from the hidden layer to the score
    Returns: [..., n_q, n_k]  scores between −sum(|w|) and sum(|w|)
    Raises:
        ValueError: a parameter whose shape does not fit, or leading axes of q and k that do not
            broadcast
    Cost: 2 d_a (n_q d_q + n_k d_k) + 4 n_q n_k d_a FLOP, counting a hyperbolic tangent as one;
        O(n_q n_k d_a) memory, where the others take O(n_q n_k).
    Source: Bahdanau et al. 2014, arXiv:1409.0473, section A.1.2 (their W_a, U_a, v_a are our W_q,
        W_k, w).
    """
    q, k, dtype = _any_width(q, k)
    w = _parameter(w, "w", d_a=None)
    W_q = _parameter(W_q, "W_q", d_a=len(w), d_q=q.shape[-1])
    W_k = _parameter(W_k, "W_k", d_a=len(w), d_k=k.shape[-1])
    from_q = _products(q, W_q)[..., :, None, :]  # [..., n_q, 1, d_a]
    from_k = _products(k, W_k)[..., None, :, :]  # [..., 1, n_k, d_a]
    with np.errstate(invalid="ignore"):  # NaN is a valid result
        return (np.tanh(from_q + from_k) @ w).astype(dtype)


def _same_width(q: Any, k: Any) -> tuple[np.ndarray, np.ndarray, np.dtype]:
    """q and k in float64, checked to have one width, and the dtype of the result."""
    q, dtype = as_float64(q, "q")
    k, _ = as_float64(k, "k")
    check_qkv(q, k)
    check_leading(q, k)
    return q, k, dtype


def _any_width(q: Any, k: Any) -> tuple[np.ndarray, np.ndarray, np.dtype]:
    """q and k in float64, of any widths, and the dtype of the result."""
    q, dtype = as_float64(q, "q")
    k, _ = as_float64(k, "k")
    for name, x, axes in (("q", q, "n_q, d_q"), ("k", k, "n_k, d_k")):
        if x.ndim < 2:
            raise ValueError(f"{name} has shape {shape(x)}; it should be [..., {axes}]")
    check_leading(q, k)
    return q, k, dtype


def _parameter(x: Any, name: str, **axes: int | None) -> np.ndarray:
    """A learned array in float64, checked to have these axes; None = any length."""
    x, _ = as_float64(x, name)
    if x.ndim != len(axes) or any(
        n not in (None, m) for n, m in zip(axes.values(), x.shape, strict=True)
    ):
        sizes = ", ".join(label if n is None else f"{label}={n}" for label, n in axes.items())
        raise ValueError(f"{name} has shape {shape(x)}; it should be [{sizes}]")
    return x


def _products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Every row of a with every row of b: [..., n_a, d] and [..., n_b, d] -> [..., n_a, n_b]."""
    with np.errstate(invalid="ignore", over="ignore"):  # inf and NaN are valid results
        return a @ b.swapaxes(-1, -2)


def _directions(x: np.ndarray) -> np.ndarray:
    """Each row scaled to length 1; rows of zeros stay zeros."""
    largest = np.abs(x).max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):  # inf / inf
        # Bring the largest entry to ±1 first, so that no square overflows or underflows to 0.
        x = x / np.where(largest == 0, 1, largest)
    length = np.sqrt((x * x).sum(axis=-1, keepdims=True))
    return x / np.where(length == 0, 1, length)
