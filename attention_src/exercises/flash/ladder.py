"""The ladder on what FlashAttention moves."""

import math
from typing import Any

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung

N, D, KB = 8192, 64, 128
NUMBERS = KB * 1024 // 2  # of 2 bytes, on the chip
ROWS = NUMBERS // (4 * D)
BLOCKS = N // ROWS
MOVED = BLOCKS * 3 * N * D
TABLE = 4 * N**2

TRAFFIC = Ladder(
    "traffic",
    [
        Rung(
            "a",
            "how many numbers fit on the chip",
            lambda: NUMBERS,
            replies=[
                Reply(lambda: KB * 1024, "These are bytes; a number takes 2."),
                Reply(lambda: KB * 1000 // 2, "1 KB is 1,024 bytes here."),
            ],
            hint="128 KB are 128 · 1,024 bytes.",
        ),
        Rung(
            "b",
            "the rows of a block of keys",
            lambda: ROWS,
            replies=[
                Reply(lambda: NUMBERS // D, "This is the whole chip. Keys get a quarter of it."),
                Reply(lambda: NUMBERS // 4, "This is a quarter, in numbers. A row holds 64."),
            ],
            hint="A quarter of the chip, in rows of d numbers.",
        ),
        Rung(
            "c",
            "how many blocks of keys there are",
            lambda: BLOCKS,
            replies=[
                Reply(lambda: BLOCKS**2, "These would be tiles, if blocks of queries were as long.")
            ],
            hint="n keys, cut into blocks of the size that you found in (b).",
        ),
        Rung(
            "d",
            "the numbers that move while all blocks of keys meet all queries",
            lambda: MOVED,
            replies=[
                Reply(lambda: MOVED // 3, "q alone. The accumulator comes in and goes out, too."),
                Reply(
                    lambda: MOVED // 3 * 2, "Count three: q in, accumulator in, accumulator out."
                ),
                Reply(lambda: 3 * N * D, "This is for one block of keys."),
                Reply(lambda: 2 * MOVED, "These are bytes. Count numbers."),
            ],
            hint="For each block of keys: q comes in, the accumulator comes in and goes out.",
        ),
        Rung(
            "e",
            "how many times less than the table's 4 n²",
            lambda: TABLE / MOVED,
            replies=[
                Reply(lambda: MOVED / TABLE, "The other way round."),
                Reply(
                    lambda: TABLE / 4 / MOVED,
                    "The table is moved four times: s written and read, p written and read.",
                ),
            ],
            hint="It is M / 3d² as well.",
        ),
        Rung(
            "f",
            "the width at which tiles and table move the same",
            lambda: math.sqrt(NUMBERS / 3),
            replies=[
                Reply(lambda: NUMBERS / 3, "This is d². Take the root."),
                Reply(lambda: math.sqrt(NUMBERS), "Where M / d² is 1. The ratio is M / 3d²."),
            ],
            hint="Set M / 3d² to 1.",
        ),
    ],
)


def check_traffic(
    a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ..., f: Any = ...
) -> Result:
    """Check the rungs of the exercise "What must pass".

    Args:
        a: a count of numbers
        b: rows
        c: a count of blocks
        d: a count of numbers
        e: a ratio
        f: a width
    Returns: status and message, as printed
    """
    return TRAFFIC.run(a=a, b=b, c=c, d=d, e=e, f=f)
