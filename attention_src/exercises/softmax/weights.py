"""The check of softmax."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.cases import any_scores, any_shape
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result
from attention_src.softmax import reference

RECTANGLE = np.array([[4.0, 1.0, 0.0], [-5.0, -2.0, -3.0]])
DEEP = np.round(np.sin(np.arange(2 * 3 * 5)).reshape(2, 3, 5) * 3, 1)


def _draw(rng: np.random.Generator) -> tuple | Case:
    """Scores of any announced kind: rank, size, dtype, hidden keys, length."""
    dtype = rng.choice(np.array([np.float64] * 5 + [np.float32, np.float16, int], dtype=object))
    shape = any_shape(rng)
    if rng.random() < 0.15:
        shape = (*shape[:1], int(rng.integers(20, 700)))
    if dtype is int:
        return (np.round(any_scores(rng, shape)).astype(int),)
    x = any_scores(rng, shape, dtype)
    if rng.random() < 0.25:  # hide some keys, never all of a row
        x[(rng.random(shape) < 0.4) & (x < x.max(axis=-1, keepdims=True))] = -np.inf
    return (x,)


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


def _in_float32(x: np.ndarray) -> np.ndarray:
    return _over(x.astype(np.float32), -1).astype(np.float64)


SOFTMAX = Check(
    "softmax",
    reference=lambda x: reference.softmax(np.asarray(x, dtype=np.float64)),
    cases=[
        Case("one row", (np.array([2.0, 1.0, 0.0]),)),
        Case("the same scores, in another order", (np.array([2.0, 0.0, 1.0]),)),
        Case("two rows of three", (RECTANGLE,)),
        Case("a batch of matrices", (DEEP,)),
        Case("one key", (np.array([[3.0], [5.0]]),)),
        Case("four axes", (DEEP.reshape(2, 1, 3, 5),)),
        Case("whole numbers", (np.array([3, 1, 2]),)),
        Case("large scores", (np.array([1e4, 9999.0, -1e4]),)),
        Case("very negative scores", (np.array([-1e4, -9999.0]),)),
        Case("rows far apart", (np.array([[1e3, 999.0], [0.0, 1.0], [-1e3, -1e3]]),)),
        Case("one score of −inf", (np.array([1.0, -np.inf, 2.0]),)),
        Case("the lowest score, and −inf", (np.array([-1e4, -np.inf]),)),
        Case("two rows of 1,500", (np.linspace(0, 1, 3000).reshape(2, 1500),)),
        Case("2,000 keys in float32", (np.linspace(0, 1, 2000, dtype=np.float32),)),
        Case("digits that float32 does not hold", (np.array([10000.1, 10000.2, 10000.0]),)),
        Case("float16", (np.array([[12.0, 11.0, 2.0], [300.0, 299.0, 0.0]], dtype=np.float16),)),
        Case("70,000 equal scores in float16", (np.full(70_000, 3.0, dtype=np.float16),)),
        Case("a long row of large scores", (np.linspace(-1e4, 1e4, 30_001),)),
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
        Mistake(
            "log-softmax",
            lambda x: x - reference.log_sum_exp(np.asarray(x, dtype=float))[..., None],
            "These are the logarithms of the weights. Return the weights.",
        ),
        Mistake(
            "base 2",
            lambda x: (
                np.exp2(x - x.max(axis=-1, keepdims=True))
                / np.exp2(x - x.max(axis=-1, keepdims=True)).sum(axis=-1, keepdims=True)
            ),
            "You used powers of 2. Softmax uses powers of e: np.exp.",
        ),
        Mistake(
            "float32 inside",
            _in_float32,
            "Somewhere you compute in float32. Its seven digits cannot tell 10000.1 from 10000.2 "
            "well enough: compute in float64.",
        ),
        Mistake(
            "sum in float16",
            lambda x: _over(x, -1),
            "In float16 the sum overflows: the largest float16 is 65,504, and here 70,000 ones are "
            "added. Convert to float64 first.",
        ),
    ],
    hints=[
        "Three steps: subtract the row's maximum, take np.exp, divide by the row's sum.",
        "x.max(axis=-1, keepdims=True) is one maximum per row, shaped so that x - it works.",
        "e = np.exp(x - x.max(axis=-1, keepdims=True)), and the same axis and keepdims for the "
        "sum; x in float64.",
    ],
    draw=_draw,
    drawn=80,
)


def check_softmax(f: Any) -> Result:
    """Check f(x) -> weights: a stable softmax over the last axis of an array of any rank.

    x has one to four axes, none empty, and holds float64, float32, float16 or whole numbers up to
    ±10^4; some scores, but never a whole row, may be −inf. The answer is judged at x's precision.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return SOFTMAX.run(f)
