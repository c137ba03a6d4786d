"""The check of the spread within a row: what softmax can see of the size of scores."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.cases import any_scores, any_shape
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result


def _centred(s: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores around their row's mean, 0 where hidden; which are seen; how many, at least 1."""
    s = np.asarray(s, dtype=np.float64)
    seen = s > -np.inf
    count = np.maximum(seen.sum(axis=-1, keepdims=True), 1)
    mean = np.where(seen, s, 0).sum(axis=-1, keepdims=True) / count
    return np.where(seen, s - mean, 0), seen, count


def _row_spread(s: Any) -> np.ndarray:
    x, _, count = _centred(s)
    return np.asarray(np.sqrt((x**2).sum(axis=-1) / count[..., 0]))


def _unbiased(s: Any) -> np.ndarray:
    x, _, count = _centred(s)
    return np.asarray(np.sqrt((x**2).sum(axis=-1) / np.maximum(count[..., 0] - 1, 1)))


def _hidden_as_0(s: Any) -> np.ndarray:
    return np.asarray(np.where(np.isinf(s), 0.0, s).std(axis=-1))


def _over(axis: int) -> Any:
    return lambda s: _row_spread(np.moveaxis(np.atleast_2d(s), axis, -1))


def _root_mean_square(s: Any) -> np.ndarray:
    s = np.asarray(s, dtype=np.float64)
    seen = s > -np.inf
    squares = np.where(seen, s, 0) ** 2
    return np.asarray(np.sqrt(squares.sum(axis=-1) / np.maximum(seen.sum(axis=-1), 1)))


def _range(s: Any) -> np.ndarray:
    lowest = np.where(np.isinf(s), np.inf, s).min(axis=-1)
    return np.asarray(np.where(np.isinf(lowest), 0, np.max(s, axis=-1) - lowest))


def _draw(rng: np.random.Generator) -> tuple:
    """Scores of one to four axes and three dtypes, some hidden, sometimes whole rows."""
    dtype = (np.float64, np.float64, np.float32, np.float16)[int(rng.integers(4))]
    s = any_scores(rng, any_shape(rng), dtype)
    if rng.random() < 0.6:
        s[rng.random(s.shape) < 0.3] = -np.inf
    return (s,)


TWO = np.array([[8.0, 7.0, 3.0, 1.0], [1008.0, 1004.0, 1002.0, 1006.0]])
HIDDEN = np.array([[2.0, -np.inf, -np.inf], [1.0, 5.0, -np.inf], [4.0, -2.0, 1.0]])
FAR = 9000 + np.array([[0.1, 0.25, -0.05, 0.3], [-18000.0, -18000.2, -18000.1, -18000.7]])

ROW_SPREAD = Check(
    "row_spread",
    reference=lambda s: _row_spread(s),
    cases=[
        Case("two rows of four", (TWO,)),
        Case("hidden keys", (HIDDEN,)),
        Case("one row", (np.array([0.5, 2.0, -1.0]),)),
        Case("a row with everything hidden", (np.array([[-np.inf] * 3, [1.0, 2.0, 4.0]]),)),
        Case("one key", (np.array([[3.0], [-7.0]]),)),
        Case("rows far from 0", (FAR,)),
        Case("float16", (np.array([[250, 130, -300, 10, 290]], np.float16),)),
        Case("forty keys", (np.round(np.cos(np.arange(80.0) ** 2), 2).reshape(2, 40),)),
        Case("heads and queries", (np.round(np.sin(np.arange(24.0)) * 5, 1).reshape(2, 3, 4),)),
    ],
    mistakes=[
        Mistake(
            "one spread for everything",
            lambda s: _row_spread(np.ravel(s)),
            "You took the spread of all scores together. Each row has its own, over the last axis.",
        ),
        Mistake("wrong axis", _over(-2), "You went over the queries. The keys are on axis -1."),
        Mistake(
            "variance",
            lambda s: _row_spread(s) ** 2,
            "This is the variance. The spread is its root.",
        ),
        Mistake(
            "n - 1",
            _unbiased,
            "You divided by the number of keys minus 1. Divide by their number: this row is all "
            "there is, not a sample.",
        ),
        Mistake(
            "hidden keys counted as 0",
            _hidden_as_0,
            "Hidden keys have no score. You counted them as 0; leave them out.",
        ),
        Mistake(
            "mean not subtracted",
            _root_mean_square,
            "This is the root of the mean square: it grows when all scores are shifted, which "
            "softmax does not see. Subtract the row's mean first.",
        ),
        Mistake("range", _range, "This is the largest minus the smallest score."),
        Mistake(
            "axis kept",
            lambda s: _row_spread(s)[..., None],
            "The axis of the keys should be gone: no keepdims in the last step.",
        ),
        Mistake(
            "no rule for hidden keys",
            lambda s: np.asarray(np.std(np.asarray(s, np.float64), axis=-1)),
            "-inf enters the mean. Find the keys that are seen, s > -inf, and use those alone.",
        ),
    ],
    hints=[
        "Which entries are seen? How many are there in each row?",
        "seen = s > -np.inf; then mean = np.where(seen, s, 0).sum(-1) / number seen, in float64.",
        "Average np.where(seen, s - mean, 0)**2 over the seen keys, and take the root. A row "
        "without any: divide by 1 instead of 0.",
    ],
    draw=_draw,
    rtol=1e-9,  # in float16 too
)


def check_row_spread(f: Any) -> Result:
    """Check f(s [..., n_k]) -> [...]: the standard deviation of the seen scores of each row.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return ROW_SPREAD.run(f)
