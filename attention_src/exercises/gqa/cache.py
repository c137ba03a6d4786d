"""The ladder on what a cache takes, and what sharing saves: Mistral 7B's sizes."""

from typing import Any

from attention_src.costs import kv_cache_bytes
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung

LAYERS, H, H_KV, D, D_ROPE = 32, 32, 8, 128, 64


def _token_bytes(n_kv_heads: int = H_KV) -> int:
    return kv_cache_bytes(LAYERS, n_kv_heads, D, D, 1)


CACHE = Ladder(
    "cache",
    [
        Rung(
            "a",
            "numbers of one token in one layer",
            lambda: 2 * H_KV * D,
            [
                Reply(lambda: H_KV * D, "That is the keys. The values take as much."),
                Reply(lambda: 2 * H * D, "That is one pair for each query head. How many keep?"),
            ],
            hint="8 heads, each with a key and a value of 128 numbers.",
            rtol=0,
        ),
        Rung(
            "b",
            "bytes of one token in all layers",
            _token_bytes,
            [
                Reply(lambda: _token_bytes() // 2, "A number in float16 takes two bytes."),
                Reply(lambda: _token_bytes() // LAYERS, "That is one layer. There are 32."),
                Reply(
                    lambda: _token_bytes(H), "That is with a key/value head for each query head."
                ),
            ],
            hint="32 layers, two bytes for each number.",
            rtol=0,
        ),
        Rung(
            "c",
            "tokens in 8 GiB",
            lambda: 8 * 2**30 // _token_bytes(),
            [
                Reply(lambda: 8 * 2**30 // _token_bytes(H), "With 32 key/value heads it is so."),
                Reply(
                    lambda: 8 * 10**9 / _token_bytes(),
                    "You took 8 GB, 8 · 10^9 bytes; 8 GiB are 8 · 2^30.",
                ),
            ],
            hint="8 GiB are 8 · 2^30 bytes.",
            rtol=0,
        ),
        Rung(
            "d",
            "how many times smaller than with a key/value head for each query head",
            lambda: H / H_KV,
            [
                Reply(
                    lambda: H_KV,
                    "8 is the number of key/value heads, the G of the paper. How many query heads "
                    "share one?",
                ),
                Reply(lambda: H_KV / H, "How many times smaller: turn it over."),
            ],
            hint="What you have against H = 32 of them.",
            rtol=0,
        ),
        Rung(
            "e",
            "the widest latent vector that keeps no more",
            lambda: 2 * H_KV * D - D_ROPE,
            [
                Reply(lambda: 2 * H_KV * D, "The rotated part is kept as well: 64 numbers."),
                Reply(lambda: H_KV * D - D_ROPE, "One latent vector gives keys and values both."),
                Reply(
                    lambda: 2 * H_KV * D - 2 * D_ROPE, "The rotated part is for keys only, once."
                ),
            ],
            hint="d_latent + 64 numbers against your (a).",
            rtol=0,
        ),
        Rung(
            "f",
            "FLOP for each byte of the cache",
            lambda: H / H_KV,
            [
                Reply(lambda: 1.0, "So it is without sharing. Here several queries use each key."),
                Reply(
                    lambda: H / H_KV / 2,
                    "A multiplication and an addition for each number: that is two.",
                ),
                Reply(lambda: 2 * H / H_KV, "Each number has two bytes."),
            ],
            hint="Each number read, of a key or a value, meets r queries: 2 r FLOP for 2 bytes.",
            rtol=0,
        ),
    ],
)


def check_cache_ladder(
    a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ..., f: Any = ...
) -> Result:
    """Check the rungs of "What fits".

    Args:
        a, b, c, d, e, f: the learner's numbers; `...` = not answered yet
    Returns: status and message, as printed
    """
    return CACHE.run(a=a, b=b, c=c, d=d, e=e, f=f)
