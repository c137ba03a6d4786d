"""The check of an exponent's spread: one slope for each choice of runs."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Array = np.ndarray


def slope(n: Array, y: Array) -> Array:
    """Slopes of log y over log n, by least squares.

    Args:
        n: [m]  lengths
        y: [..., m]  costs
    Returns: [...]
    """
    x = np.log(n) - np.log(n).mean()
    return np.log(y) @ x / (x @ x)


def _slopes(n: Array, times: Array, picks: Array) -> Array:
    return slope(n, times[picks, np.arange(len(n))])


def _per_run(n: Array, times: Array, picks: Array) -> Array:
    return slope(n, times[picks[:, 0]])


def _ends(n: Array, times: Array, picks: Array) -> Array:
    y = np.log(times[picks, np.arange(len(n))])
    return (y[:, -1] - y[:, 0]) / np.log(n[-1] / n[0])


def _without_logs(n: Array, times: Array, picks: Array) -> Array:
    x = n - n.mean()
    return times[picks, np.arange(len(n))] @ x / (x @ x)


def _through_origin(n: Array, times: Array, picks: Array) -> Array:
    x = np.log(n)
    return np.log(times[picks, np.arange(len(n))]) @ x / (x @ x)


def _one_log(n: Array, times: Array, picks: Array) -> Array:
    x = n - n.mean()
    return np.log(times[picks, np.arange(len(n))]) @ x / (x @ x)


def _medians(n: Array, times: Array, picks: Array) -> Array:
    return np.full(len(picks), slope(n, np.median(times, axis=0)))


def _mixed_bases(n: Array, times: Array, picks: Array) -> Array:
    return _slopes(n, times, picks) / np.log(2)


def _steps(n: Array, times: Array, picks: Array) -> Array:
    y = np.log(times[picks, np.arange(len(n))])
    return (np.diff(y) / np.diff(np.log(n))).mean(axis=1)


def _make(
    rng: np.random.Generator, runs: int, m: int, draws: int, power: float, noise: float
) -> tuple:
    n = rng.choice(np.arange(2, 200), m, replace=False) * 16.0
    times = n**power * 10 ** rng.uniform(-7, 0) * np.exp(rng.normal(0, noise, (runs, m)))
    return n, times, rng.integers(0, runs, (draws, m))


def _draw(rng: np.random.Generator) -> tuple:
    runs, m, draws = (int(x) for x in rng.integers([1, 2, 1], [8, 9, 12]))
    return _make(rng, runs, m, draws, float(rng.uniform(0, 3)), float(rng.choice([0.01, 0.2])))


_FIRST = (np.array([1.0, 2.0, 8.0]), np.array([[1.0, 2.0, 16.0], [2.0, 4.0, 8.0]]),
          np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]]))  # fmt: skip

SLOPES = Check(
    "slopes",
    reference=_slopes,
    cases=[
        Case("two runs of three lengths, four draws", _FIRST),
        Case("one run, one draw", (np.array([10.0, 20.0]), np.array([[3.0, 12.0]]),
                                   np.array([[0, 0]]))),
        Case("lengths in no order", (np.array([8.0, 1.0, 4.0]), _FIRST[1], _FIRST[2])),
        Case("as many runs as lengths", _make(np.random.default_rng(0), 4, 4, 6, 2.0, 0.1)),
        Case("five runs, forty draws", _make(np.random.default_rng(1), 5, 6, 40, 1.5, 0.3)),
    ],
    mistakes=[
        Mistake("whole runs", _per_run,
                "You take all lengths from one run. picks has a run for each length of each draw."),
        Mistake("first and last", _ends, "You used the two ends only. Fit a line to all lengths."),
        Mistake("no logarithms", _without_logs, "That is the slope of the times themselves."),
        Mistake("one logarithm", _one_log, "Take the logarithm of n too."),
        Mistake("through 0", _through_origin, "Your line goes through the origin. It needs not."),
        Mistake("medians", _medians, "You fitted the medians, the same for each draw."),
        Mistake("two bases", _mixed_bases, "Both logarithms need the same base."),
        Mistake("steps", _steps, "You took the mean of the slopes between neighbours."),
    ],
    hints=[
        "For one draw: y[j] = times[picks[b, j], j], then np.polyfit of the logarithms.",
        "All draws: times[picks, np.arange(len(n))] has shape [B, m].",
        "Less its mean, x = log n gives the slope log(y) @ x / (x @ x).",
    ],
    draw=_draw,
)  # fmt: skip


def check_slopes(f: Any) -> Result:
    """Check f(n [m], times [runs, m], picks [B, m]) -> slopes [B].

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return SLOPES.run(f)
