"""The check of the masked softmax."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.cases import any_scores, any_shape
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result


def _stable_softmax(s: np.ndarray) -> np.ndarray:
    """Softmax over the last axis, without a guard: a row of −inf gives NaN."""
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _masked_softmax(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Softmax over the last axis; hidden keys get 0, and so does a fully masked row."""
    s = np.where(mask, np.asarray(scores, dtype=np.float64), -np.inf)
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(np.isfinite(m), m, 0))
    l = e.sum(axis=-1, keepdims=True)
    return np.divide(e, l, out=np.zeros_like(e), where=l > 0)


def _hidden_set_the_maximum(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return _shares(np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask)


def _shares(e: np.ndarray) -> np.ndarray:
    """Each row divided by its sum; a row of 0 stays."""
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l > 0, l, 1)


def _in_place(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    scores[~np.broadcast_to(mask, scores.shape)] = -np.inf
    return _masked_softmax(scores, mask)


def _over_queries(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    visible = np.broadcast_to(mask, scores.shape)
    return _masked_softmax(scores.swapaxes(-1, -2), visible.swapaxes(-1, -2)).swapaxes(-1, -2)


def _no_shift(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return _shares(np.where(mask, np.exp(scores), 0))


_SCORES = np.random.default_rng(1).normal(0, 2, (2, 3, 2, 3))


def _draw(rng: np.random.Generator) -> tuple:
    """Scores with 2 to 4 axes, some of them -inf, and a mask that broadcasts to them."""
    shape = any_shape(rng, fewest=2, most=4)
    if rng.random() < 0.1:
        shape = (*shape[:-1], 130)
    scores = any_scores(rng, shape, np.float32 if rng.random() < 0.2 else np.float64)
    if rng.random() < 0.3:
        scores[rng.random(shape) < 0.3] = -np.inf
    mask_shape = list(shape)
    for axis in range(len(shape)):
        if rng.random() < 0.3:
            mask_shape[axis] = 1
    if rng.random() < 0.5:
        mask_shape = mask_shape[int(rng.integers(len(shape))) :]
    return scores, rng.random(mask_shape) < rng.choice([0.3, 0.7])


MASKED_SOFTMAX = Check(
    "masked_softmax",
    reference=_masked_softmax,
    cases=[
        Case("one hidden key", (np.array([[2.0, 1.0, 3.0]]), np.array([[True, True, False]]))),
        Case("nothing hidden", (np.array([[2.0, 1.0, 3.0]]), np.array([[True, True, True]]))),
        Case(
            "two queries, and the second may see nothing",
            (
                np.array([[2.0, 1.0, 3.0], [2.0, 0.0, 1.0]]),
                np.array([[True, False, True], [False, False, False]]),
            ),
        ),
        Case(
            "small weights count",
            (np.array([[0.0, -8.0, 5.0, -15.0]]), np.array([[True, True, False, True]])),
        ),
        Case(
            "large scores",
            (np.array([[1e4, 9999.0, -1e4]]), np.array([[True, True, False]])),
        ),
        Case(
            "large scores, the largest hidden",
            (
                np.array([[1e4, -1e4, 9999.0, -9999.0]]),
                np.array([[False, True, False, True]]),
            ),
        ),
        Case(
            "rows far apart",
            (
                np.array([[1e4, 9998.0, 0.0], [-9999.0, -1e4, 7.0]]),
                np.array([[True, True, False], [True, True, False]]),
            ),
        ),
        Case(
            "visible scores of -inf, in the second row no others",
            (
                np.array([[1.0, -np.inf, 2.0, 0.0], [-np.inf, 5.0, 3.0, -np.inf]]),
                np.array([[True, True, False, True], [True, False, False, True]]),
            ),
        ),
        Case(
            "one mask [n_k] for two queries",
            (np.array([[0.5, 2.0, -1.0], [1.5, 0.0, 3.0]]), np.array([False, True, True])),
        ),
        Case(
            "a mask of one row for two queries, in a batch of two",
            (
                np.array([[[0.5, 2.0, -1.0], [1.5, 0.0, 3.0]], [[2.5, 1.0, 0.0], [0.0, 4.0, 1.0]]]),
                np.array([[[True, True, False]], [[False, True, True]]]),
            ),
        ),
        Case(
            "two sentences, three heads, padding [B, 1, 1, n_k]",
            (_SCORES, np.array([True, True, True, True, True, False]).reshape(2, 1, 1, 3)),
        ),
        Case(
            "six axes",
            (_SCORES[:, None, :, None], np.array([[True, False, True], [True, True, False]])),
        ),
        Case(
            "one query, one key",
            (np.array([[[[3.0]]]]), np.array([[[[True]]]])),
        ),
    ],
    draw=_draw,
    mistakes=[
        Mistake(
            "reversed polarity",
            lambda s, m: _masked_softmax(s, ~m),
            "You hid the keys that the mask allows. Here True means: may attend.",
        ),
        Mistake(
            "reversed polarity",
            lambda s, m: _stable_softmax(s + m * -1e9),
            "You hid the keys that the mask allows: True means may attend, and you add to it.",
        ),
        Mistake(
            "mask not used",
            lambda s, m: _stable_softmax(s),
            "This is the plain softmax: nothing was hidden.",
        ),
        Mistake(
            "zeroed after softmax",
            lambda s, m: _stable_softmax(s) * m,
            "You set hidden weights to 0 after the softmax: the rest no longer sums to 1, and "
            "hidden scores still count in the denominator. Hide before you normalise.",
        ),
        Mistake(
            "score set to 0",
            lambda s, m: _stable_softmax(s * m),
            "You multiplied the scores by the mask. A hidden key then has score 0, and "
            "exp(0) = 1 is not nothing. Its score must become -inf.",
        ),
        Mistake(
            "wrong axis",
            _over_queries,
            "You normalised over the queries: each column sums to 1. Each query has its own "
            "budget, so each row should. Reduce over the last axis.",
        ),
        Mistake(
            "nan in a fully masked row",
            lambda s, m: _stable_softmax(np.where(m, s, -np.inf)),
            "A row with nothing to see computes -inf - (-inf), or 0 / 0. It should give 0.",
        ),
        Mistake(
            "uniform fully masked row",
            lambda s, m: _stable_softmax(np.where(m, s, -1e9)),
            "A query that may see nothing attends to every hidden key equally, because all its "
            "scores became the same finite number. Its weights should be 0.",
        ),
        Mistake(
            "uniform fully masked row",
            lambda s, m: np.nan_to_num(_stable_softmax(np.where(m, s, -1e9))),
            "In a row where every key is hidden, all scores became the same finite number, so no "
            "NaN arises that nan_to_num could mend: the hidden keys share the weight. Use -inf.",
        ),
        Mistake(
            "-1e9 added",
            lambda s, m: _stable_softmax(s + np.where(m, 0, -1e9)),
            "You added a large finite number. In a row where every key is hidden the number is "
            "the same for all, softmax ignores it, and the hidden keys are back.",
        ),
        Mistake(
            "maximum of hidden scores",
            _hidden_set_the_maximum,
            "You subtracted a maximum that belongs to a hidden key. The visible exponentials "
            "all became 0. Take the maximum over what is visible.",
        ),
        Mistake(
            "zeroed after softmax, then divided",
            lambda s, m: _shares(np.nan_to_num(_stable_softmax(s)) * m),
            "You set hidden weights to 0 after the softmax and divided by what is left. That is "
            "right on paper; beside a much larger hidden score the visible weights round to 0. "
            "Hide before you normalise.",
        ),
        Mistake(
            "no maximum subtracted",
            _no_shift,
            "exp of a large score overflows, exp of a low one vanishes. Subtract the largest "
            "visible score of each row first.",
        ),
        Mistake(
            "in-place change",
            _in_place,
            "Your function writes -inf into the caller's scores. Use np.where, which makes a "
            "new array.",
        ),
    ],
    hints=[
        "Which scores may enter the maximum, the sum and the division?",
        "np.where(mask, scores, -np.inf) hides keys, leaves scores alone, and broadcasts.",
        "If a row's maximum is -inf, subtract 0 instead; if its sum is 0, divide by 1 instead.",
    ],
)


def check_masked_softmax(f: Any) -> Result:
    """Check f(scores [..., n_q, n_k], mask broadcastable to it) -> weights, of the shape of scores.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return MASKED_SOFTMAX.run(f)
