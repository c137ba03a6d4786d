"""What attention costs: operations, bytes, and operations per byte. Computed, not measured."""

import math

from attention_src.shapes import check_groups, check_impl, check_size, is_number


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
    Returns: FLOP; a multiplication and an addition count as two. A causal mask does not lower the
        count, although about half of the scores are then hidden.
    Raises:
        ValueError: a size that is not a whole number, or negative
    Source: Dao et al. 2022, arXiv:2205.14135, section 2.2, counted.
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
    """Bytes that any exact implementation moves at least: q, k and v read once, o written once.

        bytes = dtype_bytes batch (n_heads n_q (d_k + d_v) + n_kv_heads n_k (d_k + d_v))

    Args:
        n_q, n_k, d_k, d_v, n_heads, batch: as for `attention_flops`
        n_kv_heads: key/value heads; None = n_heads
        dtype_bytes: bytes of one number: 4 for float32, 2 for float16
    Returns: bytes, a lower bound: some methods also store the scores, or read k and v repeatedly
    Raises:
        ValueError: a size that is not a whole number, or negative; heads that do not divide
    """
    sizes = _sizes(n_q=n_q, n_k=n_k, d_k=d_k, d_v=d_v, n_heads=n_heads, batch=batch)
    n_q, n_k, d_k, d_v, n_heads, batch = sizes
    n_kv_heads = n_heads if n_kv_heads is None else check_size(n_kv_heads, "n_kv_heads", at_least=1)
    check_groups(n_heads, n_kv_heads)
    return stored_bytes(batch * (n_heads * n_q + n_kv_heads * n_k) * (d_k + d_v), dtype_bytes)


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
    """Bytes of a model's KV cache: the keys and values of every token so far.

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
    Source: Shazeer 2019, arXiv:1911.02150, counted.
    """
    sizes = _sizes(
        n_layers=n_layers, n_kv_heads=n_kv_heads, d_k=d_k, d_v=d_v, n_tokens=n_tokens, batch=batch
    )
    n_layers, n_kv_heads, d_k, d_v, n_tokens, batch = sizes
    return stored_bytes(batch * n_layers * n_kv_heads * n_tokens * (d_k + d_v), dtype_bytes)


def quantized_kv_cache_bytes(
    n_layers: int,
    n_kv_heads: int,
    d_k: int,
    d_v: int,
    n_tokens: int,
    *,
    bits: int = 8,
    scheme: str | None = None,
    group: int | None = None,
    residual: int | None = None,
    dtype_bytes: float = 2,
    batch: int = 1,
) -> int:
    """Bytes of a quantized KV cache: the codes, and the float32 numbers that decode them.

        per_token      key and value: codes, and 4 bytes for the scale
        per_channel    value: codes, and 8 bytes for its scale and zero
                       key: codes, and 8 d_k bytes for each full group of tokens

    Args:
        n_layers, n_kv_heads, d_k, d_v, n_tokens, batch: as for `kv_cache_bytes`
        bits: 8 or 4; two codes of 4 bits share a byte
        scheme: None = "per_token" for 8 bits, "per_channel" for 4
        group: tokens whose keys share one scale and zero per channel; None = 32; "per_channel" only
        residual: how many of the newest tokens are not quantized; older ones follow as soon as they
            fill a group; None = 32 for "per_channel", 0 for "per_token"
        dtype_bytes: bytes of one number of the tokens that are not quantized
    Returns: bytes
    Raises:
        ValueError: as `kv_cache_bytes`; bits or scheme not among the choices; a group for
            "per_token"
    Source: per_channel: Liu et al. 2024 (KIVI), arXiv:2402.02750, counted.
    """
    sizes = dict(n_layers=n_layers, n_kv_heads=n_kv_heads, d_k=d_k, d_v=d_v, n_tokens=n_tokens)
    n_layers, n_kv_heads, d_k, d_v, n_tokens, batch = _sizes(**sizes, batch=batch)
    if bits not in (4, 8):
        raise ValueError(f"bits is {bits!r}; it should be 4 or 8")
    scheme = ("per_token" if bits == 8 else "per_channel") if scheme is None else scheme
    check_impl(scheme, ("per_token", "per_channel"), "scheme")
    codes = _ceil_div(d_k * bits, 8) + _ceil_div(d_v * bits, 8)  # of one key and one value
    if scheme == "per_token":
        if group is not None:
            raise ValueError(f"group is {group}; per_token has no groups: it should be None")
        group, bytes_per_group, usual_residual = 1, codes + 4 + 4, 0
    else:
        group = 32 if group is None else check_size(group, "group", at_least=1)
        bytes_per_group, usual_residual = group * (codes + 8) + 8 * d_k, 32
    residual = usual_residual if residual is None else check_size(residual, "residual")
    n_groups = max(0, n_tokens - residual) // group
    newest = stored_bytes((n_tokens - n_groups * group) * (d_k + d_v), dtype_bytes)
    return batch * n_layers * n_kv_heads * (n_groups * bytes_per_group + newest)


def stored_bytes(n_numbers: int, dtype_bytes: float = 2) -> int:
    """Bytes of n numbers, rounded up to whole bytes.

    Args:
        n_numbers: n
        dtype_bytes: bytes of one: 4 for float32, 2 for float16, 0.5 for 4 bits
    Returns: bytes
    Raises:
        ValueError: a count that is not a whole number, or negative; bytes that are not positive
    """
    if not is_number(dtype_bytes) or dtype_bytes <= 0:
        raise ValueError(f"dtype_bytes is {dtype_bytes!r}; it should be positive: 2 for float16")
    return math.ceil(check_size(n_numbers, "n_numbers") * dtype_bytes)


def arithmetic_intensity(flops: float, n_bytes: float) -> float:
    """Operations per byte moved. Below the chip's own ratio, memory bandwidth is the limit.

        intensity = flops / n_bytes

    Args:
        flops: operations, FLOP
        n_bytes: bytes moved to do them
    Returns: FLOP per byte
    Raises:
        ValueError: negative or non-finite operations, or bytes that are not positive
    Source: Williams, Waterman & Patterson 2009, Roofline.
    """
    if not is_number(flops) or flops < 0:
        raise ValueError(f"flops is {flops!r}; it should be finite and not negative")
    if not is_number(n_bytes) or n_bytes <= 0:
        raise ValueError(f"n_bytes is {n_bytes!r}; it should be finite and positive")
    return flops / n_bytes


def _sizes(**sizes: int) -> tuple[int, ...]:
    """The sizes, validated, in the order given."""
    return tuple(check_size(value, name) for name, value in sizes.items())


def _ceil_div(n: int, size: int) -> int:
    """n / size, rounded up."""
    return -(-n // size)
