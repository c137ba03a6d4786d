"""The ladder on what W_Q and W_K hold: a form of low rank, and how many numbers it has."""

from typing import Any

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung

D_MODEL, D_K = 512, 64

RANK = Ladder(
    "rank",
    [
        Rung(
            "a",
            "the numbers in W_Q and W_K",
            lambda: 2 * D_MODEL * D_K,
            replies=[
                Reply(lambda: D_MODEL * D_K, "This is one of the two."),
                Reply(lambda: 3 * D_MODEL * D_K, "W_V takes no part in scores."),
                Reply(lambda: D_MODEL * D_MODEL, "This is their product's."),
            ],
            hint="Each is [d_model, d_k].",
            rtol=0,
        ),
        Rung(
            "b",
            "the numbers in A",
            lambda: D_MODEL**2,
            replies=[
                Reply(lambda: D_K**2, "This is W_Q^T W_K. A is W_Q W_K^T."),
                Reply(lambda: D_MODEL * D_K, "A is as wide as it is high."),
            ],
            hint="A takes a token on each side.",
            rtol=0,
        ),
        Rung(
            "c",
            "the largest rank that A can have",
            lambda: D_K,
            replies=[
                Reply(lambda: D_MODEL, "That is a full matrix's. A passes through d_k numbers."),
                Reply(lambda: 2 * D_K, "The rank of a product is at most that of either factor."),
            ],
            hint="x W_Q has d_k numbers. What can x A see beyond them?",
            rtol=0,
        ),
        Rung(
            "d",
            "the numbers in W_Q and W_K that scores can feel",
            lambda: 2 * D_MODEL * D_K - D_K**2,
            replies=[
                Reply(lambda: D_K**2, "This is how many B has: take them away."),
                Reply(
                    lambda: 2 * D_MODEL * D_K,
                    "This is all of them. B changes them, and no score.",
                ),
                Reply(lambda: D_MODEL**2, "A is not free to be any matrix: its rank is small."),
                Reply(
                    lambda: 2 * D_MODEL * D_K - 2 * D_K**2,
                    "W_Q is changed by B and W_K by its inverse: one choice, taken away once.",
                ),
            ],
            hint="B is any invertible [d_k, d_k]. How many numbers is that?",
            rtol=0,
        ),
        Rung(
            "e",
            "the d_k at which W_Q and W_K hold as many numbers as A",
            lambda: D_MODEL // 2,
            replies=[
                Reply(
                    lambda: D_MODEL,
                    "There they hold twice as many. (And scores feel as many as A has.)",
                ),
                Reply(lambda: D_MODEL / 4, "There they hold half as many."),
            ],
            hint="2 d_model d_k = d_model^2",
            rtol=0,
        ),
        Rung(
            "f",
            "the numbers in b_Q and b_K that weights can feel",
            lambda: D_K,
            replies=[
                Reply(lambda: 2 * D_K, "b_K adds the same to a whole row of scores."),
                Reply(lambda: 0, "b_Q k_j differs from key to key."),
            ],
            hint="Which of the terms q k, b_Q k, q b_K and b_Q b_K depend on the key?",
            rtol=0,
        ),
    ],
)


def check_rank(
    a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ..., f: Any = ...
) -> Result:
    """Check the rungs of the exercise "What two matrices hold".

    Args:
        a: a whole number
        b: a whole number
        c: a whole number
        d: a whole number
        e: a whole number
        f: a whole number
    Returns: status and message, as printed
    """
    return RANK.run(a=a, b=b, c=c, d=d, e=e, f=f)
