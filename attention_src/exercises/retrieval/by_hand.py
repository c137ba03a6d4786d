"""The ladder on a look-up by hand: gaps, temperature, and a key that stands there twice."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung

GAP = np.log(1.5)  # of apple's score over banana's

BY_HAND = Ladder(
    "by_hand",
    [
        Rung(
            "a",
            "the weight of apple",
            lambda: 8 / 10,
            replies=[
                Reply(lambda: 0.2, "This is banana's."),
                Reply(lambda: 0.9, "The output is 9, the weight is not 0.9: banana adds 5s."),
            ],
            hint="10 p + 5 (1 − p) = 9",
        ),
        Rung(
            "b",
            "the gap of the scores",
            lambda: np.log(4),
            replies=[
                Reply(lambda: 4, "This is the ratio of the weights. The gap is its logarithm."),
                Reply(lambda: -np.log(4), "Apple leads: the gap is positive."),
                Reply(
                    lambda: np.log10(4),
                    "0.6 is the difference of the weights, 0.602 the logarithm of their ratio to "
                    "base 10. The weights are powers of e: take the natural logarithm.",
                ),
                Reply(lambda: np.log(0.8), "Compare the two weights: their ratio is 0.8 / 0.2."),
                Reply(lambda: 2, "This is the logarithm to base 2; the weights are powers of e."),
            ],
            hint="The ratio of two weights is e to the power of their scores' gap.",
        ),
        Rung(
            "c",
            "the temperature",
            lambda: GAP / np.log(4),
            replies=[
                Reply(lambda: np.log(4) / GAP, "This is 1/τ: cold, below 1, makes sharper."),
                Reply(lambda: GAP * np.log(4), "Divide the gap that you have by the one you need."),
                Reply(lambda: 1 / 4, "The weights have the ratio 4, but scores act through e."),
            ],
            hint="At temperature τ the gap is 0.405/τ. Which gap do you need?",
        ),
        Rung(
            "d",
            "the output with banana twice",
            lambda: (1.5 * 10 + 5 + 5) / 3.5,
            replies=[
                Reply(lambda: 8, "This is the output with one banana. A second one takes weight."),
                Reply(lambda: 20 / 3, "This is the plain mean. Apple still leads."),
                Reply(
                    lambda: 0.6 * 10 + 0.8 * 5, "The weights sum to 1: apple's share shrinks too."
                ),
                Reply(lambda: 0.5 * 10 + 0.5 * 5, "Ratios stay 1.5 : 1 : 1."),
            ],
            hint="The weights have the ratios 1.5 : 1 : 1.",
        ),
        Rung(
            "e",
            "how many bananas",
            lambda: 5,
            replies=[
                Reply(lambda: 4, "With four the output is still above 6.3."),
                Reply(lambda: 6, "One fewer is enough."),
                Reply(lambda: 3, "Three only bring it down to 6.7."),
            ],
            hint="With m bananas the output is (15 + 5 m) / (1.5 + m).",
            rtol=0,
        ),
    ],
)


def check_by_hand(a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ...) -> Result:
    """Check the rungs of the exercise "A look-up by hand".

    Args:
        a: a weight
        b: a gap of scores
        c: a temperature
        d: an output
        e: a whole number
    Returns: status and message, as printed
    """
    return BY_HAND.run(a=a, b=b, c=c, d=d, e=e)
