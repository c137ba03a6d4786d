"""The ladder on what one model costs: Llama 3.1 8B on one H100."""

from typing import Any

from attention_src.costs import kv_cache_bytes
from attention_src.costs.roofline import CHIPS
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung

LAYERS, D_MODEL, H, H_KV, D, D_FF = 32, 4096, 32, 8, 128, 14336
WEIGHTS = 16e9  # bytes, as the text says
TOKENS = 8192
CHIP = CHIPS["H100"]


def _matrices() -> int:
    """FLOP of one token in one layer's matrices."""
    return 2 * (2 * D_MODEL * H * D + 2 * D_MODEL * H_KV * D + 3 * D_MODEL * D_FF)


def _query(n: int) -> int:
    """FLOP of one query over n keys, in all heads of one layer."""
    return 4 * H * D * n


def _cache(n: int = TOKENS, heads: int = H_KV) -> int:
    return kv_cache_bytes(LAYERS, heads, D, D, n)


COSTS = Ladder(
    "costs",
    [
        Rung(
            "a",
            "FLOP of one token in one layer's matrices",
            _matrices,
            [
                Reply(lambda: _matrices() // 2, "A multiplication and an addition make two."),
                Reply(
                    lambda: 2 * (4 * D_MODEL * H * D + 3 * D_MODEL * D_FF),
                    "Keys and values have 8 heads, not 32.",
                ),
                Reply(
                    lambda: 2 * (2 * D_MODEL * H * D + 2 * D_MODEL * H_KV * D + 2 * D_MODEL * D_FF),
                    "The feed-forward part has three matrices here.",
                ),
                Reply(lambda: LAYERS * _matrices(), "That is all layers. Take one."),
            ],
            hint="Each number of a matrix costs two FLOP. Seven matrices.",
        ),
        Rung(
            "b",
            "FLOP of attention for the last token, one layer",
            lambda: _query(TOKENS),
            [
                Reply(lambda: _query(TOKENS) // 2, "Two products: scores and output."),
                Reply(lambda: _query(TOKENS) // H, "That is one head."),
                Reply(
                    lambda: _query(TOKENS) * H_KV // H,
                    "Shared keys save bytes. Each of the 32 query heads has scores of its own.",
                ),
            ],
            hint="4 d for each key and query head.",
        ),
        Rung(
            "c",
            "tokens at which (a) and attention are equal, all pairs counted",
            lambda: _matrices() / _query(1),
            [
                Reply(lambda: 6 * D_MODEL, "6 d is the classic shape. This layer is another."),
                Reply(lambda: 2 * _matrices() / _query(1), "That is for causal attention."),
            ],
            hint="(a) divided by what one key costs.",
        ),
        Rung(
            "d",
            "GB of one text's cache",
            lambda: _cache() / 1e9,
            [
                Reply(lambda: _cache(heads=H) / 1e9, "Keys and values have 8 heads."),
                Reply(lambda: _cache() / 2**30, "Those are GiB; GB are 10^9 bytes."),
                Reply(lambda: _cache() / LAYERS / 1e9, "That is one layer."),
                Reply(lambda: _cache() / 2e9, "Keys and values, two bytes a number."),
            ],
            hint="2 · layers · heads · 2 d bytes for a token.",
        ),
        Rung(
            "e",
            "texts that fit beside the weights",
            lambda: (CHIP.memory_bytes - WEIGHTS) // _cache(),
            [
                Reply(lambda: CHIP.memory_bytes // _cache(), "The weights take room too."),
                Reply(lambda: (CHIP.memory_bytes - WEIGHTS) // _cache(heads=H),
                      "Keys and values have 8 heads."),
                Reply(lambda: -(-(CHIP.memory_bytes - WEIGHTS) // _cache()), "One fewer fits."),
                Reply(lambda: (CHIP.memory_bytes - WEIGHTS) / _cache(), "Whole texts: round down."),
            ],
            hint="80 GiB are 85.9 GB. Less 16 GB, divided by (d), rounded down.",
            rtol=0,
        ),
        Rung(
            "f",
            "ms for a token, alone, at least",
            lambda: 1e3 * (WEIGHTS + _cache()) / CHIP.bytes_per_s,
            [
                Reply(lambda: 1e3 * WEIGHTS / CHIP.bytes_per_s, "The cache is read as well."),
                Reply(lambda: 1e3 * _cache() / CHIP.bytes_per_s, "The weights are read as well."),
                Reply(lambda: (WEIGHTS + _cache()) / CHIP.bytes_per_s, "Those are seconds."),
            ],
            hint="All weights and the cache pass once; 3.35e12 bytes a second.",
        ),
    ],
)  # fmt: skip


def check_costs_ladder(
    a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ..., f: Any = ...
) -> Result:
    """Check the rungs of "One model, one chip".

    Args:
        a, b, c, d, e, f: the learner's numbers; `...` = not answered yet
    Returns: status and message, as printed
    """
    return COSTS.run(a=a, b=b, c=c, d=d, e=e, f=f)
