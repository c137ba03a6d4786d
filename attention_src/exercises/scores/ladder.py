"""The ladder of the chapter on scores: what lengths do, and how to score a distance by a dot."""

import math
from typing import Any

import numpy as np

from attention_src.exercises.engine.ladder import Ladder, Reply, Rung
from attention_src.exercises.engine.messages import Result

_Q, _K = np.array([0.2, 0.1, 0.2]), np.array([3.0, 0.0, 4.0])


def _dot(q: np.ndarray = _Q, k: np.ndarray = _K) -> float:
    return float(sum(x * y for x, y in zip(q, k, strict=True)))


def _cosine() -> float:
    return _dot() / math.hypot(*_Q) / math.hypot(*_K)


def _ratio(q: np.ndarray = _Q) -> float:
    """The weight of the key 2k over that of k."""
    e = np.exp([_dot(q, _K), _dot(q, 2 * _K)])
    return float(e[1] / e[0])


def _gain() -> float:
    """By bisection: the gain that gives cosine 1 half the weight, with ten keys at cosine 0."""
    low, high = 0.0, 50.0
    for _ in range(80):
        middle = (low + high) / 2
        weight = math.exp(middle) / (math.exp(middle) + 10)
        low, high = (middle, high) if weight < 0.5 else (low, middle)
    return low


def _appended() -> float:
    """What to add to the dot's lead of key 3 over key 1, query 1, to get the distance's lead."""
    by_distance = -((1 - 3) ** 2) / 2 + (1 - 1) ** 2 / 2
    return by_distance - (1 * 3 - 1 * 1)


LENGTHS = Ladder(
    "lengths",
    [
        Rung(
            "a",
            "the dot product",
            _dot,
            [
                Reply(lambda: 1.5, "This is the product of the lengths, without the cosine."),
                Reply(lambda: 1.4 / math.sqrt(3), "The scale is not asked for here."),
            ],
            hint="Multiply entry by entry and add up.",
            rtol=1e-3,
        ),
        Rung(
            "b",
            "the cosine",
            _cosine,
            [
                Reply(lambda: math.acos(_cosine()), "This is the angle. Its cosine is asked for."),
                Reply(lambda: _dot() / math.hypot(*_K), "Divide by the query's length, too."),
                Reply(lambda: _dot() / math.hypot(*_Q), "Divide by the key's length, too."),
            ],
            hint="The lengths are 0.3 and 5.",
            rtol=1e-3,
        ),
        Rung(
            "c",
            "the weight of 2k over that of k",
            _ratio,
            [
                Reply(lambda: 2.0, "That is the ratio of the scores. Weights go by exp."),
                Reply(
                    lambda: math.exp(2.8), "That is exp of the larger score. Divide by the other."
                ),
                Reply(lambda: math.exp(-1.4), "That is the weight of k over that of 2k."),
            ],
            hint="A ratio of weights is exp of the difference of the scores.",
            rtol=2e-3,
        ),
        Rung(
            "d",
            "the same for a query twice as long",
            lambda: _ratio(2 * _Q),
            [
                Reply(lambda: 2 * _ratio(), "The lead doubles, so the ratio is squared."),
                Reply(_ratio, "All scores of the row double, and so does the lead."),
            ],
            hint="What becomes of the difference of the scores?",
            rtol=3e-3,
        ),
        Rung(
            "e",
            "the gain",
            _gain,
            [
                Reply(lambda: math.log(11), "The perfect key has ten rivals; itself is no rival."),
                Reply(lambda: math.log(5), "Half means as much as all ten rivals together."),
                Reply(lambda: 10.0, "exp of the gain should be 10."),
                Reply(
                    lambda: 1.0,
                    "At gain 1 it weighs 2.72 against 10. Log to base 10? Take the natural one.",
                ),
            ],
            hint="exp(g) against ten times exp(0).",
            rtol=2e-3,
        ),
        Rung(
            "f",
            "what to add to the dot's lead",
            _appended,
            [
                Reply(lambda: 4.0, "The sign: the far key has to lose ground."),
                Reply(lambda: -4.5, "Key 1 gets something appended as well: -1/2."),
                Reply(lambda: -2.0, "That is the lead by distance. What is the lead by dots?"),
            ],
            hint="-k²/2 for each key: -9/2 for one and -1/2 for the other.",
            rtol=1e-3,
        ),
    ],
)


def check_lengths(
    a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ..., f: Any = ...
) -> Result:
    """Check the rungs of the ladder.

    Args:
        a: the dot product
        b: the cosine
        c: the weight of 2k over that of k
        d: the same for a query twice as long
        e: the gain that gives the perfect key half the weight
        f: what to add to the lead of the far key
    Returns: status and message, as printed
    """
    return LENGTHS.run(a=a, b=b, c=c, d=d, e=e, f=f)
