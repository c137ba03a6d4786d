"""The check of one query's soft look-up."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result


def _weights(s: np.ndarray) -> np.ndarray:
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _soft_lookup(q: np.ndarray, k: np.ndarray, v: np.ndarray, temperature: float) -> np.ndarray:
    """[d], [n, d], [n, d_v] -> [d_v]."""
    return np.asarray(_weights(k @ q / temperature) @ v)


def _overflowing(q: np.ndarray, k: np.ndarray, v: np.ndarray, temperature: float) -> np.ndarray:
    e = np.exp(k @ q / temperature)
    return np.asarray(e / e.sum() @ v)


def _nearest(q: np.ndarray, k: np.ndarray, v: np.ndarray, temperature: float) -> np.ndarray:
    return np.asarray(_weights(-((k - q) ** 2).sum(axis=1) / 2 / temperature) @ v)


def _cosine(q: np.ndarray, k: np.ndarray, v: np.ndarray, temperature: float) -> np.ndarray:
    lengths = np.linalg.norm(k, axis=1) * np.linalg.norm(q)
    return np.asarray(_weights(k @ q / lengths / temperature) @ v)


def _draw(rng: np.random.Generator) -> tuple:
    n, d, d_v = (int(x) for x in rng.integers(1, 7, 3))
    if rng.random() < 0.1:
        n = int(rng.integers(40, 90))
    spread = float(rng.choice([0.3, 1.0, 60.0]))
    q, k = spread * rng.normal(size=d), rng.normal(size=(n, d))
    if rng.random() < 0.2:
        k = np.asarray(rng.integers(-3, 4, (n, d)))
    v = rng.normal(size=(n, d_v)) * float(rng.choice([1.0, 1000.0]))
    return q, k, v, float(rng.choice([0.01, 0.5, 1.0, 7.0, 300.0]))


SHOP = np.array([[2.0, -0.5], [1.73, 0.4], [-1.0, 2.0]])
STOCK = np.array([[10.0, 1.0], [5.0, 2.0], [2.0, 7.0]])
SOFT_LOOKUP = Check(
    "soft_lookup",
    reference=_soft_lookup,
    cases=[
        Case("three keys, two numbers in each value", (np.array([1.5, 0.0]), SHOP, STOCK, 1.0)),
        Case("the same, hot", (np.array([1.5, 0.0]), SHOP, STOCK, 10.0)),
        Case("one key", (np.array([2.0, 1.0, 3.0]), np.ones((1, 3)), np.array([[4.0]]), 0.5)),
        Case("a query of zeros", (np.zeros(2), SHOP, STOCK, 1.0)),
        Case("large scores", (np.array([3000.0, 4.0]), SHOP, STOCK, 1.0)),
        Case("cold", (np.array([1.5, 0.1]), SHOP, STOCK, 1e-3)),
        Case("very cold", (np.array([1e-3, 0.0]), np.eye(2), np.eye(2), 1e-3)),
        Case("two equal keys", (np.array([2.0, 1.0]), SHOP[[0, 0, 1]], STOCK, 0.1)),
    ],
    mistakes=[
        Mistake(
            "no maximum subtracted",
            _overflowing,
            "exp of a large score is infinite. Subtract the largest score first: it changes no "
            "weight.",
        ),
        Mistake(
            "temperature multiplied",
            lambda q, k, v, t: _soft_lookup(q, k, v, 1 / t),
            "You multiplied by the temperature. Divide: cold is sharp.",
        ),
        Mistake(
            "temperature forgotten",
            lambda q, k, v, t: _soft_lookup(q, k, v, 1.0),
            "The temperature changes nothing in your answer.",
        ),
        Mistake("nearness", _nearest, "You scored by distance. Here a score is a dot product."),
        Mistake("cosine", _cosine, "You divided by lengths. Here a score is a plain dot product."),
        Mistake(
            "hard",
            lambda q, k, v, t: v[(k @ q).argmax()],
            "You took the best key alone. Blend all values, by their weights.",
        ),
        Mistake(
            "a plain mean",
            lambda q, k, v, t: v.mean(axis=0),
            "You averaged all values alike. Weigh them.",
        ),
        Mistake(
            "not divided by the sum",
            lambda q, k, v, t: np.exp(k @ q / t - (k @ q / t).max()) @ v,
            "Your weights do not sum to 1.",
        ),
        Mistake(
            "temperature after the softmax",
            lambda q, k, v, t: _weights(k @ q) / t @ v,
            "Divide the scores by the temperature, before the exponential.",
        ),
        Mistake(
            "scores as weights",
            lambda q, k, v, t: (k @ q / t) / (k @ q / t).sum() @ v,
            "You divided the scores by their sum. Take exponentials first: scores may be negative.",
        ),
    ],
    hints=[
        "Three lines: scores [n], weights [n], output [d_v].",
        "s = k @ q / temperature; then the two lines of `weights`, on s.",
        "s = k @ q / temperature; e = np.exp(s - s.max()); e / e.sum() @ v",
    ],
    draw=_draw,
)


def check_soft_lookup(f: Any) -> Result:
    """Check f(q, k, v, temperature) -> [d_v], for q [d], k [n, d] and v [n, d_v].

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return SOFT_LOOKUP.run(f)
