"""The check of positive pointwise mutual information."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result


def _pmi(counts: Any, *, base: Any = np.log, chance: Any = None) -> np.ndarray:
    """PMI in float64; a pair that was never seen gets -inf."""
    p = np.asarray(counts, dtype=np.float64) / np.sum(counts, dtype=np.float64)
    r = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True) if chance is None else chance(p)
    seen = p > 0
    ratio = np.where(seen, p, 1) / np.where(seen, r, 1)
    return np.asarray(np.where(seen, base(ratio), -np.inf))


def _ppmi(counts: np.ndarray) -> np.ndarray:
    """PMI, and 0 where it is negative or where nothing was seen."""
    return np.asarray(np.maximum(_pmi(counts), 0))


def _divided_by_zero(counts: Any) -> np.ndarray:
    p = np.asarray(counts, dtype=np.float64) / np.sum(counts, dtype=np.float64)
    r = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    return np.asarray(np.maximum(np.log(p / r), 0))


def _one_among_many(n: int) -> np.ndarray:
    """Two rare words that meet once, [n, n], beside pairs that meet all the time."""
    counts = np.full((n, n), 100_000.0)
    counts[0], counts[:, 0] = 0, 0
    counts[0, 0] = 1
    return counts


def _draw(rng: np.random.Generator) -> tuple:
    """Counts of any shape and size, with zeros, empty rows and empty columns."""
    n, m = (int(i) for i in rng.choice([1, 2, 3, 5, 8], 2))
    counts = rng.poisson(rng.choice([0.7, 3.0, 40.0]), (n, m)) * int(rng.choice([1, 1, 900]))
    counts[rng.random(n) < 0.15] = 0
    counts[:, rng.random(m) < 0.15] = 0
    counts[rng.integers(n), rng.integers(m)] += 1
    return (counts.astype(rng.choice(["int64", "float64"])),)


PPMI = Check(
    "ppmi",
    reference=_ppmi,
    cases=[
        Case("two words, three contexts", (np.array([[6.0, 1.0, 1.0], [2.0, 1.0, 9.0]]),)),
        Case("whole numbers", (np.array([[10, 1], [2, 7], [3, 3]], dtype=np.int64),)),
        Case("pairs that were never seen", (np.array([[4.0, 0.0], [0.0, 2.0], [1.0, 1.0]]),)),
        Case("a word that was never seen", (np.array([[4.0, 1.0, 2.0], [0.0, 0.0, 0.0]]),)),
        Case("a context without words", (np.array([[4.0, 0.0], [3.0, 0.0]]),)),
        Case(
            "large counts",
            (np.array([[100_000, 2], [3, 90_000], [70_000, 1]], dtype=np.int64),),
        ),
        Case("one meeting among millions", (_one_among_many(13).astype(np.int64),)),
        Case("one meeting among more millions", (_one_among_many(50),)),
        Case("one count", (np.array([[5]], dtype=np.int64),)),
    ],
    mistakes=[
        Mistake(
            "not cut off",
            lambda counts: np.where(np.isinf(_pmi(counts)), 0, _pmi(counts)),
            "This is PMI with its negative entries. The positive kind has 0 there.",
        ),
        Mistake(
            "0 / 0",
            _divided_by_zero,
            "An empty row or column has P = 0, and 0 / 0 is not a number. Treat pairs that were "
            "never seen apart.",
        ),
        Mistake(
            "base 2",
            lambda counts: np.maximum(_pmi(counts, base=np.log2), 0),
            "You took the logarithm to base 2; here it is the natural one.",
        ),
        Mistake(
            "row shares only",
            lambda counts: np.maximum(
                _pmi(counts, chance=lambda p: np.broadcast_to(p.sum(1, keepdims=True), p.shape)), 0
            ),
            "You divided by P(w) alone. A frequent context meets everybody: divide by P(c) too.",
        ),
        Mistake(
            "ratio without logarithm",
            lambda counts: np.where(np.isinf(_pmi(counts)), 0, np.exp(_pmi(counts))),
            "This is the ratio itself. Take its logarithm.",
        ),
        Mistake(
            "plus one before the logarithm",
            lambda counts: np.log1p(np.exp(_pmi(counts))),
            "You took ln(1 + ratio). That avoids -inf, but a ratio of 1 (chance) must give 0.",
        ),
        Mistake(
            "add-one counts",
            lambda counts: np.maximum(_pmi(np.asarray(counts) + 1.0), 0),
            "You added 1 to all counts. That is a smoothing that nobody asked for here.",
        ),
        Mistake(
            "rows for columns",
            lambda counts: np.maximum(
                _pmi(counts, chance=lambda p: p.sum(1, keepdims=True) ** 2 + 0 * p), 0
            ),
            "You used P(w) twice. The columns have shares of their own: axis=0.",
        ),
    ],
    hints=[
        "p = counts / counts.sum(). What are P(w) and P(c) in terms of p?",
        "P(w) is p.sum(axis=1, keepdims=True), P(c) is p.sum(axis=0, keepdims=True).",
        "Where p is 0 use a ratio of 1 (np.where, before dividing), then np.maximum(..., 0).",
    ],
    draw=_draw,
)


def check_ppmi(f: Any) -> Result:
    """Check f(counts [n, m]) -> positive pointwise mutual information [n, m].

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return PPMI.run(f)
