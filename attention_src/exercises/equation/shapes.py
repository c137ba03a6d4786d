"""The ladder on shapes: what fits into what, and what it costs."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung

Q, K, V = np.zeros((6, 4)), np.zeros((9, 4)), np.zeros((9, 7))
MANY = np.zeros((2, 3, 9, 4))  # the keys of 2 texts and 3 heads


def _numbers(n_heads: int, n: int) -> int:
    """How many scores a layer has."""
    return n_heads * n * n


SHAPES = Ladder(
    "shapes",
    [
        Rung(
            "a",
            "the shape of the scores",
            lambda: (Q @ K.T).shape,
            replies=[
                Reply(lambda: (K @ Q.T).shape, "Transposed: a row for each query, not each key."),
                Reply(lambda: (Q.T @ Q).shape, "d_k is what the product sums over; it is gone."),
                Reply(lambda: (6, 6), "Only where the queries and keys are equally many."),
                Reply(lambda: (9, 9), "Only where the queries and keys are equally many."),
            ],
            hint="One score for each pair of query and key.",
        ),
        Rung(
            "b",
            "the shape of the output",
            lambda: (Q @ K.T @ V).shape,
            replies=[
                Reply(lambda: V.shape, "Who asks gets an answer: one row for each query."),
                Reply(lambda: Q.shape, "Answers are made of values, so they are as wide as those."),
                Reply(lambda: (6, 9), "This is the shape of the weights."),
            ],
            hint="One row for each query, as wide as a value.",
        ),
        Rung(
            "c",
            "the shape of w_v",
            lambda: (12, V.shape[1]),
            replies=[
                Reply(
                    lambda: (12, K.shape[1]),
                    "This one makes keys. A value has d_v = 7 numbers, whatever d_k is.",
                ),
                Reply(lambda: (7, 12), "Transposed: tokens stand on the left, x @ w_v."),
            ],
            hint="[12] times [12, what?] gives one value.",
        ),
        Rung(
            "d",
            "the shape of the keys, turned",
            lambda: MANY.swapaxes(-1, -2).shape,
            replies=[
                Reply(
                    lambda: MANY.T.shape,
                    "This is what .T gives: it turns all four axes, and mixes texts and heads.",
                ),
                Reply(lambda: MANY.shape, "As they are, queries and keys meet on the wrong axis."),
            ],
            hint="Only the last two axes change places.",
        ),
        Rung(
            "e",
            "operations of both products",
            lambda: 2 * 6 * 9 * (4 + 7),
            replies=[
                Reply(
                    lambda: 6 * 9 * (4 + 7),
                    "You counted a multiplication and its addition as one; here they are two.",
                ),
                Reply(lambda: 2 * 6 * 9 * 4, "This is the first product. The second meets V."),
                Reply(
                    lambda: 2 * 6 * 9 * (4 + 4),
                    "The second product is with V, whose rows have 7 numbers.",
                ),
                Reply(lambda: 2 * 9 * 9 * (4 + 7), "There are 6 queries, not 9."),
            ],
            hint="For each entry of a product: how many multiplications, how many additions?",
            rtol=1e-6,
        ),
        Rung(
            "f",
            "GiB of scores in one layer",
            lambda: _numbers(32, 4096) * 2 / 2**30,
            replies=[
                Reply(
                    lambda: _numbers(32, 4096) / 2**30,
                    "So many numbers, in units of 2^30; each takes 2 bytes.",
                ),
                Reply(lambda: _numbers(1, 4096) * 2 / 2**30, "One head. There are 32."),
                Reply(lambda: _numbers(32, 4096) * 8 / 2**30, "This is in float64."),
                Reply(lambda: _numbers(32, 4096) * 4 / 2**30, "This is in float32."),
            ],
            hint="4,096 is 2^12, so its square is 2^24; 32 is 2^5.",
        ),
    ],
)


def check_shapes(
    a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ..., f: Any = ...
) -> Result:
    """Check the rungs of the ladder; `...` = not answered yet.

    Args:
        a, b, c, d: shapes, as tuples
        e: operations
        f: GiB
    Returns: status and message, as printed
    """
    return SHAPES.run(a=a, b=b, c=c, d=d, e=e, f=f)
