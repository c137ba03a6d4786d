"""The ladder on what one token costs: Llama 3.1 8B on an H100, by bytes."""

from typing import Any

from attention_src.costs import kv_cache_bytes
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung

WEIGHTS, BANDWIDTH = 16e9, 3.35e12  # bytes; bytes a second
LAYERS, H_KV, D = 32, 8, 128
TEXTS, TOKENS = 64, 4096


def _cache(n: int = 1, batch: int = 1, dtype_bytes: float = 2) -> int:
    return kv_cache_bytes(LAYERS, H_KV, D, D, n, batch=batch, dtype_bytes=dtype_bytes)


def _step_ms(dtype_bytes: float = 2) -> float:
    """All weights once, and the caches of all texts."""
    moved = WEIGHTS + _cache(TOKENS, TEXTS, dtype_bytes)
    return 1e3 * moved / BANDWIDTH


TOKEN = Ladder(
    "token",
    [
        Rung(
            "a",
            "milliseconds for a token, with an empty cache",
            lambda: 1e3 * WEIGHTS / BANDWIDTH,
            [
                Reply(lambda: WEIGHTS / BANDWIDTH, "Those are seconds."),
                Reply(lambda: 5e2 * WEIGHTS / BANDWIDTH, "8 billion numbers of two bytes each."),
            ],
            hint="16 GB pass at 3.35 TB/s.",
        ),
        Rung(
            "b",
            "bytes that a token leaves in the cache",
            _cache,
            [
                Reply(lambda: _cache() // 2, "Keys and values: both are kept. And two bytes each."),
                Reply(lambda: _cache() // LAYERS, "That is one layer. There are 32."),
                Reply(lambda: _cache() * 4, "Keys are kept for 8 heads, not for 32."),
            ],
            hint="2 bytes, 32 layers, 8 heads, a key and a value of 128.",
            rtol=0,
        ),
        Rung(
            "c",
            "tokens of one text whose cache weighs as much as the weights",
            lambda: WEIGHTS / _cache(),
            [Reply(lambda: WEIGHTS / 2 / _cache(), "The weights take 16 GB.")],
            hint="16 GB over your (b).",
        ),
        Rung(
            "d",
            "milliseconds for a step of 64 texts with 4,096 tokens each",
            _step_ms,
            [
                Reply(
                    lambda: 1e3 * (WEIGHTS + _cache(TOKENS)) / BANDWIDTH,
                    "That is one text's cache. Each of the 64 has its own.",
                ),
                Reply(
                    lambda: TEXTS * 1e3 * (WEIGHTS + _cache(TOKENS)) / BANDWIDTH,
                    "The weights are read once for all texts.",
                ),
                Reply(
                    lambda: 1e3 * _cache(TOKENS, TEXTS) / BANDWIDTH,
                    "That is the caches. The weights are read too.",
                ),
            ],
            hint="Weights once, 64 caches of 4,096 tokens.",
        ),
        Rung(
            "e",
            "tokens a second, of all texts together",
            lambda: 1e3 * TEXTS / _step_ms(),
            [Reply(lambda: 1e3 / _step_ms(), "That is one text's. There are 64.")],
            hint="64 tokens in the time of your (d).",
        ),
        Rung(
            "f",
            "tokens a second with a byte for each number of the cache",
            lambda: 1e3 * TEXTS / _step_ms(1),
            [
                Reply(
                    lambda: 2e3 * TEXTS / _step_ms(),
                    "Only the caches shrink. The weights are read as before.",
                ),
                Reply(lambda: 1e3 * TEXTS / _step_ms(0.5), "That is half a byte, 4 bits."),
            ],
            hint="Half of the caches' bytes, all of the weights'.",
        ),
    ],
)


def check_token_ladder(
    a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ..., f: Any = ...
) -> Result:
    """Check the rungs of "What a token costs".

    Args:
        a, b, c, d, e, f: the learner's numbers; `...` = not answered yet
    Returns: status and message, as printed
    """
    return TOKEN.run(a=a, b=b, c=c, d=d, e=e, f=f)
