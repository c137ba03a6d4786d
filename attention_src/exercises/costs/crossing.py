"""The check of a fit of two terms, and of the length at which they are equal."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Array = np.ndarray


def two_terms(n: Array, y: Array, weights: Array | None = None, more: int = 0) -> Array:
    """Fit y = a n + b n², by least squares of what is weighted.

    Args:
        n, y: [m]  lengths and costs
        weights: [m]  of the misses; None = 1 / y, which makes them relative
        more: how many powers of n come before the first: 1 = a constant too
    Returns: [2 + more]  the factors
    """
    n, y = np.asarray(n, dtype=np.float64), np.asarray(y, dtype=np.float64)
    weights = 1 / y if weights is None else weights
    powers = np.stack([n**p for p in range(1 - more, 3)], axis=1) * weights[:, None]
    size = np.abs(powers).max(axis=0)
    return np.linalg.lstsq(powers / size, y * weights, rcond=None)[0] / size


def _crossing(n: Array, y: Array) -> float:
    a, b = two_terms(n, y)
    return a / b


def _plain(n: Array, y: Array) -> float:
    a, b = two_terms(n, y, np.ones(len(n)))
    return a / b


def _with_constant(n: Array, y: Array) -> float:
    _, a, b = two_terms(n, y, more=1)
    return a / b


def _by_root(n: Array, y: Array) -> float:
    a, b = two_terms(n, y, np.asarray(y, dtype=np.float64) ** -0.5)
    return a / b


def _ends(n: Array, y: Array) -> float:
    return float(np.divide(*np.linalg.solve([[n[0], n[0] ** 2], [n[-1], n[-1] ** 2]],
                                            [y[0], y[-1]])))  # fmt: skip


def _unweighted_line(n: Array, y: Array) -> float:
    b, a = np.polyfit(n, y / n, 1)
    return a / b


def _draw(rng: np.random.Generator) -> tuple:
    m = int(rng.integers(2, 9))
    n = rng.choice(np.arange(4, 400), m, replace=False) * float(rng.choice([1, 16, 256]))
    cross = n.mean() * 10 ** rng.uniform(-0.7, 0.7)
    y = 10 ** rng.uniform(-12, 6) * (cross * n + n**2)
    return n, y * np.exp(rng.normal(0, rng.choice([0.0, 0.02]), m))


def _case(name: str, n: list[int], a: float, b: float, noise: float = 0.0, seed: int = 0) -> Case:
    lengths = np.array(n, dtype=np.float64)
    y = a * lengths + b * lengths**2
    return Case(name, (lengths, y * np.exp(np.random.default_rng(seed).normal(0, noise, len(n)))))


CROSSING = Check(
    "crossing",
    reference=_crossing,
    cases=[
        _case("y = 12 n + 4 n² for three lengths", [1, 2, 4], 12, 4),
        _case("two lengths", [10, 30], 600, 5),
        _case("noise of a few per cent", [64, 128, 256, 512, 1024], 3e4, 40, 0.03, 1),
        _case("lengths from 16 to 65,536, with noise", [16, 256, 4096, 65536], 2e5, 30, 0.03, 2),
        _case("it lies beyond all lengths", [100, 200, 300, 400], 8e3, 1, 0.001, 3),
        _case("milliseconds", [128, 512, 2048], 2e-4, 3e-7, 0.01, 4),
        _case("lengths in no order", [512, 64, 2048, 128], 5000, 3, 0.01, 5),
        _case("below 1 token", [1, 2, 3, 8], 0.5, 2),
        _case("tiny costs", [64, 256, 1024], 1e-11, 2e-14, 0.01, 6),
        _case("lengths from 1 to 100,000, with noise", [1, 10, 1000, 100_000], 30, 2, 0.03, 7),
    ],
    mistakes=[
        Mistake("upside down", lambda n, y: 1 / _crossing(n, y),
                "You returned b / a. Where is a n = b n²?"),
        Mistake("largest counts most", _plain,
                "You fitted y itself: the longest text decides almost alone. Divide each miss by "
                "its y."),
        Mistake("a constant too", _with_constant,
                "Your fit has a constant as well. There are two terms, a n and b n²."),
        Mistake("half-way", _by_root,
                "Your misses are divided by the root of y. Divide the columns and y by y itself."),
        Mistake("y / n", _unweighted_line,
                "You fitted y / n with equal weights. Those misses are not relative: divide by y."),
        Mistake("two points", _ends, "You used the first and the last length only."),
        Mistake("a alone", lambda n, y: two_terms(n, y)[0], "That is a. Where is a n = b n²?"),
    ],
    hints=[
        "Relative misses: (a n + b n²) / y should be 1 for each length.",
        "That is a system of linear equations for a and b: columns n / y and n² / y, right side 1.",
        "np.linalg.lstsq(np.stack([n / y, n**2 / y], axis=1), np.ones(len(n)), rcond=None)[0]",
    ],
    rtol=1e-4,
    draw=_draw,
)  # fmt: skip


def check_crossing(f: Any) -> Result:
    """Check f(n [m], y [m]) -> the n at which both terms of a n + b n² are equal.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return CROSSING.run(f)
