"""The exercise in which the learner tests a softmax: right and wrong ones to try the test on."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.grading import Implementation, TestCheck
from attention_src.exercises.engine.messages import Result


def _stable(x: Any) -> np.ndarray:
    x = np.asarray(x, dtype=np.float64)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _by_logarithms(x: Any) -> np.ndarray:
    x = np.asarray(x, dtype=np.float64)
    return np.asarray(np.exp(x - np.logaddexp.reduce(x, axis=-1, keepdims=True)))


def _in_float32(x: Any) -> np.ndarray:
    x = np.asarray(x, dtype=np.float64)
    e = np.exp((x - x.max(axis=-1, keepdims=True)).astype(np.float32))
    return np.asarray(e / e.sum(axis=-1, keepdims=True, dtype=np.float32))


def _row_by_row(x: Any) -> np.ndarray:
    x = np.asarray(x, dtype=np.float64)
    rows = [_stable(row) for row in x.reshape(-1, x.shape[-1])]
    return np.reshape(rows, x.shape)


def _shifted_by(maximum: Any, axis: Any = -1) -> Any:
    """A softmax that subtracts maximum(x) and sums over an axis."""

    def softmax(x: Any) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        e = np.exp(x - maximum(x))
        return np.asarray(e / e.sum(axis=axis, keepdims=True))

    return softmax


def _in_place(x: Any) -> np.ndarray:
    if isinstance(x, np.ndarray) and x.dtype.kind == "f":
        x -= x.max(axis=-1, keepdims=True)
    return _stable(x)


def _base_two(x: Any) -> np.ndarray:
    return _stable(np.asarray(x, dtype=np.float64) * np.log(2))


def _unnormalised(x: Any) -> np.ndarray:
    x = np.asarray(x, dtype=np.float64)
    return np.asarray(np.exp(x - x.max(axis=-1, keepdims=True)))


def _row_maximum(x: np.ndarray) -> np.ndarray:
    return np.asarray(x.max(axis=-1, keepdims=True))


SOFTMAX_TEST = TestCheck(
    "softmax_test",
    right=[
        Implementation("maximum subtracted", _stable, "it is the worked solution"),
        Implementation(
            "x minus log-sum-exp",
            _by_logarithms,
            "exp(x - lse) is the same number, but not to the last bit; allow for rounding, as "
            "np.allclose does",
        ),
        Implementation(
            "answers in float32",
            _in_float32,
            "float32 holds seven digits, and a softmax of seven digits is right; compare with "
            "rtol=1e-4 and, for weights near 0, atol=1e-6",
        ),
        Implementation("row by row", _row_by_row, "a loop over the rows is slow, not wrong"),
    ],
    wrong=[
        Implementation("exponentials only", _unnormalised, "its rows do not sum to 1"),
        Implementation(
            "sum over the first axis",
            _shifted_by(_row_maximum, axis=0),
            "it sums over the queries, which a one-dimensional row does not show",
        ),
        Implementation(
            "sum over everything",
            _shifted_by(_row_maximum, axis=None),
            "its weights sum to 1 over all rows together; with a single row that is right",
        ),
        Implementation(
            "powers of 2",
            _base_two,
            "its rows sum to 1, its order is right, and its numbers are not: compare one weight "
            "with a number that you worked out",
        ),
        Implementation(
            "no shift",
            _shifted_by(lambda x: 0.0),
            "it is right for small scores only; how large may scores be?",
        ),
        Implementation(
            "shift by the mean",
            _shifted_by(lambda x: x.mean(axis=-1, keepdims=True)),
            "it survives rows of large scores that lie close together, and no others",
        ),
        Implementation(
            "one maximum for all rows",
            _shifted_by(lambda x: x.max()),
            "it is right for one row of any size, and for rows of similar size",
        ),
        Implementation("writes into x", _in_place, "its weights are right; look at what it leaves"),
    ],
    hints=[
        "Try a matrix of two unequal rows, one near 1000 and one near -1000.",
        "Keep a copy of the input, call, and compare the input with its copy.",
        "Compute the weights of [0, log 2, log 5] by hand: 1/8, 2/8, 5/8.",
    ],
)


def check_softmax_test(test: Any) -> Result:
    """Check test(softmax): it raises AssertionError for wrong softmaxes and accepts right ones.

    Args:
        test: the learner's test, a function of an implementation
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return SOFTMAX_TEST.run(test)
