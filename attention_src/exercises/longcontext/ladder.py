"""The ladder on what goes over the wire: 131,072 tokens on a ring of eight devices."""

from typing import Any

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung
from attention_src.ring.reference import bytes_sent

N, R, H, H_KV, D = 131_072, 8, 32, 8, 128
FLOPS, BYTES_A_SECOND = 400e12, 50e9
OWN = 2 * N // R * H_KV * 2 * D  # bytes of one rank's keys and values in one layer


def _sent(n_kv_heads: int = H_KV) -> int:
    return bytes_sent(N, R, D, D, n_kv_heads=n_kv_heads)


RING = Ladder(
    "ring",
    [
        Rung(
            "a",
            "bytes of one rank's keys and values",
            lambda: OWN,
            [
                Reply(lambda: OWN // 2, "A number in float16 takes two bytes; and count both."),
                Reply(lambda: OWN * R, "That is the whole text. A rank has an eighth of it."),
                Reply(lambda: OWN * H // H_KV, "That is with keys for each query head."),
            ],
            hint="n / R tokens, 8 heads, a key and a value of 128 numbers, two bytes each.",
            rtol=0,
        ),
        Rung(
            "b",
            "bytes that each rank sends",
            _sent,
            [
                Reply(lambda: R * OWN, "After the last step nobody needs the keys: R − 1 times."),
                Reply(lambda: OWN, "That is one step. How many times does it send?"),
                Reply(lambda: R * (R - 1) * OWN, "That is what all ranks send together."),
            ],
            hint="In each step but the last it passes on as much as (a).",
            rtol=0,
        ),
        Rung(
            "c",
            "the same with an all-gather that passes pieces round",
            _sent,
            [
                Reply(lambda: R * OWN, "It need not send its own piece to itself."),
                Reply(lambda: OWN, "Its piece has to reach seven others, by hands that pass on."),
                Reply(lambda: _sent() * R, "Each piece passes each link but one, once."),
            ],
            hint="Each of the R pieces has to reach R − 1 ranks that do not have it.",
            rtol=0,
        ),
        Rung(
            "d",
            "how many times as many keys and values the all-gather holds",
            lambda: R / 2,
            [
                Reply(lambda: R, "While it computes with one piece the ring receives the next."),
                Reply(lambda: R - 1, "The ring holds two pieces: one in use, one arriving."),
                Reply(lambda: 2 / R, "How many times as many: turn it over."),
            ],
            hint="All R pieces, against one in use and one that arrives.",
            rtol=0,
        ),
        Rung(
            "e",
            "tokens that a rank needs so that sending is hidden",
            lambda: H_KV / H * FLOPS / BYTES_A_SECOND,
            [
                Reply(
                    lambda: FLOPS / BYTES_A_SECOND,
                    "So it is without groups. Fewer bytes travel: 8 heads for 32.",
                ),
                Reply(lambda: H / H_KV * FLOPS / BYTES_A_SECOND, "Sharing makes it easier."),
                Reply(
                    lambda: 2 * H_KV / H * FLOPS / BYTES_A_SECOND,
                    "Two products of 2 n² d FLOP each: scores, and their sums of values.",
                ),
                Reply(
                    lambda: H_KV / H * FLOPS / BYTES_A_SECOND / 2,
                    "Keys and values travel, with two bytes for each number: 4 n H_kv d bytes.",
                ),
            ],
            hint="4 n² H d / FLOP a second = 4 n H_kv d / bytes a second, n tokens of a rank.",
        ),
        Rung(
            "f",
            "share of the time in which the ranks work",
            lambda: (R / 2) / (R - 1 / 2),
            [
                Reply(lambda: 0.5, "Nearly: the first step, with the diagonal, is a short one."),
                Reply(
                    lambda: ((R + 1) / 2) / R,
                    "The first step takes half as long: the diagonal halves everybody's work.",
                ),
                Reply(lambda: 1 / R, "Rank 0 works in one step of eight. And the others?"),
                Reply(lambda: 1 - (R / 2) / (R - 1 / 2), "That is the share in which they wait."),
            ],
            hint="In squares of (n / R)²: R²/2 in all, on R ranks; the time is ½ + (R − 1).",
        ),
    ],
)


def check_ring_ladder(
    a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ..., f: Any = ...
) -> Result:
    """Check the rungs of "Over the wire".

    Args:
        a, b, c, d, e, f: the learner's numbers; `...` = not answered yet
    Returns: status and message, as printed
    """
    return RING.run(a=a, b=b, c=c, d=d, e=e, f=f)
