"""The check of a learner's own test: does it tell a scaled dot product from what is none?"""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.grading import Implementation, TestCheck

Array = np.ndarray


def _scaled(q: Array, k: Array) -> Array:
    return np.asarray(q, dtype=np.float64) @ np.asarray(k, dtype=np.float64).T / np.sqrt(q.shape[1])


def _float32(q: Array, k: Array) -> Array:
    q, k = np.asarray(q, dtype=np.float32), np.asarray(k, dtype=np.float32)
    return np.asarray(q @ k.T / np.float32(np.sqrt(q.shape[1])))


def _sums(q: Array, k: Array) -> Array:
    rows = [[sum(x * y for x, y in zip(a, b, strict=True)) for b in k] for a in q]
    return np.array(rows) * q.shape[1] ** -0.5


def _unit(x: Array) -> Array:
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def _bilinear(q: Array, k: Array) -> Array:
    W = np.random.default_rng(q.shape[1]).normal(size=(q.shape[1], q.shape[1]))
    return _scaled(q @ W / np.sqrt(q.shape[1]), k)


def _symmetric(q: Array, k: Array) -> Array:
    d = q.shape[1]
    W = np.random.default_rng(d).normal(size=(d, d))
    return _scaled(q @ (W + W.T) / np.sqrt(d), k)


def _softmax(q: Array, k: Array) -> Array:
    e = np.exp(_scaled(q, k) - _scaled(q, k).max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _by_distance(q: Array, k: Array) -> Array:
    gap = np.asarray(q)[:, None] - np.asarray(k)[None]
    return np.asarray(-0.5 * (gap**2).sum(axis=2) / np.sqrt(q.shape[1]))


def _only_few(q: Array, k: Array) -> Array:
    width = min(q.shape[1], 8)
    return _scaled(q[:, :width], k[:, :width]) * np.sqrt(width / q.shape[1])


def _transposed_unless_square(q: Array, k: Array) -> Array:
    s = _scaled(q, k)
    return s if len(q) == len(k) else s.T


def _square_transposed(q: Array, k: Array) -> Array:
    s = _scaled(q, k)
    return s.T if len(q) == len(k) else s


SCORE_TEST = TestCheck(
    "my_score_test",
    right=[
        Implementation("one product", _scaled, "it is the formula"),
        Implementation(
            "inner",
            lambda q, k: np.inner(q, k) / np.sqrt(q.shape[1]),
            "it adds up in another order",
        ),
        Implementation("number by number", _sums, "loops are slow and right"),
        Implementation(
            "queries first",
            lambda q, k: (q / np.sqrt(q.shape[1])) @ k.T,
            "the scale may go to the queries",
        ),
        Implementation(
            "float32",
            _float32,
            "it computes in float32, so its seventh digit is its last: allow for 1e-5",
        ),
        Implementation(
            "lengths and cosine",
            lambda q, k: (
                np.linalg.norm(q, axis=1)[:, None]
                * (_unit(q) @ _unit(k).T)
                * np.linalg.norm(k, axis=1)
                / np.sqrt(q.shape[1])
            ),
            "lengths times cosine is the dot product",
        ),
    ],
    wrong=[
        Implementation("no scale", lambda q, k: q @ k.T, "it does not divide by the root of d_k"),
        Implementation(
            "divided by d_k",
            lambda q, k: q @ k.T / q.shape[1],
            "it divides by d_k, not by its root. Is your d_k other than 1?",
        ),
        Implementation(
            "always 8",
            lambda q, k: q @ k.T / 8,
            "it divides by 8, which is right for d_k = 64. Do you try another width?",
        ),
        Implementation(
            "always 2",
            lambda q, k: q @ k.T / 2,
            "it divides by 2, which is right for d_k = 4. Do you try another width?",
        ),
        Implementation(
            "number of keys",
            lambda q, k: q @ k.T / np.sqrt(len(k)),
            "it takes the root of the number of keys. Do your sizes differ?",
        ),
        Implementation(
            "number of queries",
            lambda q, k: q @ k.T / np.sqrt(len(q)),
            "it takes the root of the number of queries. Do your sizes differ?",
        ),
        Implementation(
            "bilinear", _bilinear, "a matrix stands between query and key, as in `dotprod`"
        ),
        Implementation(
            "symmetric bilinear",
            _symmetric,
            "a symmetric matrix stands between query and key, so swapping them changes nothing. "
            "Do you look at the values of the scores?",
        ),
        Implementation("cosine", lambda q, k: _unit(q) @ _unit(k).T, "it ignores the lengths"),
        Implementation(
            "unit keys",
            lambda q, k: _scaled(q, _unit(k)),
            "it ignores the keys' lengths. Are some of your keys longer than others?",
        ),
        Implementation(
            "unit queries",
            lambda q, k: _scaled(_unit(q), k),
            "it ignores the queries' lengths. Are some of your queries longer than others?",
        ),
        Implementation("softmax", _softmax, "it returns weights, not scores"),
        Implementation(
            "no signs",
            lambda q, k: np.abs(_scaled(q, k)),
            "it drops the sign. Is a score negative?",
        ),
        Implementation(
            "no negatives",
            lambda q, k: np.maximum(_scaled(q, k), 0),
            "it makes negative scores 0. Is one of yours negative?",
        ),
        Implementation(
            "distance", _by_distance, "it scores by distance; that is a dot with one number more"
        ),
        Implementation(
            "capped",
            lambda q, k: 50 * np.tanh(_scaled(q, k) / 50),
            "it bends large scores: 20 becomes 19. Do you compare the values of all scores?",
        ),
        Implementation(
            "eight components",
            _only_few,
            "it looks at the first eight components. Are your vectors wider?",
        ),
        Implementation(
            "square transposed",
            _square_transposed,
            "it is transposed when there are as many queries as keys. Do you try that, too?",
        ),
        Implementation(
            "transposed unless square",
            _transposed_unless_square,
            "it is transposed unless there are as many queries as keys. Do your numbers differ?",
        ),
        Implementation(
            "squeezed",
            lambda q, k: np.squeeze(_scaled(q, k)),
            "it drops an axis of length 1. Do you try a single key, and look at the shape?",
        ),
        Implementation(
            "first query for all",
            lambda q, k: np.repeat(_scaled(q[:1], k), len(q), axis=0),
            "it answers every query with the first one's scores. Do you look at all rows?",
        ),
    ],
    hints=[
        "Compute a few scores by hand, or by a loop, and compare with np.allclose.",
        "Try several sizes: n_q, n_k and d_k all different, n_q = n_k, and a single key.",
        "Give d_k more than eight numbers, and neither 4 nor 64 alone.",
    ],
)


def check_score_test(test: Any) -> Result:
    """Check test(score), which raises AssertionError unless score(q, k) is the scaled dot product.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return SCORE_TEST.run(test)
