"""The check of the window with sinks. True means "may attend"."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

ADDITIVE = (
    "This is an additive mask, to be added to the scores. The exercise asks for a boolean one, "
    "True = may attend."
)


def _window_mask(n_q: int, n_k: int, window: int, sinks: int) -> np.ndarray:
    """Causal, bottom-right: own and previous keys, `window` in all, and the first `sinks`."""
    position = np.arange(n_q)[:, None] + n_k - n_q
    key = np.arange(n_k)[None, :]
    return (key <= position) & ((key > position - window) | (key < sinks))


def _positions(n_q: int, n_k: int, offset: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the queries, [n_q, 1], and of the keys, [1, n_k]."""
    return np.arange(n_q)[:, None] + offset, np.arange(n_k)[None, :]


def _top_left(n_q: int, n_k: int, window: int, sinks: int) -> np.ndarray:
    i, j = _positions(n_q, n_k, 0)
    return (j <= i) & ((j > i - window) | (j < sinks))


def _both_sides(n_q: int, n_k: int, window: int, sinks: int) -> np.ndarray:
    i, j = _positions(n_q, n_k, n_k - n_q)
    return (abs(i - j) < window) | (j < sinks)


def _future_sinks(n_q: int, n_k: int, window: int, sinks: int) -> np.ndarray:
    i, j = _positions(n_q, n_k, n_k - n_q)
    return ((j <= i) & (j > i - window)) | (j < sinks)


def _sinks_and_window(n_q: int, n_k: int, window: int, sinks: int) -> np.ndarray:
    i, j = _positions(n_q, n_k, n_k - n_q)
    return (j <= i) & (j > i - window) & (j < sinks)


def _draw(rng: np.random.Generator) -> Case:
    """Few and many keys, with 1 to n_k queries; windows and sinks may exceed the keys."""
    n_k = int(rng.integers(1, 10) if rng.random() < 0.9 else rng.integers(65, 150))
    n_q = n_k if rng.random() < 0.3 else int(rng.integers(1, n_k + 1))
    window = 1000 if rng.random() < 0.1 else int(rng.integers(1, n_k + 3))
    sinks = 0 if rng.random() < 0.2 else int(rng.integers(0, n_k + 3))
    args = (n_q, n_k, window, sinks)
    return Case(f"drawn: n_q={n_q}, n_k={n_k}, window={window}, sinks={sinks}", args)


WINDOW_MASK = Check(
    "window_mask",
    reference=_window_mask,
    cases=[
        Case("a window of 2, no sinks", (5, 5, 2, 0)),
        Case("a window of 3 and 1 sink", (6, 6, 3, 1)),
        Case("2 new queries, 7 keys", (2, 7, 3, 0)),
        Case("2 new queries, 7 keys, 2 sinks", (2, 7, 2, 2)),
        Case("more sinks than the first query may see", (5, 5, 1, 3)),
        Case("a window wider than the text", (3, 3, 11, 0)),
        Case("one query, a window of 1", (1, 5, 1, 1)),
        Case("a long text", (70, 150, 40, 3)),
    ],
    draw=_draw,
    mistakes=[
        Mistake(
            "reversed polarity",
            lambda *a: ~_window_mask(*a),
            "True and False are swapped. Here True means: may attend.",
        ),
        Mistake(
            "top-left alignment",
            _top_left,
            "You counted queries from the first key. The queries are the LAST n_q positions: "
            "query i stands at position i + n_k - n_q.",
        ),
        Mistake(
            "transposed",
            lambda *a: _window_mask(*a).T,
            "Rows are queries and columns are keys. Yours is transposed.",
        ),
        Mistake(
            "window one too wide",
            lambda n_q, n_k, window, sinks: _window_mask(n_q, n_k, window + 1, sinks),
            "Your window is off by one: it holds window + 1 keys. One's own key counts.",
        ),
        Mistake(
            "window one too narrow",
            lambda n_q, n_k, window, sinks: _window_mask(n_q, n_k, window - 1, sinks),
            "Your window is off by one: it holds window - 1 keys. One's own key is one of them.",
        ),
        Mistake(
            "window not causal",
            _both_sides,
            "Your window reaches into the future. Only keys at or before one's own position may "
            "be seen.",
        ),
        Mistake(
            "sinks not causal",
            _future_sinks,
            "Your sinks can be seen before they were written: with 3 sinks, query 0 still sees "
            "key 0 alone.",
        ),
        Mistake(
            "sinks forgotten",
            lambda n_q, n_k, window, sinks: _window_mask(n_q, n_k, window, 0),
            "You forgot the sinks: the first `sinks` keys stay visible to every later query.",
        ),
        Mistake(
            "one sink too many",
            lambda n_q, n_k, window, sinks: _window_mask(n_q, n_k, window, sinks + 1),
            "Your sinks are off by one: the first `sinks` keys are those with j < sinks.",
        ),
        Mistake(
            "sinks and window",
            _sinks_and_window,
            "A key is visible if it lies in the window OR is a sink; you asked for both.",
        ),
        Mistake(
            "window forgotten",
            lambda n_q, n_k, window, sinks: _window_mask(n_q, n_k, n_k + 1, sinks),
            "This is the causal mask: old keys that have left the window are still visible.",
        ),
        Mistake("additive mask", lambda *a: np.where(_window_mask(*a), 0.0, -np.inf), ADDITIVE),
    ],
    hints=[
        "Write the position of query i and of key j as a column and a row, then compare them.",
        "Query i stands at position i + n_k - n_q. How many keys lie between its own and key j?",
        "(key <= position) & ((key > position - window) | (key < sinks))",
    ],
)


def check_window_mask(f: Any) -> Result:
    """Check f(n_q, n_k, window, sinks) -> bool [n_q, n_k]: causal, bottom-right.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return WINDOW_MASK.run(f)
