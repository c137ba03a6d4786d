"""The check of attention itself: the line, with a mask."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Check, Mistake, Result
from attention_src.exercises.equation.line_cases import CASES, draw

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


def _attention(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
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


def _one_maximum(q: Array, k: Array, v: Array, mask: Array | None) -> Array:
    s = _hidden(_scores(q, k), mask)
    e = np.exp(s - s.max())
    l = e.sum(axis=-1, keepdims=True)
    return np.asarray(e / np.where(l > 0, l, 1) @ v)


def _maximum_of_all(q: Array, k: Array, v: Array, mask: Array | None) -> Array:
    s = _scores(q, k)
    e = np.exp(_hidden(s, mask) - s.max(axis=-1, keepdims=True))
    l = e.sum(axis=-1, keepdims=True)
    return np.asarray(e / np.where(l > 0, l, 1) @ v)


def _minus_1e9(q: Array, k: Array, v: Array, mask: Array | None) -> Array:
    s = _scores(q, k)
    return np.asarray(_softmax(s if mask is None else np.where(mask, s, -1e9)) @ v)


def _all_axes_turned(q: Array, k: Array, v: Array, mask: Array | None) -> Array:
    return np.asarray(_softmax(_hidden(q @ k.T * q.shape[-1] ** -0.5, mask)) @ v)


ATTENTION = Check(
    "attention",
    reference=_attention,
    cases=CASES,
    draw=draw,
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
            "one maximum for the table",
            _one_maximum,
            "You subtracted the largest score of the whole table. In a row far below it every "
            "exponential is 0. Each row has its own maximum: axis=-1, keepdims=True.",
        ),
        Mistake(
            "the maximum of hidden scores",
            _maximum_of_all,
            "You took each row's maximum before the mask. A hidden score far above the visible "
            "ones makes all their exponentials 0. Mask first, then take the maximum.",
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
    return ATTENTION.run(f)
