"""What the kernels of this topic share: loading tiles, and the decays of a chunk.

Every exponent is a sum of log gates, at most 0, so nothing overflows. Gates of channels are summed
for each pair: differences of cumulative sums lose all digits near a zero gate. With one gate a
position, summing for each pair would be most of the work. There differences are taken, and each sum
is kept as two numbers, so that no digits are lost.
"""

import math

from attention_src.triton_support.launch import tl, triton

LOG2_E = tl.constexpr(math.log2(math.e))
LOWEST = tl.constexpr(-160.0)  # 2^LOWEST is 0 in float32


@triton.jit
def load_tile(ptr, rows, columns, stride_row, stride_column, n_rows, n_columns):
    """[rows, columns] of a matrix, 0 beyond its ends."""
    mask = (rows < n_rows)[:, None] & (columns < n_columns)[None, :]
    rows, columns = rows.to(tl.int64), columns.to(tl.int64)
    at = ptr + rows[:, None] * stride_row + columns[None, :] * stride_column
    return tl.load(at, mask=mask, other=0.0)


@triton.jit
def load_gates(ptr, rows, columns, stride_row, stride_column, n_rows, n_columns):
    """Log gates in float32; 0, a gate of 1, beyond the ends."""
    gates = load_tile(ptr, rows, columns, stride_row, stride_column, n_rows, n_columns)
    return gates.to(tl.float32)


@triton.jit
def decay_from_start(log_gates):
    """[T, c] -> [T, c]  the decay from the chunk's start to position i."""
    return tl.exp(tl.cumsum(log_gates, axis=0))


@triton.jit
def decay_to_end(
    ptr, start, columns, stride_row, stride_column, n_rows, n_columns, T: tl.constexpr
):  # fmt: skip
    """[T, c]  the decay from each position to the chunk's end; loads the gates after it."""
    rows = start + tl.arange(0, T).to(tl.int64)
    later = tl.where(tl.arange(0, T) < T - 1, rows + 1, n_rows)  # none after the last: 0
    gates = load_gates(ptr, later, columns, stride_row, stride_column, n_rows, n_columns)
    return tl.exp(tl.cumsum(gates, axis=0, reverse=True))


@triton.jit
def decay_whole(log_gates):
    """[T, c] -> [c]  the decay from the chunk's start to its end."""
    return tl.exp(tl.sum(log_gates, axis=0))


@triton.jit
def log2_from_start(log_gates):
    """[T] -> [T], [T]  log2 of the decay from the chunk's start to position i, in two parts.

    The second part is what float32 drops of the first.
    """
    log2_gates = log_gates.to(tl.float64) * LOG2_E
    # Where a gate is 0 in float32 its log is any number as low, so that differences are finite.
    log2_decay = tl.cumsum(tl.where(log2_gates < LOWEST, LOWEST, log2_gates), axis=0)
    high = log2_decay.to(tl.float32)
    return high, (log2_decay - high).to(tl.float32)


@triton.jit
def log2_between(high_j, low_j, high_i, low_i):
    """log2 of the decay from position j to position i >= j, by the parts of `log2_from_start`.

    With low, this difference is as exact as a sum of the log gates between.
    """
    return (high_i - high_j) + (low_i - low_j)


@triton.jit
def decay_between(high, low, T: tl.constexpr):
    """[T], [T] -> [T, T]  the decay from position j to position i >= j; 0 for j > i."""
    i, j = tl.arange(0, T)[:, None], tl.arange(0, T)[None, :]
    log2_decay = log2_between(high[None, :], low[None, :], high[:, None], low[:, None])
    return tl.exp2(tl.where(j <= i, log2_decay, -float("inf")))


@triton.jit
def decay_between_channels(log_gates, T: tl.constexpr):
    """[T, c] -> [T, T, c]  as `decay_between`, for each channel."""
    i, j = tl.arange(0, T)[:, None, None], tl.arange(0, T)[None, :, None]
    gates = tl.where(j < i, log_gates[:, None, :], 0.0)
    return tl.where(j <= i, tl.exp(tl.cumsum(gates, axis=0)), 0.0)
