"""The ladder on what one vector could hold: bits of a word, bits of a state."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung

LETTERS, WIDTH, RIGHT_WORDS = 26, 52, 0.07

BUDGET = Ladder(
    "budget",
    [
        Rung(
            "a",
            "bits of one letter",
            lambda: np.log2(LETTERS),
            replies=[
                Reply(lambda: np.log(LETTERS), "This is the natural logarithm. Bits need base 2."),
                Reply(lambda: 5, "Five yes-or-no questions are enough; on average, fewer will do."),
                Reply(
                    lambda: LETTERS, "This is the number of letters. How many yes-or-no answers?"
                ),
            ],
            hint="np.log2 of the number of choices.",
        ),
        Rung(
            "b",
            "bits of a word of 8 letters",
            lambda: 8 * np.log2(LETTERS),
            replies=[
                Reply(lambda: LETTERS**8, "These are the words. Take the logarithm."),
                Reply(lambda: np.log2(8 * LETTERS), "Choices multiply: 26 · 26 · …, not 8 · 26."),
                Reply(lambda: 38, "Rounded too far: give one decimal."),
                Reply(lambda: 40, "With 5 bits for each letter. On average, fewer will do."),
            ],
            hint="Choices multiply, so their logarithms add.",
        ),
        Rung(
            "c",
            "the longest word that fits into 52 signs",
            lambda: WIDTH // np.log2(LETTERS),
            replies=[
                Reply(
                    lambda: WIDTH / np.log2(LETTERS),
                    "Whole letters only: round down.",
                ),
                Reply(
                    lambda: WIDTH // np.log2(LETTERS) + 1,
                    "This one needs more than 52 bits. Round down.",
                ),
                Reply(lambda: WIDTH // 5, "With 5 bits for each letter. Words can share bits."),
            ],
            hint="52 bits, divided by what one letter needs, rounded down.",
            rtol=0,
        ),
        Rung(
            "d",
            "the share of letters, if slips were independent",
            lambda: RIGHT_WORDS ** (1 / 8),
            replies=[
                Reply(lambda: RIGHT_WORDS * 8, "Probabilities multiply: share ** 8 is 0.07."),
                Reply(lambda: RIGHT_WORDS / 8, "Probabilities multiply: share ** 8 is 0.07."),
                Reply(
                    lambda: (1 - RIGHT_WORDS) ** (1 / 8),
                    "This takes 0.07 for the words that are wrong. They are the right ones.",
                ),
                Reply(
                    lambda: 1 - RIGHT_WORDS ** (1 / 8),
                    "This is the share of wrong letters.",
                ),
                Reply(
                    lambda: 100 * RIGHT_WORDS ** (1 / 8),
                    "This is in per cent. Give a share, between 0 and 1.",
                ),
                Reply(
                    lambda: 0.765,
                    "This is the share that the page printed. Compute what it would be if slips "
                    "were independent, then compare.",
                ),
                Reply(lambda: 0.7, "Rounded too far: give two decimals."),
            ],
            hint="share ** 8 = 0.07",
        ),
        Rung(
            "e",
            "numbers within the reach of attention",
            lambda: 8 * 48,
            replies=[
                Reply(lambda: 48, "This is one state. Attention may look at each of the eight."),
                Reply(lambda: 8 * 52, "The copyist with attention has states of 48 numbers."),
                Reply(lambda: 8 * 8, "These are the weights. How many numbers do they average?"),
            ],
            hint="A state for each letter.",
            rtol=0,
        ),
    ],
)


def check_budget(a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ...) -> Result:
    """Check the rungs of the exercise "Is the vector too small?".

    Args:
        a: bits
        b: bits
        c: a whole number of letters
        d: a share
        e: a whole number
    Returns: status and message, as printed
    """
    return BUDGET.run(a=a, b=b, c=c, d=d, e=e)
