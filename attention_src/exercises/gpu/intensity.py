"""The ladder on arithmetic intensity."""

from typing import Any

from attention_src.costs.algorithms import decode_cost
from attention_src.costs.roofline import CHIPS
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung

N, SHARE = 1024, 4


def _decode(share: int) -> float:
    """FLOP per byte of keys and values, which the exercise counts alone."""
    cost = decode_cost(N, 64, 64, n_heads=share, n_kv_heads=1)
    return cost.flops / (2 * N * (64 + 64))


INTENSITY = Ladder(
    "intensity",
    [
        Rung(
            "a",
            "FLOP per byte of z = x + y",
            lambda: 1 / (3 * 4),
            replies=[
                Reply(lambda: 1 / 3, "You counted numbers. A float32 number has 4 bytes."),
                Reply(lambda: 1 / 8, "z is written too."),
                Reply(lambda: 2 / 12, "One addition for each number is one operation."),
                Reply(lambda: 12, "That is bytes for each FLOP; turn it round."),
            ],
            hint="Per number: how many operations, and how many bytes read and written?",
        ),
        Rung(
            "b",
            "FLOP per byte of a product of matrices",
            lambda: 2 * N**3 / (3 * 2 * N**2),
            replies=[
                Reply(lambda: N / 6, "A multiplication and an addition are two operations."),
                Reply(lambda: N / 2, "The result is written too: three matrices move."),
                Reply(lambda: 2 * N / 3, "You counted numbers. A float16 number has 2 bytes."),
            ],
            hint="2 n^3 operations; three matrices of n^2 numbers.",
        ),
        Rung(
            "c",
            "FLOP per byte of decoding where 4 heads share",
            lambda: _decode(SHARE),
            replies=[
                Reply(lambda: 1, "So it is if each head has its own keys and values."),
                Reply(lambda: 2 * SHARE, "You counted keys alone: a value is read too."),
                Reply(lambda: 1 / SHARE, "Sharing saves bytes, so intensity grows."),
                Reply(lambda: SHARE / 2, "The scores are not all: values are weighed and added."),
            ],
            hint="For one key and its value: bytes, and operations of each of the 4 heads.",
        ),
        Rung(
            "d",
            "heads that share, up to the ridge of an H100",
            lambda: CHIPS["H100"].ridge() / _decode(1),
            replies=[
                Reply(lambda: CHIPS["H100"].ridge() / 4, "How many in all, not how many fours."),
                Reply(lambda: CHIPS["T4"].ridge(), "That is the ridge of a T4."),
            ],
            hint="The ridge is peak / bandwidth. How many FLOP per byte does each head add?",
        ),
        Rung(
            "e",
            "texts, up to the ridge of a T4",
            lambda: CHIPS["T4"].ridge(),
            replies=[
                Reply(lambda: CHIPS["T4"].ridge() / 2, "A weight has 2 bytes, and takes 2 FLOP."),
                Reply(lambda: 2 * CHIPS["T4"].ridge(), "Multiplication and addition: 2 FLOP."),
                Reply(lambda: CHIPS["H100"].ridge(), "That is the ridge of an H100."),
            ],
            hint="How many operations is each weight read for?",
        ),
    ],
)


def check_intensity(a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ...) -> Result:
    """Check the rungs.

    Args:
        a, b, c, d, e: numbers; `...` = not answered yet
    Returns: status and message, as printed
    """
    return INTENSITY.run(a=a, b=b, c=c, d=d, e=e)
