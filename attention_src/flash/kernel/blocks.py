"""What the flash kernels share: tiles in and out, what is visible, and which blocks to visit."""

from attention_src.triton_support.launch import tl, triton


@triton.jit
def load_tile(
    ptr, start, n, stride_n, stride_d,
    BLOCK_N: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr,
    CHECK_ROWS: tl.constexpr, INT64: tl.constexpr,
):  # fmt: skip
    """Rows of a matrix [n, D] from `start` on, as a tile [BLOCK_N, BLOCK_D] with zeros outside."""
    rows, columns = tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_D)
    inside = tl.full([BLOCK_N, BLOCK_D], True, tl.int1)
    if CHECK_ROWS:
        inside &= (rows < n - start)[:, None]
    if D < BLOCK_D:
        inside &= (columns < D)[None, :]
    # The tile's start always needs 64 bits; offsets within it only if its rows are far apart.
    if INT64:
        rows, columns = rows.to(tl.int64), columns.to(tl.int64)
    offs = rows[:, None] * stride_n + columns[None, :] * stride_d
    return tl.load(ptr + tl.cast(start, tl.int64) * stride_n + offs, mask=inside, other=0.0)


@triton.jit
def in_steps(stride_b, stride_h, stride_n, STEP: tl.constexpr):
    """The same strides, all multiples of STEP, written so that the compiler sees it.

    Only from rows that start at multiples of 16 bytes may 16 bytes be copied at once. Triton itself
    looks only whether a stride is a multiple of 16 numbers.
    """
    return stride_b // STEP * STEP, stride_h // STEP * STEP, stride_n // STEP * STEP


@triton.jit
def store_tile(ptr, tile, start, n, BLOCK_N: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr):
    """Store a tile [BLOCK_N, BLOCK_D] as the rows from `start` on of a contiguous matrix [n, D]."""
    rows, columns = tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_D)
    inside = (rows < n - start)[:, None] & (columns < D)[None, :]
    ptr += tl.cast(start, tl.int64) * D
    offs = rows[:, None] * D + columns[None, :]
    tl.store(ptr + offs, tile.to(ptr.dtype.element_ty), mask=inside)


@triton.jit
def query_block(n_q, n_heads, BLOCK_Q: tl.constexpr):
    """This program's batch b, head h, and the first query of its block.

    The last block of a causal head sees the most keys, so it comes first: otherwise the longest
    programs would start last, and run on while the rest of the GPU is idle.
    """
    n_blocks = tl.cdiv(n_q, BLOCK_Q)
    start_q = (n_blocks - 1 - tl.program_id(0) % n_blocks) * BLOCK_Q
    head = tl.program_id(0) // n_blocks
    return (head // n_heads).to(tl.int64), (head % n_heads).to(tl.int64), start_q


@triton.jit
def key_count(key_lengths_ptr, b, n_k):
    """Number of keys of sequence b: its key length clamped to 0 … n_k, or n_k without lengths."""
    if key_lengths_ptr is None:
        key_length = n_k
    else:
        key_length = tl.minimum(tl.maximum(tl.load(key_lengths_ptr + b), 0), n_k)
    return key_length


@triton.jit
def bounded(s, cap_scale, SOFTCAP: tl.constexpr):
    """Scores over softcap: tanh(s * cap_scale), which keeps them between −1 and 1.

    Near 0 by its series, because there the difference of two exponentials loses all digits.
    """
    if SOFTCAP:
        x = s * cap_scale
        x2 = x * x
        series = x + x * x2 * (-1 / 3 + x2 * (2 / 15 - x2 * (17 / 315)))  # to 3e-7 up to 1/4
        beyond = 1.0 - 2.0 / (tl.exp2(x * 2.8853900817779268) + 1.0)  # 2 log2(e)
        s = tl.where(x2 < 1 / 16, series, beyond)
    return s


@triton.jit
def with_alibi(s, t, j, slope, score_scale, ALIBI: tl.constexpr):
    """Scores less their penalty for distance, in natural units; as they are without ALiBi.

    Any origin of the positions t and j will do: a near one keeps them exact in float32.
    """
    if ALIBI:
        s = s * score_scale - slope * tl.abs(t.to(tl.float32) - j.to(tl.float32))
    return s


@triton.jit
def is_visible(t, j, key_length, window, sinks, CAUSAL: tl.constexpr, WINDOW: tl.constexpr):
    """Whether a query sees key j. A lookahead has been added to its position t and to window."""
    visible = j < key_length
    if CAUSAL:
        visible &= j <= t
    if WINDOW:
        visible &= (t - j < window) | (j < sinks)
    return visible


@triton.jit
def key_spans(
    first_t, key_length, window, sinks,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
):  # fmt: skip
    """The key blocks that a block of queries visits; its first query is at position first_t.

    A lookahead has been added to first_t and to window.

    Returns: the borders of four spans of blocks
        0 … sink_stop      with a mask: the sinks
        left … full        with a mask: the left border of the window
        full … right       every query sees every key
        right … stop       with a mask: the diagonal, and the last keys of the sequence
    """
    last_t = first_t + BLOCK_Q - 1
    # In keys: low … high are visible to some query, full_low … full_high to every query.
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
    start_k, shift, n_q, key_length, window, sinks,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
):  # fmt: skip
    """The query blocks that see a block of keys; query i is at position i + shift.

    A lookahead has been added to shift and to window.

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
        if start_k >= sinks:  # sinks are visible to every later query
            stop = tl.minimum(stop, tl.cdiv(tl.maximum(last_k - shift + window, 0), BLOCK_Q))
    if start_k >= key_length:
        stop = 0
    if last_k >= key_length:  # some keys are padding: every block needs a mask
        right = 0
    first, full = tl.minimum(first, stop), tl.minimum(full, stop)
    return first, full, tl.minimum(tl.maximum(right, full), stop), stop


@triton.jit
def nth_block(index, sink_stop, left, full, right, MASKED: tl.constexpr):
    """The block at `index` among those of the masked spans, or of the unmasked one."""
    if MASKED:
        block = index + tl.where(index < sink_stop, 0, left - sink_stop)
        block += tl.where(block < full, 0, right - full)
    else:
        block = index + full
    return block
