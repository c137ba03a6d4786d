"""The check of the additive score, computed without ever holding all hidden layers at once."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Array = np.ndarray


def _additive(q: Array, k: Array, a: Array, b: Array, w: Array) -> Array:
    """A query at a time: w · tanh(q a + k b)."""
    from_k = k @ b  # [n_k, d_a]
    return np.stack([np.tanh(row + from_k) @ w for row in q @ a])


def _all(join: Callable) -> Callable:
    """The wrong score that join(q a [n_q, 1, d_a], k b [1, n_k, d_a], w) makes."""
    return lambda q, k, a, b, w: join((q @ a)[:, None], (k @ b)[None], w)


def _unbent(q: Array, k: Array, a: Array, b: Array, w: Array) -> Array:
    return (q @ a @ w)[:, None] + (k @ b @ w)[None]


def _case(name: str, sizes: tuple[int, ...], seed: int, **options: Any) -> Case:
    return Case(name, _inputs(np.random.default_rng(seed), *sizes), **options)


def _inputs(
    rng: np.random.Generator, n_q: int, n_k: int, d_q: int, d_k: int, d_a: int, size: float = 1.0
) -> tuple:
    shapes = (n_q, d_q), (n_k, d_k), (d_q, d_a), (d_k, d_a), (d_a,)
    return tuple(rng.normal(0, size, shape) for shape in shapes)


def _cancelling() -> tuple:
    """Two hidden units that are nearly alike, with large weights of opposite sign."""
    q, k, a, b, _ = _inputs(np.random.default_rng(7), 3, 4, 2, 3, 1)
    a, b = (np.concatenate([x, x + 1e-6], axis=1) for x in (a, b))
    return q, k, a, b, np.array([1e5, -1e5])


def _large() -> tuple:
    """Sums inside the tanh whose exponentials overflow."""
    q, k = np.array([[1e5], [-1e5], [0.3]]), np.array([[1.0], [-2.0]])
    return q, k, np.array([[1.0, 0.5]]), np.array([[1.0, -1.0]]), np.array([1.0, 2.0])


def _draw(rng: np.random.Generator) -> tuple:
    """Few of everything, and widths that agree now and then."""
    n_q, n_k, d_q, d_k, d_a = (int(n) for n in rng.integers(1, 6, 5))
    if rng.random() < 0.3:
        n_k, d_k = n_q, d_q
    return _inputs(rng, n_q, n_k, d_q, d_k, d_a, float(rng.choice([0.1, 0.7, 3.0])))


ADDITIVE_SCORES = Check(
    "additive_scores",
    reference=_additive,
    cases=[
        _case("two queries, three keys, a hidden layer of four", (2, 3, 2, 3, 4), 0),
        _case("one hidden unit", (3, 2, 1, 4, 1), 1),
        _case("one of everything", (1, 1, 1, 1, 1), 2),
        _case("equal widths, equal numbers", (4, 4, 3, 3, 2), 3),
        _case("more queries than keys", (7, 2, 3, 5, 6), 4),
        Case("two units that nearly cancel", _cancelling()),
        Case("sums of a hundred thousand", _large()),
        _case("203 queries, 197 keys, 100 units", (203, 197, 4, 5, 100), 5, max_bytes=4_000_000),
        _case("one query, 2,000 keys", (1, 2000, 3, 2, 20), 6, max_bytes=4_000_000),
    ],
    draw=_draw,
    mistakes=[
        Mistake(
            "no tanh",
            _unbent,
            "There is no tanh in it. Without one, every query ranks the keys the same way.",
        ),
        Mistake(
            "tanh after the sum",
            lambda *args: np.tanh(_unbent(*args)),
            "You added up first and bent afterwards. The tanh belongs inside, on each hidden unit.",
        ),
        Mistake(
            "tanh of each alone",
            _all(lambda x, y, w: (np.tanh(x) + np.tanh(y)) @ w),
            "You bent query and key apart and then added. Add first, tanh(q a + k b): otherwise "
            "each query ranks the keys the same way.",
        ),
        Mistake(
            "product for sum",
            _all(lambda x, y, w: np.tanh(x * y) @ w),
            "You multiplied where the formula adds: tanh(q a + k b).",
        ),
        Mistake(
            "difference for sum",
            _all(lambda x, y, w: np.tanh(x - y) @ w),
            "You subtracted the key's part. The formula adds it.",
        ),
        Mistake(
            "w left out",
            _all(lambda x, y, w: np.tanh(x + y).sum(axis=-1)),
            "You added the hidden units up without their weights w.",
        ),
        Mistake(
            "mean of the units",
            _all(lambda x, y, w: np.tanh(x + y) @ w / len(w)),
            "You divided by the number of hidden units. The formula has a sum.",
        ),
        Mistake(
            "divided by the root",
            _all(lambda x, y, w: np.tanh(x + y) @ w / np.sqrt(len(w))),
            "You divided by a square root. The additive score has no scale: its tanh bounds it.",
        ),
        Mistake(
            "transposed",
            lambda *args: _additive(*args).T,
            "Rows are queries and columns are keys. Yours is transposed.",
        ),
        Mistake(
            "rectified",
            _all(lambda x, y, w: np.maximum(x + y, 0) @ w),
            "You cut off at 0. The formula bends with tanh.",
        ),
        Mistake(
            "sigmoid",
            _all(lambda x, y, w: 1 / (1 + np.exp(-x - y)) @ w),
            "You bent with the sigmoid, from 0 to 1. The formula has tanh, from -1 to 1.",
        ),
    ],
    hints=[
        "k b is the same for all queries: compute it once.",
        "For one query, tanh(row + k b) has shape [n_k, d_a]. That is all you need to hold.",
        "np.stack([np.tanh(row + k @ b) @ w for row in q @ a])",
    ],
)


def check_additive_scores(f: Any) -> Result:
    """Check f(q [n_q, d_q], k [n_k, d_k], a [d_q, d_a], b [d_k, d_a], w [d_a]) -> [n_q, n_k].

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return ADDITIVE_SCORES.run(f)
