"""The ladder on what a dot product learns."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung

P, FIRST, SECOND, NEGATIVES = 1 / 50, 1 / 10, 1 / 20, 5
R = FIRST * SECOND

DOT = Ladder(
    "dot",
    [
        Rung(
            "a",
            "the share of the made-up pairs",
            lambda: R,
            replies=[
                Reply(lambda: FIRST + SECOND, "Both must be drawn: multiply, don't add."),
                Reply(lambda: P, "That is the share of the real pairs."),
                Reply(
                    lambda: R / 2,
                    "Of the made-up pairs, not of all: don't halve it.",
                ),
            ],
            hint="Two words, each drawn on its own.",
        ),
        Rung(
            "b",
            "where the dot product settles, with as many made-up pairs as real ones",
            lambda: np.log(P / R),
            replies=[
                Reply(lambda: P / R, "This is the ratio. The dot product learns its logarithm."),
                Reply(lambda: np.log2(P / R), "This is in bits; here ln is natural."),
                Reply(lambda: np.log(R / P), "Turn the ratio round: real over made-up."),
                Reply(
                    lambda: P / (P + R),
                    "This is the probability that the pair is real. The dot product is what sigma "
                    "makes it from.",
                ),
                Reply(lambda: np.log(P), "The share alone says nothing. What would chance give?"),
            ],
            hint="e^x = P / R",
        ),
        Rung(
            "c",
            "where it settles with five made-up pairs for each real one",
            lambda: np.log(P / (NEGATIVES * R)),
            replies=[
                Reply(
                    lambda: np.log(P / R) / NEGATIVES,
                    "The five stand inside the logarithm: P / (5 R).",
                ),
                Reply(
                    lambda: np.log(P / R) + np.log(NEGATIVES),
                    "More made-up pairs push down, not up.",
                ),
                Reply(lambda: np.log(P / R), "This is (b). Now R is five times as large."),
                Reply(
                    lambda: 0.0,
                    "Only the positive kind is cut off at 0. The dot product itself goes below.",
                ),
            ],
            hint="ln(P / (5 R)); it need not be positive.",
        ),
        Rung(
            "d",
            "the slope of the loss by the dot product at 0",
            lambda: (R - P) / 2,
            replies=[
                Reply(lambda: (P - R) / 2, "Its sign: a larger dot product lowers this loss."),
                Reply(lambda: R - P, "sigma(0) is a half."),
                Reply(
                    lambda: (R - P) / 4,
                    "P and R are shares of the real and of the made-up pairs, and each kind sums "
                    "to 1. No further half.",
                ),
                Reply(
                    lambda: (P + R) * np.log(2),
                    "This is the loss itself. Its slope is asked.",
                ),
            ],
            hint="R sigma(0) - P (1 - sigma(0))",
        ),
        Rung(
            "e",
            "the cosine",
            lambda: np.log(P / R) / 4,
            replies=[
                Reply(lambda: np.log(P / R), "This is the dot product. Divide by both norms."),
                Reply(lambda: np.log(P / R) / 2, "Divide by both norms, not by one."),
                Reply(lambda: P / R / 4, "The dot product is ln 4, not 4."),
            ],
            hint="The dot product over the product of the norms, 2 times 2.",
        ),
    ],
)


def check_dot(a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ...) -> Result:
    """Check the rungs of the exercise "What a dot product learns".

    Args:
        a: a share
        b: a dot product
        c: a dot product
        d: a slope
        e: a cosine
    Returns: status and message, as printed
    """
    return DOT.run(a=a, b=b, c=c, d=d, e=e)
