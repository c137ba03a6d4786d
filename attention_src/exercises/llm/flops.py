"""The ladder on operations for each token: SmolLM2's sizes."""

from typing import Any

from attention_src.costs.roofline import CHIPS
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung

LAYERS, H, H_KV, D, D_MODEL, D_FFN, VOCABULARY = 30, 9, 3, 64, 576, 1536, 49152
QKVO = D_MODEL * D * (2 * H + 2 * H_KV)  # W_Q, W_O, W_K, W_V of one layer
FFN = 3 * D_MODEL * D_FFN


def _layer() -> int:
    return QKVO + FFN


def _matrices() -> int:
    return LAYERS * _layer() + D_MODEL * VOCABULARY


def _attention(n: int, d: int = D) -> int:
    """FLOP of one new token that sees n keys, in all layers: q·k and p·v."""
    return LAYERS * H * n * 4 * d


FLOPS = Ladder(
    "flops",
    [
        Rung(
            "a",
            "numbers in the matrices of one layer",
            _layer,
            [
                Reply(
                    lambda: 4 * D_MODEL**2 + FFN,
                    "Keys and values have 3 heads, not 9: W_K and W_V are 576 by 192.",
                ),
                Reply(lambda: QKVO, "That is attention. The network comes on top."),
                Reply(  # the two are equal here
                    lambda: FFN,
                    "That is attention with two of the three matrices of the network, or the "
                    "network alone: attention has four.",
                ),
            ],
            hint="W_Q and W_O are 576 by 576, W_K and W_V 576 by 192, three are 576 by 1,536.",
            rtol=0,
        ),
        Rung(
            "b",
            "numbers in all matrices",
            _matrices,
            [
                Reply(lambda: LAYERS * _layer(), "The table of 49,152 tokens is a matrix too."),
                Reply(
                    lambda: LAYERS * _layer() + 2 * D_MODEL * VOCABULARY,
                    "The table of embeddings is used again for the logits: it is there once.",
                ),
            ],
            hint="30 layers, and one table of 49,152 rows of 576.",
            rtol=0,
        ),
        Rung(
            "c",
            "FLOP of all matrices for one new token",
            lambda: 2 * _matrices(),
            [
                Reply(_matrices, "Each number takes a multiplication and an addition."),
                Reply(
                    lambda: 2 * LAYERS * _layer(),
                    "Logits are a product with the table of tokens: that counts.",
                ),
            ],
            hint="Two for each number in a matrix.",
        ),
        Rung(
            "d",
            "FLOP of attention for one new token that sees 1,024",
            lambda: _attention(1024),
            [
                Reply(lambda: _attention(1024) / 2, "There are two products: with K and with V."),
                Reply(lambda: _attention(1024) / LAYERS, "That is one layer. There are 30."),
                Reply(
                    lambda: _attention(1024) * H_KV / H,
                    "Keys are shared, not queries: 9 heads compute.",
                ),
                Reply(lambda: _attention(1024) * 1024, "One new token asks, not all 1,024."),
            ],
            hint="30 layers, 9 heads; each key costs 2 · 64 for its score, as much for its value.",
        ),
        Rung(
            "e",
            "the number of keys at which attention costs as much as the matrices",
            lambda: 2 * _matrices() / _attention(1),
            [
                Reply(
                    lambda: 2 * _matrices() / _attention(1) / 2,
                    "(d) grows by 4 · 64 for each key and head.",
                ),
                Reply(lambda: _attention(1024) / (2 * _matrices()), "That is the share at 1,024."),
            ],
            hint="(d) grows in proportion to the keys. When does it reach (c)?",
        ),
        Rung(
            "f",
            "tokens a second at most on an H100, one text, 16 bits",
            lambda: CHIPS["H100"].bytes_per_s / (2 * _matrices()),
            [
                Reply(
                    lambda: CHIPS["H100"].peak() / (2 * _matrices()),
                    "So many operations it could do. But each token needs every matrix read from "
                    "memory.",
                ),
                Reply(
                    lambda: CHIPS["H100"].bytes_per_s / _matrices(),
                    "A number in 16 bits takes two bytes.",
                ),
                Reply(
                    lambda: CHIPS["H100"].bytes_per_s / (4 * _matrices()),
                    "That is for 32 bits.",
                ),
            ],
            hint="Each token reads every matrix once. How many bytes is that?",
            rtol=2e-2,
        ),
    ],
)


def check_flops_ladder(
    a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ..., f: Any = ...
) -> Result:
    """Check the rungs of "What one token costs".

    Args:
        a, b, c, d, e, f: the learner's numbers; `...` = not answered yet
    Returns: status and message, as printed
    """
    return FLOPS.run(a=a, b=b, c=c, d=d, e=e, f=f)
