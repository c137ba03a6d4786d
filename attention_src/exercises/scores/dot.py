"""The check of the scaled dot product, which later chapters build on."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.cases import any_shape
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result


def _dot_scores(q: np.ndarray, k: np.ndarray, scale: float | None = None) -> np.ndarray:
    """Every query with every key, times 1 / sqrt(d_k) or the given scale."""
    factor = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    products = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2)
    return np.asarray(products * factor, dtype=q.dtype)


def _plain(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    return q @ k.swapaxes(-1, -2)


def _with(factor: Any) -> Any:
    """The wrong function that scales by factor(q, k, scale)."""
    return lambda q, k, scale=None: _plain(q, k) * factor(q, k, scale)


def _root(q: np.ndarray) -> float:
    return 1 / np.sqrt(q.shape[-1])


def _directions(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def _in_place(q: np.ndarray, k: np.ndarray, scale: float | None = None) -> np.ndarray:
    q *= _root(q) if scale is None else scale
    return _plain(q, k)


def _weights(q: np.ndarray, k: np.ndarray, scale: float | None = None) -> np.ndarray:
    s = _dot_scores(q, k, scale)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _random(seed: int, *shape: int, dtype: type = np.float64) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 2, shape).astype(dtype)


def _draw(rng: np.random.Generator) -> tuple:
    """0 to 3 leading axes, any numbers of queries and keys, with and without a scale."""
    *leading, n_q, d_k = any_shape(rng, fewest=2, most=5)
    n_k = int(rng.integers(1, 7))
    dtype = np.float32 if rng.random() < 0.2 else np.float64
    size = rng.choice([0.1, 1.0, 30.0])
    q, k = (rng.normal(0, size, (*leading, n, d_k)).astype(dtype) for n in (n_q, n_k))
    scale = None if rng.random() < 0.5 else float(rng.choice([0.0, 1.0, 0.125, -2.0, 7.5]))
    return q, k, scale


DOT_SCORES = Check(
    "dot_scores",
    reference=_dot_scores,
    cases=[
        Case(
            "two queries, three keys",
            (
                np.array([[1.0, 2.0, 0.0, -1.0], [0.0, 3.0, 1.0, 2.0]]),
                np.array([[2.0, 1.0, 5.0, 0.0], [1.0, 0.0, -1.0, 4.0], [3.0, 2.0, 1.0, 1.0]]),
                None,
            ),
        ),
        Case("a scale of 1", (_random(0, 2, 3), _random(1, 4, 3), 1.0)),
        Case("a scale of 0.5", (_random(2, 2, 5), _random(3, 3, 5), 0.5)),
        Case("a scale of 0", (_random(4, 1, 2), _random(5, 3, 2), 0.0)),
        Case("one query, one key, d_k = 1", (_random(6, 1, 1), _random(7, 1, 1), None)),
        Case("a batch of two", (_random(8, 2, 3, 4), _random(9, 2, 5, 4), None)),
        Case(
            "two sentences, three heads", (_random(10, 2, 3, 4, 5), _random(11, 2, 3, 6, 5), None)
        ),
        Case(
            "float32",
            (_random(12, 3, 7, dtype=np.float32), _random(13, 2, 7, dtype=np.float32), None),
        ),
        Case("as many queries as keys", (_random(14, 4, 3), _random(15, 4, 3), None)),
        Case("three queries, three keys, d_k = 3", (_random(16, 3, 3), _random(17, 3, 3), None)),
        Case("the same, twice", (_random(18, 2, 3, 3), _random(19, 2, 3, 3), None)),
    ],
    draw=_draw,
    mistakes=[
        Mistake(
            "no default scale",
            _with(lambda q, k, scale: 1 if scale is None else scale),
            "These are the bare products. Without a scale of its own, each is divided by the "
            "square root of d_k.",
        ),
        Mistake(
            "divided by d_k",
            _with(lambda q, k, scale: 1 / q.shape[-1] if scale is None else scale),
            "You divided by d_k; the square root of d_k is asked for.",
        ),
        Mistake(
            "multiplied by the root",
            _with(lambda q, k, scale: np.sqrt(q.shape[-1]) if scale is None else scale),
            "You multiplied by the square root of d_k. The scale is one over it.",
        ),
        Mistake(
            "number of keys",
            _with(lambda q, k, scale: 1 / np.sqrt(k.shape[-2]) if scale is None else scale),
            "You took the root of the number of keys. d_k is the width, the last axis.",
        ),
        Mistake(
            "number of queries",
            _with(lambda q, k, scale: 1 / np.sqrt(q.shape[-2]) if scale is None else scale),
            "You took the root of the number of queries. d_k is the width, the last axis.",
        ),
        Mistake(
            "root of the first axis",
            _with(lambda q, k, scale: 1 / np.sqrt(len(q)) if scale is None else scale),
            "You took the root of the first axis. d_k is the width, the last axis.",
        ),
        Mistake(
            "scale ignored",
            _with(lambda q, k, scale: _root(q)),
            "Your function ignores the scale that it is given.",
        ),
        Mistake(
            "scaled twice",
            _with(lambda q, k, scale: _root(q) * (1 if scale is None else scale)),
            "A scale that is given replaces one over the root of d_k; you used both.",
        ),
        Mistake(
            "divided by the scale",
            _with(lambda q, k, scale: _root(q) if scale is None else np.divide(1, scale)),
            "You divided by the scale that was given. It multiplies.",
        ),
        Mistake(
            "scale of 0 taken for none",
            _with(lambda q, k, scale: scale or _root(q)),
            "A scale of 0 is a scale: Python's `or` and `if scale` take it for none. Ask "
            "`scale is None`.",
        ),
        Mistake(
            "transposed",
            lambda q, k, scale=None: _dot_scores(q, k, scale).swapaxes(-1, -2),
            "Rows are queries and columns are keys. Yours is transposed.",
        ),
        Mistake(
            "softmax",
            _weights,
            "These are weights. Return the scores, before the softmax.",
        ),
        Mistake(
            "cosine",
            lambda q, k, scale=None: _dot_scores(_directions(q), _directions(k), scale),
            "You divided by the lengths. That is the cosine; the dot product keeps them.",
        ),
        Mistake(
            "in-place change",
            _in_place,
            "Your function scales the caller's q. Make a new array: q = q * scale, not q *= scale.",
        ),
    ],
    hints=[
        "Which two axes does one product of matrices need, and which of k's must change places?",
        "k.swapaxes(-1, -2) leaves all axes in front alone; k.T reverses them all.",
        "q @ k.swapaxes(-1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)",
    ],
)


def check_dot_scores(f: Any) -> Result:
    """Check f(q [..., n_q, d_k], k [..., n_k, d_k], scale=None) -> scores [..., n_q, n_k].

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return DOT_SCORES.run(f)
