"""Softmax in NumPy: naive, stable, online; its gradient; its entropy. Computed in float64.

Every function takes array-likes and returns their dtype, or float64 for integers. A NaN anywhere in
a row makes that row NaN. A fully masked row (every score −inf) gets weights 0, as everywhere in the
course.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.errstate import own_errstate
from attention_src.shapes import as_float64, is_number
from attention_src.softmax.alternatives import (
    entmax15,
    hardmax,
    sigmoid_weights,
    sparsemax,
)
from attention_src.softmax.reference_float64 import log_sum_exp64, softmax64, softmax_backward64

__all__ = [
    "entmax15",
    "entropy_bits",
    "hardmax",
    "log_sum_exp",
    "naive_softmax",
    "online_max_and_sum",
    "online_softmax",
    "sigmoid_weights",
    "softmax",
    "softmax_backward",
    "softmax_jacobian",
    "sparsemax",
]


@own_errstate()
def naive_softmax(x: Any, axis: int = -1) -> Float[np.ndarray, "..."]:
    """Softmax as textbooks write it, in x's own dtype: it is here to show the overflow.

        p_j = exp(x_j) / sum_i exp(x_i)

    Args:
        x: [..., n_k]  scores; integers are converted to float64
        axis: the axis over which the weights sum to 1
    Returns: [..., n_k]  weights, inf or NaN where x is too large for its dtype (float16: 11.1)
    Raises:
        ValueError: x does not hold real numbers
    Cost: n_k exponentials per row.
    """
    _, dtype = as_float64(x, "x")
    e = np.exp(np.asarray(x, dtype=dtype))
    return e / e.sum(axis=axis, keepdims=True, dtype=dtype)


@own_errstate()
def softmax(x: Any, axis: int = -1, temperature: float = 1.0) -> Float[np.ndarray, "..."]:
    """Softmax that cannot overflow: subtract the row's maximum first.

        p_j = exp((x_j - m) / temperature) / sum_i exp((x_i - m) / temperature),  m = max_i x_i

    Args:
        x: [..., n_k]  scores
        axis: the axis over which the weights sum to 1
        temperature: above 0; small makes it sharp (towards hardmax), large flat (towards uniform)
    Returns: [..., n_k]  weights
    Raises:
        ValueError: temperature is not a positive, finite number; x does not hold real numbers
    Cost: n_k exponentials per row; x is read three times (maximum, sum, division).
    Source: Bridle 1990 for the name; the shift is folklore.
    """
    temperature = _check_temperature(temperature)
    x, dtype = as_float64(x, "x")
    return softmax64(x, axis, temperature).astype(dtype)


def _check_temperature(temperature: Any) -> float:
    """The temperature as a float; ValueError unless it is a number, positive and finite."""
    if not is_number(temperature) or temperature <= 0:
        raise ValueError(
            f"temperature is {temperature!r}; it should be positive and finite. For the limit "
            "temperature -> 0 use hardmax; the limit of large temperatures is uniform weights"
        )
    return float(temperature)


@own_errstate()
def log_sum_exp(x: Any, axis: int = -1) -> Float[np.ndarray, "..."]:
    """The natural log of softmax's denominator, without overflow.

        lse = log(sum_i exp(x_i)) = m + log(sum_i exp(x_i - m)),  m = max_i x_i

    Args:
        x: [..., n_k]  scores
        axis: the axis to sum over
    Returns: [...]  lse; −inf for a fully masked or empty row, inf where a score is inf
    Raises:
        ValueError: x does not hold real numbers
    Cost: n_k exponentials per row.
    """
    x, dtype = as_float64(x, "x")
    return log_sum_exp64(x, axis).astype(dtype)


@own_errstate()
def online_max_and_sum(
    blocks: Iterable[Any],
) -> tuple[Float[np.ndarray, "*rows 1"], Float[np.ndarray, "*rows 1"]]:
    """Running maximum and running sum over blocks, each block read once.

        m' = max(m, max_j b_j),   l' = l exp(m - m') + sum_j exp(b_j - m')

    Args:
        blocks: iterable of [..., b]  blocks of scores, one after the other; b may vary
    Returns: m [..., 1], l [..., 1]  with l = sum_i exp(x_i - m) over all scores. If all of them are
        −inf, m = −inf and l = 0.
    Raises:
        ValueError: no block at all, or blocks with different rows
    Cost: one exponential per score and one per block; memory for two numbers per row.
    Source: Milakov & Gimelshein 2018, arXiv:1805.02867, Algorithm 3 (their d is our l).
    """
    m = l = np.zeros(0)
    rows = None
    for index, block in enumerate(blocks):
        b, _ = as_float64(block, f"blocks[{index}]")
        if b.ndim == 0:
            raise ValueError(f"blocks[{index}] is a single number; a block should be [..., b]")
        if rows is None:
            rows = b.shape[:-1]
            m, l = np.full((*rows, 1), -np.inf), np.zeros((*rows, 1))
        if b.shape[:-1] != rows:
            raise ValueError(
                f"blocks[{index}] has rows {list(b.shape[:-1])} but blocks[0] has {list(rows)}: "
                "blocks may differ in their last axis only"
            )
        m_new = np.maximum(m, b.max(axis=-1, keepdims=True, initial=-np.inf))
        m_safe = np.where(m_new == -np.inf, 0, m_new)  # because -inf - (-inf) is NaN
        with np.errstate(invalid="ignore"):
            rescale = np.exp(m - m_safe)
            l = l * rescale + np.exp(b - m_safe).sum(axis=-1, keepdims=True)
        m = m_new
    if rows is None:
        raise ValueError("blocks is empty; it should hold at least one block [..., b]")
    return m, l


@own_errstate()
def online_softmax(blocks: Iterable[Any]) -> Float[np.ndarray, "*rows n_k"]:
    """Softmax of the concatenated blocks; maximum and sum are accumulated block by block.

        p = exp(x - m) / l,  with m and l from `online_max_and_sum`

    Args:
        blocks: iterable of [..., b]  blocks of scores; b may vary
    Returns: [..., sum of b]  weights, equal to softmax(concatenate(blocks))
    Raises:
        ValueError: no block at all, or blocks with different rows
    Cost: reads each score twice; the stable form reads it three times.
    Source: Milakov & Gimelshein 2018, arXiv:1805.02867, Algorithm 3.
    """
    blocks = list(blocks)
    m, l = online_max_and_sum(blocks)
    arrays = [as_float64(block, "blocks") for block in blocks]
    x = np.concatenate([array for array, _ in arrays], axis=-1)
    m_safe = np.where(m == -np.inf, 0, m)
    with np.errstate(invalid="ignore"):
        p = np.exp(x - m_safe) / np.where(l == 0, 1, l)
    return p.astype(np.result_type(*(dtype for _, dtype in arrays)))


@own_errstate()
def softmax_jacobian(p: Any) -> Float[np.ndarray, "*rows n_k n_k"]:
    """The derivative of each weight by each score, at weights p (temperature 1).

        J_ij = dp_i / dx_j = p_i (1[i = j] - p_j),  J = diag(p) - p p^T

    Args:
        p: [..., n_k]  weights
    Returns: [..., n_k, n_k]  the Jacobian; each row and each column sums to 0
    Raises:
        ValueError: p is a single number
    Cost: n_k^2 numbers per row: for looking at, not for training. See `softmax_backward`.
    """
    p, dtype = as_float64(p, "p")
    if p.ndim == 0:
        raise ValueError("p is a single number; it should be [..., n_k]")
    J = p[..., :, None] * (np.eye(p.shape[-1]) - p[..., None, :])
    return J.astype(dtype)


@own_errstate()
def softmax_backward(p: Any, dp: Any) -> Float[np.ndarray, "*rows n_k"]:
    """The gradient by the scores, from the gradient by the weights, without forming the Jacobian.

        ds = p * (dp - sum_j p_j dp_j)

    Args:
        p: [..., n_k]  weights
        dp: [..., n_k]  gradient of the loss by the weights
    Returns: [..., n_k]  ds, the gradient of the loss by the scores (temperature 1)
    Raises:
        ValueError: p and dp have different shapes
    Cost: 4 n_k FLOP per row.
    """
    p, dtype = as_float64(p, "p")
    dp, _ = as_float64(dp, "dp")
    if p.shape != dp.shape:
        raise ValueError(f"dp has shape {list(dp.shape)} but p has shape {list(p.shape)}")
    return softmax_backward64(p, dp).astype(dtype)


@own_errstate()
def entropy_bits(p: Any, axis: int = -1) -> Float[np.ndarray, "..."]:
    """How spread out the weights are, in bits: 0 for one-hot, log2(n_k) for uniform.

        h = -sum_j p_j log2(p_j),  with 0 log2(0) = 0

    Args:
        p: [..., n_k]  weights, each row summing to 1 (or to 0: a fully masked row has 0 bits)
        axis: the axis over which the weights sum to 1
    Returns: [...]  entropy in bits
    Raises:
        ValueError: negative weights, or rows that sum to something else
    Cost: n_k logarithms per row.
    Source: Shannon 1948, A Mathematical Theory of Communication, section 6.
    """
    p, dtype = as_float64(p, "p")
    total = p.sum(axis=axis)
    # 1e-2 allows for float16 weights over thousands of keys; scores miss it by far.
    if (p < 0).any() or ((np.abs(total - 1) > 1e-2) & (total != 0)).any():
        raise ValueError(
            "p should hold weights: none negative, each row summing to 1. These look like "
            "scores; pass softmax(p)"
        )
    h = -(p * np.log2(np.where(p > 0, p, 1))).sum(axis=axis)
    return np.asarray(np.where(np.isnan(total), np.nan, h + 0.0)).astype(dtype)
