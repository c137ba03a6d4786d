"""The ladder on what a state takes and holds: one head of width 128."""

from typing import Any

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung

D, N, PAIRS = 128, 8192, 2049

ROOM = Ladder(
    "room",
    [
        Rung(
            "a",
            "numbers in the state",
            lambda: D * D,
            [
                Reply(
                    lambda: 2 * D,
                    "That is a key and a value. The state has a row for each channel.",
                )
            ],
            hint="d_k rows of d_v numbers.",
            rtol=0,
        ),
        Rung(
            "b",
            "tokens whose keys and values take as much",
            lambda: D / 2,
            [
                Reply(lambda: D, "A token leaves a key and a value, 128 numbers each."),
                Reply(lambda: D * D, "That is the number of numbers. A token leaves 256 of them."),
            ],
            hint="(a) over 2 · 128.",
            rtol=0,
        ),
        Rung(
            "c",
            "pairs that can be read back without any crosstalk",
            lambda: D,
            [
                Reply(
                    lambda: D * D, "There are as many numbers. How many orthogonal keys are there?"
                ),
                Reply(lambda: D / 2, "That is your (b). Count directions, not bytes."),
            ],
            hint="Keys must be orthogonal, in 128 dimensions.",
            rtol=0,
        ),
        Rung(
            "d",
            "standard deviation of the crosstalk, 2,049 random keys",
            lambda: ((PAIRS - 1) / D) ** 0.5,
            [
                Reply(lambda: (PAIRS - 1) / D, "That is the variance. Take its root."),
                Reply(lambda: (PAIRS / D) ** 0.5, "The pair itself is no crosstalk: 2,048 others."),
                Reply(
                    lambda: (D / (PAIRS - 1)) ** 0.5, "Turn it over: more pairs, more crosstalk."
                ),
            ],
            hint="sqrt((n − 1) / d_k).",
            rtol=1e-4,
        ),
        Rung(
            "e",
            "FLOP of softmax's two products over those of the state, 8,192 tokens",
            lambda: N / D,
            [
                Reply(lambda: D / N, "How many times more: turn it over."),
                Reply(lambda: N, "The state's products are not of width 1: 4 n d² against 4 n² d."),
            ],
            hint="4 n² d over 4 n d².",
            rtol=0,
        ),
        Rung(
            "f",
            "FLOP for one more token: softmax over the state, after 8,192 tokens",
            lambda: N / D,
            [
                Reply(lambda: N, "The state takes 4 d², not 4 d."),
                Reply(lambda: 2 * N / D, "Both take two products: 4 n d against 4 d²."),
                Reply(
                    lambda: 1.0,
                    "Softmax looks at 8,192 keys for that token; the state at 128 rows.",
                ),
            ],
            hint="One query against n keys and values: 4 n d. One write and one read: 4 d².",
            rtol=0,
        ),
    ],
)


def check_room_ladder(
    a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ..., f: Any = ...
) -> Result:
    """Check the rungs of "Room".

    Args:
        a, b, c, d, e, f: the learner's numbers; `...` = not answered yet
    Returns: status and message, as printed
    """
    return ROOM.run(a=a, b=b, c=c, d=d, e=e, f=f)
