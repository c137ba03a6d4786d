"""The checks of softmax and of its gradient."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result
from attention_src.softmax import reference

SQUARE = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [-1.0, -2.0, 1.0]])
RECTANGLE = np.array([[4.0, 1.0, 0.0], [-5.0, -2.0, -3.0]])
DEEP = np.round(np.sin(np.arange(2 * 3 * 5)).reshape(2, 3, 5) * 3, 1)


def _exp(x: np.ndarray, axis: int | None = -1) -> np.ndarray:
    """exp(x − maximum over an axis); None = the maximum of everything."""
    return np.exp(x - x.max(axis=axis, keepdims=True))


def _over(x: np.ndarray, axis: int | None) -> np.ndarray:
    """Softmax over an axis; None = over everything."""
    e = _exp(x, axis)
    return e / e.sum(axis=axis, keepdims=True)


def _one_maximum(x: np.ndarray) -> np.ndarray:
    e = _exp(x, None)
    return e / e.sum(axis=-1, keepdims=True)


SOFTMAX = Check(
    "softmax",
    reference=lambda x: reference.softmax(x),
    cases=[
        Case("one row", (np.array([2.0, 1.0, 0.0]),)),
        Case("equal scores", (np.array([3.0, 3.0, 3.0, 3.0]),)),
        Case("three rows of three", (SQUARE,)),
        Case("two rows of three", (RECTANGLE,)),
        Case("a batch of matrices", (DEEP,)),
        Case("whole numbers", (np.array([3, 1, 2]),)),
        Case("large scores", (np.array([1e4, 9999.0, -1e4]),)),
        Case("very negative scores", (np.array([-1e4, -9999.0]),)),
        Case("rows far apart", (np.array([[1e3, 999.0], [0.0, 1.0], [-1e3, -1e3]]),)),
        Case("one score of −inf", (np.array([1.0, -np.inf, 2.0]),)),
    ],
    mistakes=[
        Mistake(
            "no max-shift",
            lambda x: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True),
            "np.exp overflows to inf, or every exponential underflows to 0. Subtract each row's "
            "maximum before np.exp: the weights stay the same.",
        ),
        Mistake(
            "one maximum for the whole array",
            _one_maximum,
            "You subtract one maximum from all rows; a row far below it underflows to 0/0. Each "
            "row needs its own maximum.",
        ),
        Mistake(
            "wrong axis",
            lambda x: _over(x, 0),
            "Your columns sum to 1 instead of your rows: you work along axis 0. The keys are on "
            "the last axis, -1.",
        ),
        Mistake(
            "axis 1 instead of the last",
            lambda x: _over(x, 1),
            "axis=1 is the last axis of a matrix only. The input may have any number of axes: use "
            "axis=-1.",
        ),
        Mistake(
            "sum over the whole array",
            lambda x: _over(x, None),
            "All rows together sum to 1. Each row should: sum over the last axis.",
        ),
        Mistake(
            "own maximum, one sum",
            lambda x: _exp(x) / _exp(x).sum(),
            "You divide all rows by one sum. Each row needs its own sum: sum over the last axis.",
        ),
        Mistake(
            "no normalisation",
            _exp,
            "The exponentials are right, but they don't sum to 1. Divide them by their sum.",
        ),
        Mistake(
            "no exponential",
            lambda x: x / x.sum(axis=-1, keepdims=True),
            "You divided the scores themselves by their sum. Take np.exp of them first.",
        ),
        Mistake(
            "no keepdims",
            lambda x: _exp(x) / _exp(x).sum(axis=-1),
            "The sum lost its axis, so NumPy lines the sums up with columns. Use keepdims=True.",
        ),
        Mistake(
            "log-softmax",
            lambda x: np.log(_over(x, -1)),
            "These are the logarithms of the weights. Return the weights.",
        ),
    ],
    hints=[
        "Three steps: subtract the row's maximum, take np.exp, divide by the row's sum.",
        "A row is the last axis: give axis=-1 to max and to sum.",
        "With keepdims=True the maximum has shape [..., 1] and lines up with x again.",
    ],
)


def check_softmax(f: Any) -> Result:
    """Check f(x) -> weights: a stable softmax over the last axis of an array of any rank.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return SOFTMAX.run(f)


def _backward_over(axis: int | None) -> Any:
    return lambda p, dp: p * (dp - (p * dp).sum(axis=axis, keepdims=True))


def _full_jacobian(p: np.ndarray, dp: np.ndarray) -> np.ndarray:
    return (reference.softmax_jacobian(p) @ dp[..., None])[..., 0]


_LONG = np.linspace(-2.0, 2.0, 500)

SOFTMAX_BACKWARD = Check(
    "softmax_backward",
    reference=lambda p, dp: reference.softmax_backward(p, dp),
    cases=[
        Case("one row", (np.array([0.5, 0.25, 0.25]), np.array([1.0, 0.0, 4.0]))),
        Case("three rows of three", (reference.softmax(SQUARE), SQUARE.T.copy())),
        Case("two rows of three", (reference.softmax(RECTANGLE), RECTANGLE + 1)),
        Case("a batch of matrices", (reference.softmax(DEEP), DEEP[::-1].copy())),
        Case("the same dp everywhere", (np.array([0.7, 0.2, 0.1]), np.array([5.0, 5.0, 5.0]))),
        Case("a hidden row", (np.zeros((1, 3)), np.array([[1.0, 2.0, 3.0]]))),
        Case("500 keys", (reference.softmax(_LONG), _LONG), max_bytes=200_000),
    ],
    mistakes=[
        Mistake(
            "elementwise product only",
            lambda p, dp: p * dp,
            "You multiplied elementwise, p * dp, as if each weight depended on its own score only. "
            "Each score moves all weights: subtract the mean of dp first.",
        ),
        Mistake(
            "diagonal of the Jacobian only",
            lambda p, dp: p * (1 - p) * dp,
            "You used p (1 − p), the diagonal of the Jacobian; that is sigmoid's gradient. Softmax "
            "also has −p_i p_j off the diagonal.",
        ),
        Mistake(
            "sign",
            lambda p, dp: p * ((p * dp).sum(axis=-1, keepdims=True) - dp),
            "The sign is turned round: it is dp minus its mean, not the mean minus dp.",
        ),
        Mistake(
            "plus instead of minus",
            lambda p, dp: p * (dp + (p * dp).sum(axis=-1, keepdims=True)),
            "You added the mean of dp. The sign in front of it is a minus.",
        ),
        Mistake(
            "plain sum of dp",
            lambda p, dp: p * (dp - dp.sum(axis=-1, keepdims=True)),
            "You subtracted the plain sum of dp. Each dp_j counts with its weight: sum p * dp.",
        ),
        Mistake(
            "plain mean of dp",
            lambda p, dp: p * (dp - dp.mean(axis=-1, keepdims=True)),
            "You subtracted the plain mean of dp. The mean is weighted by p: sum p * dp.",
        ),
        Mistake(
            "p in front is missing",
            lambda p, dp: dp - (p * dp).sum(axis=-1, keepdims=True),
            "dp minus its weighted mean is right; multiply it by p.",
        ),
        Mistake(
            "weights taken for scores",
            lambda p, dp: reference.softmax_backward(reference.softmax(p), dp),
            "p holds the weights already: don't apply softmax to it again.",
        ),
        Mistake(
            "wrong axis",
            _backward_over(0),
            "You summed along axis 0, over the queries. The keys are on the last axis, -1.",
        ),
        Mistake(
            "sum over the whole array",
            _backward_over(None),
            "You took one sum for the whole array. Each row has its own: sum over the last axis.",
        ),
        Mistake(
            "no keepdims",
            lambda p, dp: p * (dp - (p * dp).sum(axis=-1)),
            "The sum lost its axis, so NumPy lines the sums up with columns. Use keepdims=True.",
        ),
        Mistake(
            "full Jacobian",
            _full_jacobian,
            "The gradient is right, but you formed the n × n Jacobian. One sum a row is enough.",
        ),
    ],
    hints=[
        "Write out ds_i = sum_j J_ij dp_j with J_ij = p_i (1[i = j] − p_j), and split the sum.",
        "p_i is common to both parts: ds_i = p_i (dp_i − ...). What is left is one number a row.",
        "That number is the weighted mean of dp: (p * dp).sum(axis=-1, keepdims=True).",
    ],
)


def check_softmax_backward(f: Any) -> Result:
    """Check f(p, dp) -> ds: softmax's gradient over the last axis, without the Jacobian.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return SOFTMAX_BACKWARD.run(f)
