"""Alternatives to softmax: sigmoid, hardmax, sparsemax, entmax-1.5. NumPy, in float64.

Import them from `attention_src.softmax.reference`, like softmax itself.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.errstate import own_errstate
from attention_src.shapes import as_float64
from attention_src.softmax.reference_float64 import safe_maximum


@own_errstate()
def sigmoid_weights(x: Any) -> Float[np.ndarray, "..."]:
    """Weigh each key on its own: the weights need not sum to 1.

        p_j = 1 / (1 + exp(-x_j))

    Args:
        x: [..., n_k]  scores
    Returns: [..., n_k]  weights between 0 and 1
    Raises:
        ValueError: x does not hold real numbers
    Cost: n_k exponentials per row; no maximum and no sum.
    Source: Ramapuram et al. 2024, arXiv:2409.04431.
    """
    x, dtype = as_float64(x, "x")
    e = np.exp(-np.abs(x))  # at most 1, whatever the sign of x
    return (np.where(x >= 0, 1, e) / (1 + e)).astype(dtype)


@own_errstate()
def hardmax(x: Any, axis: int = -1) -> Float[np.ndarray, "..."]:
    """All the weight on the largest score: the limit of softmax as the temperature goes to 0.

        p_j = 1 / (number of maxima) where x_j = max_i x_i, else 0

    Args:
        x: [..., n_k]  scores
        axis: the axis over which the weights sum to 1
    Returns: [..., n_k]  weights; several maxima share equally, as in the limit
    Raises:
        ValueError: x does not hold real numbers
    Cost: two passes over x.
    """
    x, dtype = as_float64(x, "x")
    best = x == safe_maximum(x, axis)
    with np.errstate(invalid="ignore"):
        p = best / np.maximum(best.sum(axis=axis, keepdims=True), 1)
    return np.where(np.isnan(x).any(axis=axis, keepdims=True), np.nan, p).astype(dtype)


@own_errstate()
def sparsemax(x: Any, axis: int = -1) -> Float[np.ndarray, "..."]:
    """The point of the probability simplex nearest to x; it can have exact zeros.

        p_j = max(x_j - theta, 0), with theta such that the sum is 1

    Args:
        x: [..., n_k]  scores
        axis: the axis over which the weights sum to 1
    Returns: [..., n_k]  weights
    Raises:
        ValueError: x does not hold real numbers
    Cost: one sort, O(n_k log n_k) per row.
    Source: Martins & Astudillo 2016, arXiv:1602.02068, Algorithm 1 (their z is our x,
        their tau our theta).
    """
    z, fully_masked, dtype = _prepare(x, axis, divide_by=1)
    ordered = -np.sort(-z, axis=-1)
    count = np.arange(1, z.shape[-1] + 1)
    # The threshold if the support were the `count` largest scores.
    theta = (np.cumsum(ordered, axis=-1) - 1) / count
    p = np.maximum(z - _last_below(theta, ordered), 0)
    return _finish(p, fully_masked, axis, dtype)


@own_errstate()
def entmax15(x: Any, axis: int = -1) -> Float[np.ndarray, "..."]:
    """Halfway between softmax and sparsemax: exact zeros, and a smooth edge.

        p_j = max(x_j / 2 - theta, 0)^2, with theta such that the sum is 1

    Args:
        x: [..., n_k]  scores
        axis: the axis over which the weights sum to 1
    Returns: [..., n_k]  weights
    Raises:
        ValueError: x does not hold real numbers
    Cost: one sort, O(n_k log n_k) per row.
    Source: Peters, Niculae & Martins 2019, arXiv:1905.05702, Algorithm 2.
    """
    z, fully_masked, dtype = _prepare(x, axis, divide_by=2)
    ordered = -np.sort(-z, axis=-1)
    count = np.arange(1, z.shape[-1] + 1)
    mean = np.cumsum(ordered, axis=-1) / count
    # sum (z - theta)^2 = 1 over the `count` largest is quadratic in theta; take the lower root.
    spread = np.cumsum(ordered**2, axis=-1) - count * mean**2
    theta = mean - np.sqrt(np.maximum(1 - spread, 0) / count)
    p = np.maximum(z - _last_below(theta, ordered), 0) ** 2
    return _finish(p, fully_masked, axis, dtype)


def _prepare(
    x: Any, axis: int, divide_by: int
) -> tuple[Float[np.ndarray, "*rows n_k"], np.ndarray, np.dtype]:
    """Scores with maximum 0 and `axis` last, which rows are fully masked, and x's dtype."""
    x, dtype = as_float64(x, "x")
    m_safe = safe_maximum(x, axis)
    fully_masked = np.moveaxis((x == -np.inf).all(axis=axis, keepdims=True), axis, -1)
    with np.errstate(invalid="ignore"):
        z = np.where(x == m_safe, 0, x - m_safe)  # because inf - inf is NaN
        z = np.moveaxis(z, axis, -1) / divide_by
    # The threshold is at most 1 below the maximum, so every score below -2 has weight 0. Clipping
    # there keeps -inf and huge scores out of the sums.
    return np.maximum(z, -2), fully_masked, dtype


def _last_below(
    theta: Float[np.ndarray, "*rows n_k"], ordered: Float[np.ndarray, "*rows n_k"]
) -> Float[np.ndarray, "*rows b"]:
    """The threshold of the largest support whose smallest score is still above it."""
    if theta.shape[-1] == 0:
        return theta
    size = (theta < ordered).sum(axis=-1, keepdims=True)
    return np.take_along_axis(theta, np.maximum(size, 1) - 1, axis=-1)


def _finish(p: np.ndarray, fully_masked: np.ndarray, axis: int, dtype: np.dtype) -> np.ndarray:
    """Zero the fully masked rows, move the axis back to its place, convert to dtype."""
    return np.moveaxis(np.where(fully_masked, 0, p), -1, axis).astype(dtype)
