"""What the kernels of this topic share: loading tiles, and the decays of a chunk.

Every exponent is a sum of log gates, at most 0, so nothing overflows. Cumulative sums are never
subtracted: near a zero gate that loses all digits.
"""

from attention_src.triton_support.launch import tl, triton


@triton.jit
def load_tile(ptr, rows, columns, stride_row, stride_column, n_rows, n_columns):
    """[rows, columns] of a matrix, 0 beyond its ends."""
    mask = ((rows >= 0) & (rows < n_rows))[:, None] & (columns < n_columns)[None, :]
    offsets = rows[:, None] * stride_row + columns[None, :] * stride_column
    return tl.load(ptr + offsets, mask=mask, other=0.0)


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
    later = tl.where(tl.arange(0, T) < T - 1, rows + 1, -1)  # the last row has no later gate: 0
    gates = load_gates(ptr, later, columns, stride_row, stride_column, n_rows, n_columns)
    return tl.exp(tl.cumsum(gates, axis=0, reverse=True))


@triton.jit
def decay_whole(log_gates):
    """[T, c] -> [c]  the decay from the chunk's start to its end."""
    return tl.exp(tl.sum(log_gates, axis=0))


@triton.jit
def decay_between(log_gates, T: tl.constexpr):
    """[T] -> [T, T]  the decay from position j to position i >= j; 0 for j > i."""
    i, j = tl.arange(0, T)[:, None], tl.arange(0, T)[None, :]
    gates = tl.where(j < i, log_gates[:, None], 0.0)
    return tl.where(j <= i, tl.exp(tl.cumsum(gates, axis=0)), 0.0)


@triton.jit
def decay_between_channels(log_gates, T: tl.constexpr):
    """[T, c] -> [T, T, c]  as `decay_between`, for each channel."""
    i, j = tl.arange(0, T)[:, None, None], tl.arange(0, T)[None, :, None]
    gates = tl.where(j < i, log_gates[:, None, :], 0.0)
    return tl.where(j <= i, tl.exp(tl.cumsum(gates, axis=0)), 0.0)
