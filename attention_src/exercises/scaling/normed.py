"""The check of scores with normalised queries and keys (QK-norm)."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

EPS = 1e-6


def _rms(x: np.ndarray, axis: Any = -1) -> np.ndarray:
    return np.asarray(x / np.sqrt((x**2).mean(axis=axis, keepdims=True) + EPS))


def _scores(q: Any, k: Any, gain_q: Any, gain_k: Any, norm: Any = _rms, power: Any = -0.5) -> Any:
    """The scores with some norm and some power of d_k for a scale."""
    q, k = norm(np.asarray(q, np.float64)) * gain_q, norm(np.asarray(k, np.float64)) * gain_k
    return q.shape[-1] ** power * (q @ np.swapaxes(k, -1, -2))


def _with(**changes: Any) -> Any:
    return lambda q, k, gain_q, gain_k: _scores(q, k, gain_q, gain_k, **changes)


def _length_1(x: np.ndarray) -> np.ndarray:
    return np.asarray(x / np.sqrt((x**2).sum(axis=-1, keepdims=True) + EPS))


def _layer_norm(x: np.ndarray) -> np.ndarray:
    x = x - x.mean(axis=-1, keepdims=True)
    return _rms(x)


def _query_alone(q: Any, k: Any, gain_q: Any, gain_k: Any) -> np.ndarray:
    return np.asarray((_rms(q) * gain_q) @ np.swapaxes(k * gain_k, -1, -2) / q.shape[-1] ** 0.5)


def _gain_first(q: Any, k: Any, gain_q: Any, gain_k: Any) -> np.ndarray:
    return np.asarray(_scores(q * gain_q, k * gain_k, 1.0, 1.0))


def _make(rng: np.random.Generator, lead: tuple, n_q: int, n_k: int, d_k: int) -> tuple:
    q, k = rng.normal(size=(*lead, n_q, d_k)), rng.normal(size=(*lead, n_k, d_k))
    gains = rng.uniform(0.2, 3.0, (2, d_k)) * rng.choice([-1.0, 1.0], (2, d_k))
    return q, k, gains[0], gains[1]


def _draw(rng: np.random.Generator) -> tuple:
    """Sizes that differ, vectors of all lengths, now and then a vector of zeros."""
    lead = tuple(int(n) for n in rng.integers(1, 4, rng.integers(0, 3)))
    n_q, n_k, d_k = (int(n) for n in rng.integers(1, 7, 3))
    q, k, gain_q, gain_k = _make(rng, lead, n_q, n_k, d_k)
    q *= 10.0 ** rng.integers(-2, 5, (*lead, n_q, 1))
    k *= 10.0 ** rng.integers(-2, 5, (*lead, n_k, 1))
    k[rng.random(k.shape[:-1]) < 0.1] = 0
    return q, k, gain_q, gain_k


_SMALL = (
    np.array([[3.0, 4.0, 0.0, 0.0], [10.0, -10.0, 10.0, 10.0]]),
    np.array([[1.0, 2.0, 2.0, 4.0], [0.0, 0.0, 5.0, 0.0], [6.0, 8.0, 0.0, 0.0]]),
    np.array([1.0, 2.0, 1.0, 0.5]),
    np.array([2.0, 1.0, 1.0, 1.0]),
)
_ZERO = (np.zeros((1, 3)), np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]), np.ones(3), np.ones(3))

QK_NORM_SCORES = Check(
    "qk_norm_scores",
    reference=lambda q, k, gain_q, gain_k: _scores(q, k, gain_q, gain_k),
    cases=[
        Case("two queries, three keys", _SMALL),
        Case("vectors of zeros", _ZERO),
        Case("heads", _make(np.random.default_rng(0), (2, 3), 2, 5, 4)),
        Case("one entry", _make(np.random.default_rng(1), (), 3, 2, 1)),
        Case(
            "tiny vectors",
            tuple(
                x * (1e-3 if x.ndim > 1 else 1.0)
                for x in _make(np.random.default_rng(2), (), 2, 3, 5)
            ),
        ),
    ],
    mistakes=[
        Mistake(
            "no norm",
            _with(norm=lambda x: x),
            "Queries and keys enter as they are. Divide each by the root of its mean square.",
        ),
        Mistake(
            "length 1",
            _with(norm=_length_1),
            "You brought each vector to length 1. The mean square should be 1: a length of √d_k.",
        ),
        Mistake(
            "mean subtracted",
            _with(norm=_layer_norm),
            "You subtracted each vector's mean, as LayerNorm does. This norm only divides.",
        ),
        Mistake(
            "scale left out",
            _with(power=0),
            "The norm does not replace the scale: a vector of mean square 1 has length √d_k. "
            "Divide by √d_k.",
        ),
        Mistake("scale 1/d_k", _with(power=-1.0), "You divided by d_k. Divide by its root."),
        Mistake("keys forgotten", _query_alone, "You normalised the queries alone. Keys as well."),
        Mistake(
            "gain before the norm",
            _gain_first,
            "You multiplied by the gain first, so the norm takes part of it away. Norm, then gain.",
        ),
        Mistake(
            "gain left out",
            lambda q, k, gain_q, gain_k: _scores(q, k, 1.0, 1.0),
            "The gains are missing: multiply the normalised vectors by them, entry by entry.",
        ),
        Mistake(
            "the queries' gain twice",
            lambda q, k, gain_q, gain_k: _scores(q, k, gain_q, gain_q),
            "The keys have a gain of their own, gain_k.",
        ),
        Mistake(
            "the keys' gain twice",
            lambda q, k, gain_q, gain_k: _scores(q, k, gain_k, gain_k),
            "The queries have a gain of their own, gain_q.",
        ),
        Mistake(
            "sign lost",
            lambda q, k, gain_q, gain_k: _scores(q, k, np.abs(gain_q), np.abs(gain_k)),
            "A gain may be negative. Keep its sign.",
        ),
        Mistake(
            "norm over the tokens",
            _with(norm=lambda x: _rms(x, -2)),
            "You averaged over the tokens. Each vector has its own mean square: axis -1.",
        ),
        Mistake(
            "one norm for all",
            _with(norm=lambda x: _rms(x, None)),
            "You took one mean square for all vectors. Each has its own.",
        ),
    ],
    hints=[
        "The mean square of each vector: (x**2).mean(axis=-1, keepdims=True).",
        "Divide by np.sqrt(mean square + 1e-6), then multiply by the gain.",
        "Then the scores as ever: q @ k.swapaxes(-1, -2) / d_k**0.5.",
    ],
    draw=_draw,
)


def check_qk_norm_scores(f: Any) -> Result:
    """Check f(q, k, gain_q, gain_k) -> scores of queries and keys normalised to mean square 1.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return QK_NORM_SCORES.run(f)
