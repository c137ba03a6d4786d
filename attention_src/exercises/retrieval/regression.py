"""The check of kernel regression, which must survive a query far from all keys."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result


def _regression(x: np.ndarray, places: np.ndarray, heights: np.ndarray, h: float) -> np.ndarray:
    """[n_q], [n], [n], number -> [n_q]."""
    s = -((x[:, None] - places) ** 2) / (2 * h**2)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return np.asarray(e @ heights / e.sum(axis=1))


def _textbook(x: np.ndarray, places: np.ndarray, heights: np.ndarray, h: float) -> np.ndarray:
    e = np.exp(-((x[:, None] - places) ** 2) / (2 * h**2))
    return np.asarray(e @ heights / e.sum(axis=1))


def _by(score: Any) -> Any:
    """Regression with another score(distance, h)."""

    def regress(x: np.ndarray, places: np.ndarray, heights: np.ndarray, h: float) -> np.ndarray:
        s = score(np.abs(x[:, None] - places), h)
        e = np.exp(s - s.max(axis=1, keepdims=True))
        return np.asarray(e @ heights / e.sum(axis=1))

    return regress


def _over_queries(x: np.ndarray, places: np.ndarray, heights: np.ndarray, h: float) -> np.ndarray:
    s = -((x[:, None] - places) ** 2) / (2 * h**2)
    e = np.exp(s - s.max(axis=0))
    return np.asarray((e / e.sum(axis=0)) @ heights)


def _one_maximum(x: np.ndarray, places: np.ndarray, heights: np.ndarray, h: float) -> np.ndarray:
    s = -((x[:, None] - places) ** 2) / (2 * h**2)
    e = np.exp(s - s.max())
    return np.asarray(e @ heights / e.sum(axis=1))


def _draw(rng: np.random.Generator) -> tuple:
    n_q, n = (int(a) for a in rng.integers(1, 8, 2))
    places = rng.uniform(-5, 5, n)
    if rng.random() < 0.3:
        places = np.sort(places)
    far = float(rng.choice([0.0, 0.0, 100.0, -40.0]))
    x = rng.uniform(-6, 6, n_q) + far * (rng.random(n_q) < 0.5)
    return x, places, 3 * rng.normal(size=n), float(rng.choice([0.05, 0.4, 1.0, 3.0]))


PLACES, HEIGHTS = np.array([0.0, 1.0, 3.0]), np.array([2.0, 4.0, -1.0])
KERNEL_REGRESSION = Check(
    "kernel_regression",
    reference=_regression,
    cases=[
        Case("two queries, three keys", (np.array([0.2, 2.0]), PLACES, HEIGHTS, 0.7)),
        Case("wide", (np.array([0.2, 2.0]), PLACES, HEIGHTS, 10.0)),
        Case("one key", (np.array([5.0, -1.0]), PLACES[:1], HEIGHTS[:1], 0.5)),
        Case("one query", (np.array([1.4]), PLACES, HEIGHTS, 1.0)),
        Case("a query far from all keys", (np.array([0.5, 90.0]), PLACES, HEIGHTS, 0.5)),
        Case("midway, far from both", (np.array([50.0]), np.array([0, 100.0]), HEIGHTS[:2], 0.1)),
        Case("narrow", (np.array([5e-4]), np.array([0, 2e-3]), HEIGHTS[:2], 1e-3)),
        Case("one place measured twice", (np.array([1.0]), PLACES[[1, 1]], HEIGHTS[:2], 0.3)),
    ],
    mistakes=[
        Mistake(
            "0 / 0 far away",
            _textbook,
            "Far from all keys each exponential is computed as 0, and 0 / 0 is not a number. "
            "Subtract the largest score of each query first.",
        ),
        Mistake(
            "one maximum for all queries",
            _one_maximum,
            "Each query needs its own maximum: max(axis=1, keepdims=True).",
        ),
        Mistake("h instead of h²", _by(lambda a, h: -(a**2) / (2 * h)), "Divide by h squared."),
        Mistake("no 2", _by(lambda a, h: -(a**2) / h**2), "There is a 2 below the line."),
        Mistake(
            "distance not squared", _by(lambda a, h: -a / h), "Square the distance, and h with it."
        ),
        Mistake("multiplied", _by(lambda a, h: -(a**2) * h**2 / 2), "Divide by h², not multiply."),
        Mistake(
            "farthest counts most",
            _by(lambda a, h: a**2 / (2 * h**2)),
            "A sign is missing: the farthest key counts most.",
        ),
        Mistake(
            "normalised over the queries",
            _over_queries,
            "The weights of each query sum to 1: sum over the keys, axis 1.",
        ),
        Mistake(
            "the nearest alone",
            lambda x, places, heights, h: heights[abs(x[:, None] - places).argmin(axis=1)],
            "This is the nearest measurement. Blend all of them.",
        ),
        Mistake(
            "interpolation",
            lambda x, places, heights, h: np.interp(
                x, np.sort(places), heights[np.argsort(places)]
            ),
            "These are straight lines from point to point. Use the formula.",
        ),
    ],
    hints=[
        "A table of scores [n_q, n]: x[:, None] is a column, places a row.",
        "Then the same two lines as `weights`, over axis 1, and a product with heights.",
        "s = -((x[:, None] - places) ** 2) / (2 * h**2); "
        "e = np.exp(s - s.max(axis=1, keepdims=True)); e @ heights / e.sum(axis=1)",
    ],
    draw=_draw,
)


def check_kernel_regression(f: Any) -> Result:
    """Check f(x, places, heights, h) -> [n_q], for x [n_q], places [n] and heights [n].

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return KERNEL_REGRESSION.run(f)
