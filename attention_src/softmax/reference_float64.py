"""Softmax's arithmetic in float64, unchecked: the references use it inside.

The public functions, which check and convert, are in `softmax.reference`.
"""

import numpy as np
from jaxtyping import Float


def safe_maximum(x: Float[np.ndarray, "..."], axis: int) -> Float[np.ndarray, "..."]:
    """The maximum, or 0 where it is −inf: −inf − (−inf) would be NaN.

    Args:
        x: scores, with at least one axis
        axis: the axis over which the maximum is taken
    Returns: the maximum, with size 1 along axis; 0 where every score is −inf or there is none
    Raises:
        ValueError: x is a single number
    """
    if x.ndim == 0:
        raise ValueError("x is a single number; it should be a row of scores, [..., n_k]")
    m = x.max(axis=axis, keepdims=True, initial=-np.inf)
    return np.where(m == -np.inf, 0, m)


def softmax64(
    x: Float[np.ndarray, "..."], axis: int = -1, temperature: float = 1.0
) -> Float[np.ndarray, "..."]:
    """As `softmax.reference.softmax`.

    Args:
        x: [..., n_k]  scores
        axis: the axis over which the weights sum to 1
        temperature: above 0
    Returns: [..., n_k]  weights
    """
    with np.errstate(invalid="ignore", over="ignore"):  # inf - inf = NaN is a valid result
        e = np.exp((x - safe_maximum(x, axis)) / temperature)
        l = e.sum(axis=axis, keepdims=True)
        return e / np.where(l == 0, 1, l)  # l = 0: a fully masked row


def log_sum_exp64(x: Float[np.ndarray, "..."], axis: int = -1) -> Float[np.ndarray, "..."]:
    """As `softmax.reference.log_sum_exp`.

    Args:
        x: [..., n_k]  scores
        axis: the axis to sum over
    Returns: [...]  lse; −inf for a fully masked or empty row, inf where a score is inf
    """
    m = safe_maximum(x, axis)
    m = np.where(m == np.inf, 0, m)  # because inf - inf is NaN
    with np.errstate(divide="ignore", over="ignore"):  # log(0) = -inf and exp(inf) are valid
        lse = m + np.log(np.exp(x - m).sum(axis=axis, keepdims=True))
    return np.asarray(lse.squeeze(axis=axis))


def softmax_backward64(
    p: Float[np.ndarray, "*rows n_k"], dp: Float[np.ndarray, "*rows n_k"]
) -> Float[np.ndarray, "*rows n_k"]:
    """As `softmax.reference.softmax_backward`.

    Args:
        p, dp: [..., n_k]  weights, and the gradient of the loss by them
    Returns: [..., n_k]  the gradient of the loss by the scores
    """
    return p * (dp - (p * dp).sum(axis=-1, keepdims=True))
