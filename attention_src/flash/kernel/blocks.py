"""What the flash kernels share: tiles in and out, who sees whom, and which blocks to visit."""

from attention_src.triton_support.launch import tl, triton


@triton.jit
def load_tile(
    ptr,
    start,
    n,
    stride_n,
    stride_d,
    BLOCK_N: tl.constexpr,
    D: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CHECK_ROWS: tl.constexpr,
    WIDE: tl.constexpr,
):
    """Rows from start of a matrix [n, D], as a tile [BLOCK_N, BLOCK_D] with zeros outside."""
    rows, columns = tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_D)
    inside = tl.full([BLOCK_N, BLOCK_D], True, tl.int1)
    if CHECK_ROWS:
        inside &= (rows < n - start)[:, None]
    if D < BLOCK_D:
        inside &= (columns < D)[None, :]
    # Where a tile starts needs 64 bits; inside of it 32 do, unless its rows are very far apart.
    if WIDE:
        rows, columns = rows.to(tl.int64), columns.to(tl.int64)
    offs = rows[:, None] * stride_n + columns[None, :] * stride_d
    return tl.load(ptr + tl.cast(start, tl.int64) * stride_n + offs, mask=inside, other=0.0)


@triton.jit
def store_tile(ptr, tile, start, n, BLOCK_N: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr):
    """A tile [BLOCK_N, BLOCK_D] to the rows from start of a contiguous matrix [n, D]."""
    rows, columns = tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_D)
    inside = (rows < n - start)[:, None] & (columns < D)[None, :]
    ptr += tl.cast(start, tl.int64) * D
    offs = rows[:, None] * D + columns[None, :]
    tl.store(ptr + offs, tile.to(ptr.dtype.element_ty), mask=inside)


@triton.jit
def query_block(n_q, n_heads, BLOCK_Q: tl.constexpr):
    """Which query block of which head this program has: batch b, head h, and its first query.

    The last block of a causal head sees the most keys. It comes first, so that no long program is
    still running when all others have ended.
    """
    n_blocks = tl.cdiv(n_q, BLOCK_Q)
    start_q = (n_blocks - 1 - tl.program_id(0) % n_blocks) * BLOCK_Q
    head = tl.program_id(0) // n_blocks
    return (head // n_heads).to(tl.int64), (head % n_heads).to(tl.int64), start_q


@triton.jit
def keys_of(key_lengths_ptr, b, n_k):
    """How many keys sequence b has: n_k unless told otherwise."""
    if key_lengths_ptr is None:
        key_length = n_k
    else:
        key_length = tl.minimum(tl.maximum(tl.load(key_lengths_ptr + b), 0), n_k)
    return key_length


@triton.jit
def visible(t, j, key_length, window, sinks, CAUSAL: tl.constexpr, WINDOW: tl.constexpr):
    """Whether a query at position t sees key j; positions count from the first key."""
    seen = j < key_length
    if CAUSAL:
        seen &= j <= t
    if WINDOW:
        seen &= (t - j < window) | (j < sinks)
    return seen


@triton.jit
def key_spans(
    first_t,
    key_length,
    window,
    sinks,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOW: tl.constexpr,
):
    """The key blocks that a block of queries visits; its first query is at position first_t.

    Returns: the borders of four spans of blocks
        0 … sink_stop      with a mask: the sinks
        left … full        with a mask: the left border of the window
        full … right       every query sees every key
        right … stop       with a mask: the diagonal, and the last keys of the sequence
    """
    last_t = first_t + BLOCK_Q - 1
    # In keys. Some query sees those from low to high; every query, from full_low to full_high.
    low, full_low, high, full_high = 0, 0, key_length, key_length
    if CAUSAL:
        high = tl.minimum(high, tl.maximum(last_t + 1, 0))
        full_high = tl.minimum(high, tl.maximum(first_t + 1, 0))
    if WINDOW:
        low = tl.maximum(first_t - window + 1, 0)
        full_low = tl.maximum(last_t - window + 1, 0)
    # In blocks.
    stop = tl.cdiv(high, BLOCK_K)
    left = tl.minimum(low // BLOCK_K, stop)
    full = tl.minimum(tl.cdiv(full_low, BLOCK_K), stop)
    right = tl.maximum(full_high // BLOCK_K, full)
    sink_stop = tl.minimum(tl.cdiv(sinks, BLOCK_K), left)
    return sink_stop, left, full, right, stop


@triton.jit
def query_spans(
    start_k,
    shift,
    n_q,
    key_length,
    window,
    sinks,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOW: tl.constexpr,
):
    """The query blocks that see a block of keys; query i is at position i + shift.

    Returns: the borders of three spans of blocks
        first … full       with a mask: the diagonal
        full … right       every query sees every key
        right … stop       with a mask: the far border of the window, and the last queries
    """
    last_k = start_k + BLOCK_K - 1
    first, full, right, stop = 0, 0, n_q // BLOCK_Q, tl.cdiv(n_q, BLOCK_Q)
    if CAUSAL:
        first = tl.maximum(start_k - shift, 0) // BLOCK_Q
        full = tl.cdiv(tl.maximum(last_k - shift, 0), BLOCK_Q)
    if WINDOW:
        right = tl.minimum(right, tl.maximum(start_k - shift + window, 0) // BLOCK_Q)
        if start_k >= sinks:  # else every later query sees some of them
            stop = tl.minimum(stop, tl.cdiv(tl.maximum(last_k - shift + window, 0), BLOCK_Q))
    if start_k >= key_length:
        stop = 0
    if last_k >= key_length:  # some are padding: no block without a mask
        right = 0
    first, full = tl.minimum(first, stop), tl.minimum(full, stop)
    return first, full, tl.minimum(tl.maximum(right, full), stop), stop


@triton.jit
def nth_block(index, sink_stop, left, full, right, MASKED: tl.constexpr):
    """Which block is number index, counting through the spans with a mask, or the one without."""
    if MASKED:
        block = index + tl.where(index < sink_stop, 0, left - sink_stop)
        block += tl.where(block < full, 0, right - full)
    else:
        block = index + full
    return block
