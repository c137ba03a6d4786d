"""The check of a learner's own test: does an attention look at the states it averages?

All attentions here take q [m, d] and h [n, d] and return weights [m, n].
"""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.grading import Implementation, TestCheck

Weights = np.ndarray


def _noise(seed: int, *shape: int) -> np.ndarray:
    """Fixed numbers, the same at each call."""
    return np.random.default_rng(seed).normal(size=shape)


def _softmax(s: np.ndarray) -> Weights:
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _dot(q: np.ndarray, h: np.ndarray) -> Weights:
    """Luong's dot score."""
    return _softmax(q @ h.T)


def _general(q: np.ndarray, h: np.ndarray) -> Weights:
    """Luong's general score, states first."""
    w = _noise(1, q.shape[1], h.shape[1])
    return _softmax((h @ w.T @ q.T).T)


def _additive(q: np.ndarray, h: np.ndarray) -> Weights:
    """Bahdanau's score."""
    both = (q @ _noise(2, q.shape[1], 6))[:, None] + h @ _noise(3, h.shape[1], 6)
    return _softmax(np.tanh(both) @ _noise(4, 6))


def _by_distance(q: np.ndarray, h: np.ndarray) -> Weights:
    """The nearer, the larger the score."""
    return _softmax(-((q[:, None] - h) ** 2).sum(axis=-1))


def _in_float32(q: np.ndarray, h: np.ndarray) -> Weights:
    """The scaled dot score in float32."""
    s = q.astype(np.float32) @ h.astype(np.float32).T / np.float32(np.sqrt(q.shape[1]))
    return _softmax(s)


def _from_the_last(q: np.ndarray, h: np.ndarray) -> Weights:
    """The dot score, one pair at a time, the last state first."""
    p = np.zeros((len(q), len(h)))
    for i, row in enumerate(q):
        for j in range(len(h) - 1, -1, -1):
            p[i, j] = np.exp(np.clip(row @ h[j], -300, 300))
        p[i] /= p[i].sum()
    return p


def _by_place(q: np.ndarray, h: np.ndarray) -> Weights:
    """Scores from q alone: the tutorial."""
    return _softmax(q @ _noise(5, q.shape[1], len(h)))


def _uniform(q: np.ndarray, h: np.ndarray) -> Weights:
    """The same weight for each state."""
    return np.full((len(q), len(h)), 1 / len(h))


def _last_state(q: np.ndarray, h: np.ndarray) -> Weights:
    """The copyist with one vector."""
    return np.tile(np.eye(len(h))[-1], (len(q), 1))


def _place_and_content(q: np.ndarray, h: np.ndarray) -> Weights:
    """Content, and a liking for later places."""
    return _softmax(q @ h.T + 0.3 * np.arange(len(h)))


def _by_the_mean(q: np.ndarray, h: np.ndarray) -> Weights:
    """Scores that see the states' mean, which no exchange of places changes."""
    return _softmax((q * h.mean(axis=0)) @ _noise(6, q.shape[1], len(h)))


def _order_free(q: np.ndarray, h: np.ndarray) -> Weights:
    """Weights of the states sorted by their first number: content, on the wrong places."""
    return _softmax(q @ h[np.argsort(h[:, 0])].T)


def _next_state(q: np.ndarray, h: np.ndarray) -> Weights:
    """Each place gets the score of its right neighbour."""
    return _softmax(q @ np.roll(h, -1, axis=0).T)


def _differences(q: np.ndarray, h: np.ndarray) -> Weights:
    """Each place is scored by how it differs from its left neighbour."""
    return _softmax(q @ (h - np.roll(h, 1, axis=0)).T)


def _wrong_axis(q: np.ndarray, h: np.ndarray) -> Weights:
    """Columns that sum to 1 instead of rows."""
    return _softmax((q @ h.T).T).T


def _not_normalised(q: np.ndarray, h: np.ndarray) -> Weights:
    """Exponentials that nobody divided."""
    return np.exp(np.clip(q @ h.T, -300, 300))


def _scores_only(q: np.ndarray, h: np.ndarray) -> Weights:
    """Scores divided by their sum: rows sum to 1, and some entries are negative."""
    s = q @ h.T
    total = s.sum(axis=1, keepdims=True)
    return s / np.where(np.abs(total) < 1e-3, 1.0, total)


def _negative(q: np.ndarray, h: np.ndarray) -> Weights:
    """Content, rows that sum to 1, and negative entries."""
    return 2 * _dot(q, h) - 1 / len(h)


def _first_place(q: np.ndarray, h: np.ndarray) -> Weights:
    """Content, and a liking for the first place."""
    return _softmax(q @ h.T + 2.0 * (np.arange(len(h)) == 0))


def _whole_table(q: np.ndarray, h: np.ndarray) -> Weights:
    """One unit for each row on average: the table is normalised as a whole."""
    e = np.exp(np.clip(q @ h.T, -300, 300))
    return e / e.sum() * len(q)


def _one_step_by_place(q: np.ndarray, h: np.ndarray) -> Weights:
    """The last step looks at places, the others at content."""
    p = _dot(q, h)
    p[-1:] = _by_place(q[-1:], h)
    return p


def _faint_place(q: np.ndarray, h: np.ndarray) -> Weights:
    """Content, and a hundredth of a liking for later places."""
    return 0.99 * _dot(q, h) + 0.01 * _last_state(q, h)


LOOKING_TEST = TestCheck(
    "my_looking_test",
    right=[
        Implementation("dot", _dot, "each score sees its own state and nothing else"),
        Implementation("general", _general, "a matrix between q and h looks at h all the same"),
        Implementation("additive", _additive, "tanh and a vector make a score of content too"),
        Implementation("distance", _by_distance, "the distance from q to a state is content"),
        Implementation(
            "float32", _in_float32, "it computes in float32, so allow for differences of 1e-5"
        ),
        Implementation("from the last", _from_the_last, "the order of adding up is no place"),
    ],
    wrong=[
        Implementation("by place", _by_place, "its scores never see h: the tutorial"),
        Implementation(
            "uniform",
            _uniform,
            "its weights follow any exchange of places, since all are equal. Do they change when "
            "the content does?",
        ),
        Implementation("last state", _last_state, "it looks at the last state, whatever it holds"),
        Implementation("place and content", _place_and_content, "it likes later places better"),
        Implementation("by the mean", _by_the_mean, "it sees the mean of h, not who stands where"),
        Implementation("sorted", _order_free, "it weighs the right contents, at wrong places"),
        Implementation(
            "next state",
            _next_state,
            "each place gets its neighbour's weight. Reverse h, or exchange two states: a plain "
            "turn of the circle shows nothing",
        ),
        Implementation("differences", _differences, "a score depends on the state next door"),
        Implementation("wrong axis", _wrong_axis, "its columns sum to 1, its rows do not"),
        Implementation("not normalised", _not_normalised, "its rows do not sum to 1"),
        Implementation("scores only", _scores_only, "some of its weights are negative"),
        Implementation(
            "negative",
            _negative,
            "its rows sum to 1, and some of its weights are negative",
        ),
        Implementation(
            "first place",
            _first_place,
            "it likes the first place better. Did the state there change its place in your test?",
        ),
        Implementation(
            "whole table",
            _whole_table,
            "its rows sum to 1 on average alone. Do you look at each row's sum?",
        ),
        Implementation(
            "one step by place", _one_step_by_place, "one step is blind. Do you look at all rows?"
        ),
        Implementation(
            "faint",
            _faint_place,
            "a hundredth of each row goes to the last place. Is your tolerance small enough?",
        ),
    ],
    hints=[
        "Call it with h and with h[::-1]. How should the two answers be related?",
        "Then call it with other states altogether: what must have changed?",
        "np.allclose(attention(q, h[::-1]), attention(q, h)[:, ::-1], atol=1e-5)",
    ],
)


def check_looking_test(test: Any) -> Result:
    """Check test(attention), which raises AssertionError if the weights do not follow the content.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return LOOKING_TEST.run(test)
