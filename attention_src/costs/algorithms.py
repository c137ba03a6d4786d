"""What each algorithm of the course computes and moves, as a `Cost`.

Where there are matrix products, only their operations count, because a chip's peak is that of its
matrix units. Softmax and rotary positions have none; there each addition, multiplication,
comparison, division and exponential counts as one. Bytes are those between main memory and the
chip. A step reads its input once unless the function says otherwise.

    softmax_cost, softmax_backward_cost    a row that fits on the chip, or one read in blocks
    dense_cost, dense_backward_cost        scores and weights are written to memory and read again
    flash_cost, flash_backward_cost        scores and weights never leave the chip
    visible_pairs                          how many scores a causal mask or a window leaves visible
    rope_cost                              rotary positions on q and k
    decode_cost                            one new query over a cache
"""

from typing import Any

from attention_src.costs import attention_bytes, attention_flops, stored_bytes
from attention_src.costs.algorithms_flash import (
    FP32_BYTES,
    flash_backward_cost,
    flash_cost,
    visible_pairs,
)
from attention_src.costs.roofline import Cost
from attention_src.shapes import check_size

__all__ = [
    "decode_cost",
    "dense_backward_cost",
    "dense_cost",
    "flash_backward_cost",
    "flash_cost",
    "rope_cost",
    "softmax_backward_cost",
    "softmax_cost",
    "visible_pairs",
]


def softmax_cost(
    n_rows: int, n_columns: int, *, block: int | None = None, dtype_bytes: float = 2
) -> Cost:
    """Softmax of each row, forward.

        one piece   5 n_columns FLOP a row: maximum, subtract, exp, sum, divide; read, write
        in blocks   7 n_columns + 3 a block: subtract and exp twice; read, read again, write

    Args:
        n_rows, n_columns: of the scores
        block: None = a row fits on the chip. Otherwise the row is read in blocks of this many
            scores, once for maximum and sum, and once for the weights
        dtype_bytes: bytes of one number, of scores and weights alike
    Returns: its cost. The 3 operations of a block rescale the running sum: subtract, exp, multiply
    Raises:
        ValueError: a size that is not a whole number, or negative; a block below 1
    Source: Milakov & Gimelshein 2018, arXiv:1805.02867, Algorithms 2 and 3.
    """
    n_rows, n_columns = check_size(n_rows, "n_rows"), check_size(n_columns, "n_columns")
    if block is None:
        return Cost(5 * n_rows * n_columns, stored_bytes(2 * n_rows * n_columns, dtype_bytes))
    n_blocks = -(-n_columns // check_size(block, "block", at_least=1))
    flops = n_rows * (7 * n_columns + 3 * n_blocks)
    return Cost(flops, stored_bytes(3 * n_rows * n_columns, dtype_bytes))


def softmax_backward_cost(
    n_rows: int, n_columns: int, *, block: int | None = None, dtype_bytes: float = 2
) -> Cost:
    """Softmax of each row, backward: ds = p * (dp - sum_j p_j dp_j).

        one piece   4 n_columns FLOP a row: multiply, sum, subtract, multiply; read p, dp, write ds
        in blocks   the same FLOP; p and dp are read twice

    Args:
        n_rows, n_columns, block, dtype_bytes: as for `softmax_cost`
    Returns: its cost
    Raises:
        ValueError: as `softmax_cost`
    """
    n_rows, n_columns = check_size(n_rows, "n_rows"), check_size(n_columns, "n_columns")
    passes = 3
    if block is not None:
        check_size(block, "block", at_least=1)
        passes = 5
    return Cost(4 * n_rows * n_columns, stored_bytes(passes * n_rows * n_columns, dtype_bytes))


def dense_cost(
    n_q: int,
    n_k: int,
    d_k: int,
    d_v: int,
    *,
    n_heads: int = 1,
    n_kv_heads: int | None = None,
    batch: int = 1,
    dtype_bytes: float = 2,
) -> Cost:
    """Attention with the matrix of scores in memory, forward.

        2 products: s = q k^T, o = p v
        an n_q x n_k matrix is moved 4 times: write s, read s, write p, read p

    Args:
        n_q, n_k, d_k, d_v, n_heads, n_kv_heads, batch: as for `attention_bytes`
        dtype_bytes: bytes of one number, of scores and weights too
    Returns: its cost. A causal mask saves nothing here: hidden scores are computed too.
    Raises:
        ValueError: a size that is not a whole number, or negative; heads that do not divide
    Source: Dao et al. 2022, arXiv:2205.14135, Algorithm 0.
    """
    heads = dict(n_heads=n_heads, batch=batch)
    tensors = attention_bytes(
        n_q, n_k, d_k, d_v, n_kv_heads=n_kv_heads, dtype_bytes=dtype_bytes, **heads
    )
    matrix = 4 * batch * n_heads * n_q * n_k
    return Cost(
        attention_flops(n_q, n_k, d_k, d_v, **heads), tensors + stored_bytes(matrix, dtype_bytes)
    )


def dense_backward_cost(
    n_q: int,
    n_k: int,
    d_k: int,
    d_v: int,
    *,
    n_heads: int = 1,
    n_kv_heads: int | None = None,
    batch: int = 1,
    dtype_bytes: float = 2,
) -> Cost:
    """Backward of attention, with the matrix of weights kept from the forward pass.

        4 products: dv = p^T do, dp = do v^T, dq = ds k, dk = ds^T q
        an n_q x n_k matrix is moved 7 times: read p; write dp; read p, read dp, write ds; read ds
        for dq, and again for dk

    Args:
        n_q, n_k, d_k, d_v, n_heads, n_kv_heads, batch, dtype_bytes: as for `dense_cost`
    Returns: its cost: twice the FLOP of the forward pass; do is read twice, q, k and v once
    Raises:
        ValueError: as `dense_cost`
    Source: Dao et al. 2022, arXiv:2205.14135, Algorithm 3.
    """
    heads = dict(n_heads=n_heads, batch=batch)
    # Reads q, k, v, and do twice; writes dq, dk, dv: twice the size of q, k, v and o.
    tensors = 2 * attention_bytes(
        n_q, n_k, d_k, d_v, n_kv_heads=n_kv_heads, dtype_bytes=dtype_bytes, **heads
    )
    matrix = 7 * batch * n_heads * n_q * n_k
    return Cost(
        2 * attention_flops(n_q, n_k, d_k, d_v, **heads),
        tensors + stored_bytes(matrix, dtype_bytes),
    )


def rope_cost(
    n: int,
    d: int,
    *,
    n_heads: int = 1,
    n_kv_heads: int | None = None,
    batch: int = 1,
    dtype_bytes: float = 2,
) -> Cost:
    """Rotary positions on q and k, forward or backward: each pair of components is rotated.

        6 FLOP a pair: (x1 cos - x2 sin, x1 sin + x2 cos)

    Args:
        n: number of tokens
        d: width of a query and of a key, even
        n_heads, n_kv_heads: heads of q, and of k; n_kv_heads None = n_heads
        batch: number of sequences; all at the same positions
        dtype_bytes: bytes of one number of q and k
    Returns: its cost: q and k are read and written once. A table of cosines and sines, d float32
        numbers a token, is read once for all heads and sequences
    Raises:
        ValueError: a size that is not a whole number, or negative; an odd d; heads that do not
            divide
    Source: Su et al. 2021, arXiv:2104.09864, Eq. 34.
    """
    if check_size(d, "d") % 2:
        raise ValueError(f"d is {d}; it should be even: components are turned in pairs")
    sizes: dict[str, Any] = dict(n_heads=n_heads, n_kv_heads=n_kv_heads, batch=batch)
    q_and_k = attention_bytes(n, n, d, 0, dtype_bytes=dtype_bytes, **sizes)
    vectors = batch * n * (n_heads + (n_heads if n_kv_heads is None else n_kv_heads))
    return Cost(6 * vectors * (d // 2), 2 * q_and_k + stored_bytes(n * d, FP32_BYTES))


def decode_cost(
    n_k: int,
    d_k: int,
    d_v: int,
    *,
    n_heads: int = 1,
    n_kv_heads: int | None = None,
    batch: int = 1,
    dtype_bytes: float = 2,
    cache_bytes: int | None = None,
    n_splits: int = 1,
) -> Cost:
    """One new query of each head over a cache of n_k tokens, in one layer.

        flops = 2 batch n_heads n_k (d_k + d_v)

    Args:
        n_k: tokens in the cache, including the new one
        d_k, d_v: width of a key and of a value
        n_heads, n_kv_heads, batch: as for `attention_bytes`
        dtype_bytes: bytes of one number of q and o, and of the cache unless cache_bytes is given
        cache_bytes: bytes read from the caches of all sequences. None = contiguous. A paged cache
            also reads its tables of pages; for 8 and 4 bits, see `quantized_kv_cache_bytes`
        n_splits: splits of the keys, each handled by one program; if more than one, each writes its
            o and lse in float32, which are then read and merged
    Returns: its cost. For a contiguous cache, the intensity is nearly
        2 n_heads / (n_kv_heads dtype_bytes): in float16, the number of queries that share a key.
    Raises:
        ValueError: a size that is not a whole number, or negative; heads that do not divide
    Source: Shazeer 2019, arXiv:1911.02150, section 2.4.1, without the projections.
    """
    flops = attention_flops(1, n_k, d_k, d_v, n_heads=n_heads, batch=batch)
    sizes: dict[str, Any] = dict(
        n_heads=n_heads, n_kv_heads=n_kv_heads, batch=batch, dtype_bytes=dtype_bytes
    )
    n_bytes = attention_bytes(1, n_k, d_k, d_v, **sizes)
    if cache_bytes is not None:  # count only q and o, and add the cache
        n_bytes = attention_bytes(1, 0, d_k, d_v, **sizes) + check_size(cache_bytes, "cache_bytes")
    if check_size(n_splits, "n_splits", at_least=1) > 1:
        n_bytes += stored_bytes(2 * n_splits * batch * n_heads * (d_v + 1), FP32_BYTES)
    return Cost(flops, n_bytes)
