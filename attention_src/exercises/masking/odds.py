"""The ladder on hiding a key: what the others gain, and when float32 forgets them."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung

P, V = np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.0, 2.0, 3.0, 4.0])  # the last key is hidden


def _first_lead(gone: Any) -> int:
    """The smallest whole lead of the hidden key at which `gone` is true."""
    return next(lead for lead in range(1, 1000) if gone(float(lead)))


def _share_is_1(lead: float, dtype: type = np.float32) -> bool:
    """Whether the hidden key's weight beside keys of score 0 and -1 is computed as 1."""
    e = np.exp(np.array([-lead, -1 - lead, 0], dtype=dtype))
    return bool(e[2] / e.sum() == 1)


def _rounded_once(lead: float) -> bool:
    """Whether the hidden key's share, computed exactly, is rounded to 1 in float32."""
    return bool(np.float32(1 / (1 + np.exp(-lead) + np.exp(-1 - lead))) == 1)


def _first_lead_at_0(score: float, dtype: type = np.float32) -> int:
    """The first lead over a key of score 0 at which a key of this score has the weight 0."""
    return _first_lead(lambda lead: dtype(np.exp(score - lead)) == 0)


ODDS = Ladder(
    "odds",
    [
        Rung(
            "a",
            "the three new weights",
            lambda: P[:3] / (1 - P[3]),
            replies=[
                Reply(lambda: P[:3], "These are the old ones; they no longer sum to 1."),
                Reply(
                    lambda: P[:3] + P[3] / 3,
                    "You shared the lost weight out equally. Ratios stay as they were, since no "
                    "visible score changed.",
                ),
            ],
            hint="Their ratios stay 1 : 2 : 3, and they sum to 1.",
        ),
        Rung(
            "b",
            "the new output",
            lambda: (P[:3] * V[:3]).sum() / (1 - P[3]),
            replies=[
                Reply(lambda: (P * V).sum(), "This is the old output."),
                Reply(
                    lambda: (P[:3] * V[:3]).sum(),
                    "You took the hidden share away. What is left must be divided too.",
                ),
                Reply(lambda: V[:3].mean(), "This is the plain mean. Weigh the values."),
            ],
            hint="From o = 3 take what the hidden key added, then divide.",
        ),
        Rung(
            "c",
            "the factor for a hidden share of 0.99",
            lambda: 1 / (1 - 0.99),
            replies=[Reply(lambda: 1 / 0.99, "This divides by the hidden share, not by the rest.")],
            hint="1 / (1 - p_S)",
        ),
        Rung(
            "d",
            "the first whole lead at which p_S is computed as 1",
            lambda: _first_lead(_share_is_1),
            replies=[
                Reply(
                    lambda: _first_lead(_rounded_once),
                    "So it is on paper, rounded once. In float32 the sum 1 + e rounds before that.",
                ),
                Reply(
                    lambda: _first_lead(lambda lead: _share_is_1(lead, np.float64)),
                    "This is float64's.",
                ),
            ],
            hint="Call weights(lead) for whole leads, until the last one is 1.",
            rtol=0,
        ),
        Rung(
            "e",
            "the first whole lead at which both visible weights are 0",
            lambda: _first_lead_at_0(0),
            replies=[
                Reply(
                    lambda: _first_lead(lambda lead: np.exp(-lead) < np.finfo(np.float32).tiny),
                    "Below 1.2e-38 float32 loses digits, one by one, but it is not 0 yet.",
                ),
                Reply(
                    lambda: _first_lead(_share_is_1),
                    "There 1 - p_S is 0. The visible weights are small, and still there.",
                ),
                Reply(
                    lambda: _first_lead_at_0(-1),
                    "There one of the two is 0, and the other gets it all. That is wrong, but it "
                    "is a number.",
                ),
                Reply(lambda: _first_lead_at_0(0, np.float64), "This is float64's."),
            ],
            hint="Call weights(lead) for whole leads, until the first two are 0.",
            rtol=0,
        ),
    ],
)


def check_odds(a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ...) -> Result:
    """Check the rungs of the exercise "What the others gain".

    Args:
        a: the three new weights
        b: the new output
        c: a factor
        d: a whole number
        e: a whole number
    Returns: status and message, as printed
    """
    return ODDS.run(a=a, b=b, c=c, d=d, e=e)
