"""What attention costs: operations, bytes, and operations per byte. Arithmetic, no measuring."""

import math

from attention_src.shapes import check_groups, check_size


def attention_flops(
    n_q: int, n_k: int, d_k: int, d_v: int, *, n_heads: int = 1, batch: int = 1
) -> int:
    """Floating-point operations of the two matrix products, forward.

        flops = 2 batch n_heads n_q n_k (d_k + d_v)

    Args:
        n_q, n_k: number of queries and of keys
        d_k, d_v: width of a key and of a value
        n_heads: query heads; grouped key/value heads change nothing here
        batch: number of sequences
    Returns: FLOP; a multiplication and an addition count as two. A causal mask is not counted:
        half of these operations then make scores that nobody sees.
    Raises:
        ValueError: a size that is not a whole number, or negative
    Source: Dao et al. 2022, arXiv:2205.14135, section 2.2, counted out.
    """
    sizes = _sizes(n_q=n_q, n_k=n_k, d_k=d_k, d_v=d_v, n_heads=n_heads, batch=batch)
    n_q, n_k, d_k, d_v, n_heads, batch = sizes
    return 2 * batch * n_heads * n_q * n_k * (d_k + d_v)


def attention_bytes(
    n_q: int,
    n_k: int,
    d_k: int,
    d_v: int,
    *,
    n_heads: int = 1,
    n_kv_heads: int | None = None,
    batch: int = 1,
    dtype_bytes: float = 2,
) -> int:
    """Bytes that every exact implementation moves: read q, k, v once and write o once.

        bytes = dtype_bytes batch (n_heads n_q (d_k + d_v) + n_kv_heads n_k (d_k + d_v))

    Args:
        n_q, n_k, d_k, d_v, n_heads, batch: as for `attention_flops`
        n_kv_heads: key/value heads; None = n_heads
        dtype_bytes: bytes of one number: 4 for float32, 2 for float16
    Returns: bytes, the lower bound; storing the scores costs more, and some methods read k and v
        more than once
    Raises:
        ValueError: a size that is not a whole number, or negative; heads that do not divide
    """
    sizes = _sizes(n_q=n_q, n_k=n_k, d_k=d_k, d_v=d_v, n_heads=n_heads, batch=batch)
    n_q, n_k, d_k, d_v, n_heads, batch = sizes
    n_kv_heads = n_heads if n_kv_heads is None else check_size(n_kv_heads, "n_kv_heads", at_least=1)
    check_groups(n_heads, n_kv_heads)
    return _bytes(batch * (n_heads * n_q + n_kv_heads * n_k) * (d_k + d_v), dtype_bytes)


def kv_cache_bytes(
    n_layers: int,
    n_kv_heads: int,
    d_k: int,
    d_v: int,
    n_tokens: int,
    *,
    dtype_bytes: float = 2,
    batch: int = 1,
) -> int:
    """Bytes that a model keeps for the keys and values of every token so far.

        bytes = dtype_bytes batch n_layers n_kv_heads n_tokens (d_k + d_v)

    Args:
        n_layers: layers, each with its own cache
        n_kv_heads: key/value heads of one layer
        d_k, d_v: width of a key and of a value
        n_tokens: tokens in the cache, per sequence
        dtype_bytes: bytes of one number: 2 for float16, 0.5 for 4 bits
        batch: number of sequences
    Returns: bytes; divide by 2**30 for GiB
    Raises:
        ValueError: a size that is not a whole number, or negative
    Source: Shazeer 2019, arXiv:1911.02150, counted out.
    """
    sizes = _sizes(
        n_layers=n_layers, n_kv_heads=n_kv_heads, d_k=d_k, d_v=d_v, n_tokens=n_tokens, batch=batch
    )
    n_layers, n_kv_heads, d_k, d_v, n_tokens, batch = sizes
    return _bytes(batch * n_layers * n_kv_heads * n_tokens * (d_k + d_v), dtype_bytes)


def arithmetic_intensity(flops: float, n_bytes: float) -> float:
    """Operations for each byte moved: below the chip's own ratio, memory is the limit.

        intensity = flops / n_bytes

    Args:
        flops: operations, FLOP
        n_bytes: bytes moved to do them
    Returns: FLOP per byte
    Raises:
        ValueError: negative or non-finite operations, or bytes that are not positive
    Source: Williams, Waterman & Patterson 2009, Roofline.
    """
    if not (math.isfinite(flops) and flops >= 0):
        raise ValueError(f"flops is {flops}; it should be finite and not negative")
    if not (math.isfinite(n_bytes) and n_bytes > 0):
        raise ValueError(f"n_bytes is {n_bytes}; it should be finite and positive")
    return flops / n_bytes


def _sizes(**sizes: int) -> tuple[int, ...]:
    """Every size checked, in the order given."""
    return tuple(check_size(value, name) for name, value in sizes.items())


def _bytes(n_numbers: int, dtype_bytes: float) -> int:
    if not (math.isfinite(dtype_bytes) and dtype_bytes > 0):
        raise ValueError(f"dtype_bytes is {dtype_bytes}; it should be positive: 2 for float16")
    return math.ceil(n_numbers * dtype_bytes)
