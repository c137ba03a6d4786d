"""The check of a sign-flip test: how often does luck do as well as the best head?"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result


def _best(difference: np.ndarray) -> int:
    """The most pairs that one head moves the right way."""
    return int((difference > 0).sum(axis=0).max())


def _flipped(difference: np.ndarray, best: Callable = _best) -> np.ndarray:
    """The best count for each pattern of swapped pairs, the unswapped one first."""
    signs = itertools.product([1, -1], repeat=len(difference))
    return np.array([best(difference * np.array(s)[:, None]) for s in signs])


def _luck(difference: np.ndarray) -> float:
    """The share of all patterns of swapped pairs whose best head is as good or better."""
    return float((_flipped(difference) >= _best(difference)).mean())


def _one_coin(difference: np.ndarray) -> float:
    """The chance that n coins show as many heads as the best count."""
    heads = [sum(coins) for coins in itertools.product([0, 1], repeat=len(difference))]
    return float((np.array(heads) >= _best(difference)).mean())


def _many_coins(difference: np.ndarray) -> float:
    return float(1 - (1 - _one_coin(difference)) ** difference.shape[1])


def _chosen_head(difference: np.ndarray) -> float:
    chosen = (difference > 0).sum(axis=0).argmax()
    return _luck(difference[:, [chosen]])


def _not_against(difference: np.ndarray) -> int:
    return int((difference >= 0).sum(axis=0).max())


def _draw(rng: np.random.Generator) -> tuple:
    """2 to 8 pairs, 1 to 12 heads or 72, some of which go together; some are tiny, a few 0."""
    n_pairs, n_heads = int(rng.integers(2, 9)), int(rng.integers(1, 13))
    if rng.random() < 0.1:
        n_heads = 72
    d = rng.normal(rng.choice([0.0, 0.4]), 1, (n_pairs, n_heads))
    if rng.random() < 0.4:
        d = d + 2 * rng.normal(size=(n_pairs, 1))
    if rng.random() < 0.4:
        d[rng.random(d.shape) < 0.3] = 0
    if rng.random() < 0.3:
        d = d * 1e-12  # above 0 all the same
    return (d,)


_RNG = np.random.default_rng(8)
_TWO_HEADS = np.array([[0.3, -0.1], [0.2, 0.4], [0.1, -0.5]])

LUCK = Check(
    "luck",
    reference=_luck,
    cases=[
        Case("three pairs, two heads", (_TWO_HEADS,)),
        Case("one head, right in three of four", (np.array([[0.2], [0.1], [-0.3], [0.4]]),)),
        Case("two heads that always agree", (np.array([[1.0, 2.0], [1.0, 2.0], [-1.0, -2.0]]),)),
        Case("a difference of 0 counts for neither", (np.array([[0.0, 0.2], [0.5, 0.0]]),)),
        Case("tiny differences", (1e-12 * _TWO_HEADS,)),
        Case("eight pairs, 72 heads", (_RNG.normal(0, 1, (8, 72)),)),
        Case("ten pairs, twelve heads", (_RNG.normal(0.3, 1, (10, 12)),)),
        Case(
            "heads that nearly agree", (_RNG.normal(0.2, 1, (8, 1)) + _RNG.normal(size=(8, 6)) / 4,)
        ),
    ],
    draw=_draw,
    drawn=40,
    mistakes=[
        Mistake(
            "better only",
            lambda d: float((_flipped(d) > _best(d)).mean()),
            "You count the patterns that do better. Those that do as well count too: as good or "
            "better, >=.",
        ),
        Mistake(
            "as good only",
            lambda d: float((_flipped(d) == _best(d)).mean()),
            "You count the patterns that do exactly as well. Better ones count too.",
        ),
        Mistake(
            "the chosen head alone",
            _chosen_head,
            "You flip signs for the best head alone. In each pattern another head may be the best "
            "one: take the maximum again.",
        ),
        Mistake(
            "one coin",
            _one_coin,
            "This is the chance for a single head, chosen beforehand. Yours is the best of many.",
        ),
        Mistake(
            "independent coins",
            _many_coins,
            "You treat the heads as independent coins. They read the same sentences: flip the sign "
            "of a pair for all heads at once.",
        ),
        Mistake(
            "its own pattern left out",
            lambda d: float((_flipped(d) >= _best(d))[1:].mean()),
            "You left out the pattern without any swap. It is one of the 2^n.",
        ),
        Mistake(
            "a 0 counted as right",
            lambda d: float((_flipped(d, _not_against) >= _not_against(d)).mean()),
            "You count a difference of 0 as a move the right way. It is none: > 0.",
        ),
        Mistake(
            "a count",
            lambda d: float((_flipped(d) >= _best(d)).sum()),
            "This is a number of patterns. Divide by 2^n.",
        ),
        Mistake(
            "the other tail",
            lambda d: float((_flipped(d) <= _best(d)).mean()),
            "You count the patterns that do worse or as well. Count as good or better.",
        ),
    ],
    hints=[
        "The statistic is one number: the most pairs that any head moves the right way.",
        "itertools.product([1, -1], repeat=n_pairs) gives all patterns of signs.",
        "best = lambda d: (d > 0).sum(axis=0).max(), compared for d * signs[:, None] and for d.",
    ],
)


def check_luck(f: Any) -> Result:
    """Check f(difference [n_pairs, n_heads]) -> how often luck is as good as the best head.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return LUCK.run(f)
