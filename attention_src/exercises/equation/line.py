"""The check of attention itself: the line, with a mask."""

import inspect
from functools import wraps
from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result, passed
from attention_src.exercises.engine.messages import report

Array = np.ndarray


def _scores(q: Array, k: Array, scale: float | None = None) -> Array:
    """Scores in float64, scaled by 1 / sqrt(d_k) unless the scale is given."""
    q, k = np.asarray(q, dtype=np.float64), np.asarray(k, dtype=np.float64)
    return (q @ k.swapaxes(-1, -2)) * (q.shape[-1] ** -0.5 if scale is None else scale)


def _hidden(s: Array, mask: Array | None) -> Array:
    return s if mask is None else np.where(mask, s, -np.inf)


def _softmax(s: Array, axis: Any = -1) -> Array:
    """Softmax; where all scores are -inf, 0."""
    m = s.max(axis=axis, keepdims=True)
    e = np.exp(s - np.where(m > -np.inf, m, 0))
    l = e.sum(axis=axis, keepdims=True)
    return np.asarray(e / np.where(l > 0, l, 1))


def _plain_softmax(s: Array) -> Array:
    """Softmax without a guard: a row of -inf gives NaN."""
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _attention(q: Array, k: Array, v: Array, mask: Array | None) -> Array:
    return np.asarray(_softmax(_hidden(_scores(q, k), mask)) @ v)


def _with_scale(scale: Any) -> Any:
    """Attention with another scale, a function of q, k and v."""
    return lambda q, k, v, mask: _softmax(_hidden(_scores(q, k, scale(q, k, v)), mask)) @ v


def _no_shift(q: Array, k: Array, v: Array, mask: Array | None) -> Array:
    e = np.exp(_hidden(_scores(q, k), mask))
    l = e.sum(axis=-1, keepdims=True)
    return np.asarray(e / np.where(l > 0, l, 1) @ v)


def _after_softmax(q: Array, k: Array, v: Array, mask: Array | None) -> Array:
    p = _softmax(_scores(q, k))
    return np.asarray((p if mask is None else p * mask) @ v)


def _minus_1e9(q: Array, k: Array, v: Array, mask: Array | None) -> Array:
    s = _scores(q, k)
    return np.asarray(_softmax(s if mask is None else np.where(mask, s, -1e9)) @ v)


def _all_axes_turned(q: Array, k: Array, v: Array, mask: Array | None) -> Array:
    return np.asarray(_softmax(_hidden(q @ k.T * q.shape[-1] ** -0.5, mask)) @ v)


def _numbers(seed: int, *shapes: tuple[int, ...], dtype: Any = np.float64) -> tuple[Array, ...]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=shape).astype(dtype) for shape in shapes)


def _draw(rng: np.random.Generator) -> tuple:
    """Queries, keys and values with 0 to 2 axes in front, and in most cases a mask."""
    front = tuple(int(n) for n in rng.integers(1, 4, size=rng.integers(0, 3)))
    n_q, n_k = (int(n) for n in rng.choice([1, 2, 3, 5, 7], 2))
    d_k, d_v = (int(n) for n in rng.choice([1, 2, 3, 4, 6], 2))
    if rng.random() < 0.1:
        n_k = 130
    dtype = np.float32 if rng.random() < 0.2 else np.float64
    size = rng.choice([0.3, 1.0, 3.0, 30.0]) if dtype == np.float64 else 1.0
    q = (size * rng.normal(size=(*front, n_q, d_k))).astype(dtype)
    k = rng.normal(size=(*front, n_k, d_k)).astype(dtype)
    v = rng.normal(size=(*front, n_k, d_v)).astype(dtype)
    if rng.random() < 0.3:
        return q, k, v, None
    shape = [1 if rng.random() < 0.3 else n for n in (*front, n_q, n_k)]
    if rng.random() < 0.5:
        shape = shape[-2:]
    return q, k, v, rng.random(shape) < rng.choice([0.3, 0.7])


_SMALL = (
    np.array([[2.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 4.0]]),
    np.array([[2.0, 1.0, 1.0, 0.0], [0.0, 2.0, 1.0, 0.0], [0.0, 0.0, 0.0, 2.0]]),
    np.array([[3.0], [1.0], [40.0]]),
)
_LARGE = (
    np.array([[300.0, 0.0], [-300.0, 9.0]]),
    np.array([[40.0, 1.0], [-41.0, 3.0]]),
    np.array([[1.0], [5.0]]),
)
_ONE_HIDDEN = np.array([[True, True, False], [True, False, True]])

ATTENTION = Check(
    "attention",
    reference=_attention,
    cases=[
        Case("two guests, three goods, no mask", (*_SMALL, None)),
        Case("d_v wider than d_k", (*_numbers(0, (5, 2), (7, 2), (7, 3)), None)),
        Case("one hidden good each", (*_SMALL, _ONE_HIDDEN)),
        Case(
            "the second guest may look at nothing",
            (*_SMALL, np.array([[True, False, True], [False, False, False]])),
        ),
        Case(
            "large scores",
            (*_LARGE, None),
        ),
        Case(
            "two texts, three heads", (*_numbers(1, (2, 3, 4, 2), (2, 3, 5, 2), (2, 3, 5, 3)), None)
        ),
        Case(
            "as many texts as tokens as numbers",
            (*_numbers(2, (4, 4, 4), (4, 4, 4), (4, 4, 4)), None),
        ),
        Case(
            "two texts, three heads, a mask [2, 1, 1, n_k] for their ends",
            (
                *_numbers(3, (2, 3, 4, 2), (2, 3, 5, 2), (2, 3, 5, 3)),
                np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], dtype=bool)[:, None, None],
            ),
        ),
        Case(
            "one mask [n_q, n_k] for three heads", (*_numbers(4, *[(3, 4, 2)] * 3), np.tri(4) > 0)
        ),
        Case("float32", (*_numbers(5, (3, 4), (2, 4), (2, 5), dtype=np.float32), None)),
        Case("one query, one key", (*_numbers(6, (1, 3), (1, 3), (1, 2)), np.array([[True]]))),
    ],
    draw=_draw,
    mistakes=[
        Mistake(
            "wrong axis",
            lambda q, k, v, mask: _softmax(_hidden(_scores(q, k), mask), axis=-2) @ v,
            "You normalised over the queries: each column of weights sums to 1. Each query has its "
            "own budget: reduce over the last axis.",
        ),
        Mistake(
            "one softmax for the whole table",
            lambda q, k, v, mask: _softmax(_hidden(_scores(q, k), mask), axis=(-2, -1)) @ v,
            "All queries of a table share one sum. Each row has its own: axis=-1, keepdims=True.",
        ),
        Mistake(
            "not scaled",
            _with_scale(lambda q, k, v: 1.0),
            "The scores are not divided by the square root of d_k.",
        ),
        Mistake(
            "scaled twice",
            _with_scale(lambda q, k, v: 1 / q.shape[-1]),
            "You divided by d_k, or twice by its root; once by the root is right.",
        ),
        Mistake(
            "scaled by the values' width",
            _with_scale(lambda q, k, v: v.shape[-1] ** -0.5),
            "You took the root of d_v. The scores are sums over d_k, the width of q and k.",
        ),
        Mistake(
            "scaled by the number of keys",
            _with_scale(lambda q, k, v: k.shape[-2] ** -0.5),
            "You took the root of n_k, an axis of positions. The width is the last axis.",
        ),
        Mistake(
            "mask not used",
            lambda q, k, v, mask: _attention(q, k, v, None),
            "This is attention without its mask. Where the mask is False the score is -inf.",
        ),
        Mistake(
            "reversed polarity",
            lambda q, k, v, mask: _attention(q, k, v, None if mask is None else ~mask),
            "You hid the keys that the mask allows. True means: may look.",
        ),
        Mistake(
            "zeroed after softmax",
            _after_softmax,
            "Hidden keys still count in the sum of the softmax, so the visible weights no longer "
            "sum to 1. Set scores to -inf before it.",
        ),
        Mistake(
            "nan where nothing is visible",
            lambda q, k, v, mask: _plain_softmax(_hidden(_scores(q, k), mask)) @ v,
            "A row with nothing to see computes -inf - (-inf). Its output should be 0.",
        ),
        Mistake(
            "a mean where nothing is visible",
            _minus_1e9,
            "With -1e9 for every key, all scores of a row are the same, and the hidden keys share "
            "the weight. With -inf, and a guard, the output is 0.",
        ),
        Mistake(
            "no maximum subtracted",
            _no_shift,
            "exp of a large score overflows. Subtract the largest score of each row first.",
        ),
        Mistake(
            "all axes turned",
            _all_axes_turned,
            "k.T turns all axes; a batch needs k.swapaxes(-1, -2).",
        ),
    ],
    hints=[
        "Write the shape beside each line: s [..., n_q, n_k], p the same, o [..., n_q, d_v].",
        "s = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5, then np.where(mask, s, -np.inf).",
        "Where a row's maximum is -inf, subtract 0 instead; where its sum is 0, divide by 1.",
    ],
)


def check_attention(f: Any) -> Result:
    """Check f(q [..., n_q, d_k], k [..., n_k, d_k], v [..., n_k, d_v], mask=None) -> o.

    Args:
        f: the learner's function; where there is no mask it is called with three arguments
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    if not callable(f):
        return ATTENTION.run(f)

    @wraps(f)
    def called(q: Array, k: Array, v: Array, mask: Array | None) -> Any:
        return f(q, k, v) if mask is None else f(q, k, v, mask)

    result = ATTENTION.run(called)
    if result and "mask" not in inspect.signature(f).parameters:
        return report("wrong", ["attention: wrong. Its fourth argument should be called mask."])
    if result:
        passed[f] = ATTENTION.name
    return result
