"""The check of softmax's gradient."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.cases import any_scores, any_shape, any_weights
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result
from attention_src.softmax import reference


def _draw(rng: np.random.Generator) -> tuple | Case:
    """Weights and gradients of one shape; sometimes a hidden query, a row of zeros."""
    shape = any_shape(rng)
    p = any_weights(rng, shape)
    if len(shape) > 1 and rng.random() < 0.2:
        p[rng.random(shape[:-1]) < 0.4] = 0.0
    return p, any_scores(rng, shape)


def _backward_over(axis: int | None) -> Any:
    return lambda p, dp: p * (dp - (p * dp).sum(axis=axis, keepdims=True))


def _full_jacobian(p: np.ndarray, dp: np.ndarray) -> np.ndarray:
    return (reference.softmax_jacobian(p) @ dp[..., None])[..., 0]


SQUARE = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [-1.0, -2.0, 1.0]])
RECTANGLE = np.array([[4.0, 1.0, 0.0], [-5.0, -2.0, -3.0]])
DEEP = np.round(np.sin(np.arange(2 * 3 * 5)).reshape(2, 3, 5) * 3, 1)
FOUR = np.round(np.cos(np.arange(2 * 3 * 2 * 4)).reshape(2, 3, 2, 4) * 3, 1)
_LONG = np.linspace(-2.0, 2.0, 2000)
_ROWS = reference.softmax(np.sin(np.arange(900.0)).reshape(3, 300))

SOFTMAX_BACKWARD = Check(
    "softmax_backward",
    reference=lambda p, dp: reference.softmax_backward(p, dp),
    cases=[
        Case("one row", (np.array([0.5, 0.25, 0.25]), np.array([1.0, 0.0, 4.0]))),
        Case("two rows of three", (reference.softmax(RECTANGLE), RECTANGLE + 1)),
        Case("three rows of three", (reference.softmax(SQUARE), SQUARE.T.copy())),
        Case("a batch of matrices", (reference.softmax(DEEP), DEEP[::-1].copy())),
        Case("one key", (np.ones((2, 1)), np.array([[3.0], [-4.0]]))),
        Case("four axes", (reference.softmax(FOUR), FOUR[::-1] ** 2)),
        Case("the same dp everywhere", (np.array([0.7, 0.2, 0.1]), np.array([5.0, 5.0, 5.0]))),
        Case("a hidden row", (np.zeros((1, 3)), np.array([[1.0, 2.0, 3.0]]))),
        Case("rows of 300", (_ROWS, _ROWS[::-1] * 1e4)),
        Case("2,000 keys", (reference.softmax(_LONG), _LONG[::-1].copy()), max_bytes=1_000_000),
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
    draw=_draw,
)


def check_softmax_backward(f: Any) -> Result:
    """Check f(p, dp) -> ds: softmax's gradient over the last axis, without the Jacobian.

    p and dp are float64, of one shape with one to four axes, none empty. Each row of p sums to 1
    and may hold zeros; a row of zeros alone, a query that may see nothing, gets the gradient 0. dp
    is anything up to ±10^4. One case has 2,000 keys, and the function may hold 1 MB there.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return SOFTMAX_BACKWARD.run(f)
