"""Parts of kernels that walk over chunks: loading tiles, and what decays leave of things.

Every exponent is a sum of log gates, at most 0, so nothing overflows; and none is the difference of
two such sums, which beside a gate near 0 would have no correct digits.
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
    """The same in float32: log gates, 0 (keep all) beyond the ends."""
    return load_tile(ptr, rows, columns, stride_row, stride_column, n_rows, n_columns).to(
        tl.float32
    )


@triton.jit
def since_start(log_gates):
    """[T, c] -> [T, c]  what position i still sees of the state before the first."""
    return tl.exp(tl.cumsum(log_gates, axis=0))


@triton.jit
def to_end(ptr, start, columns, stride_row, stride_column, n_rows, n_columns, T: tl.constexpr):
    """[T, c]  what the state after the last position still holds of each: the gates after it."""
    rows = start + tl.arange(0, T).to(tl.int64)
    later = tl.where(tl.arange(0, T) < T - 1, rows + 1, -1)  # none after the tile's last
    gates = load_gates(ptr, later, columns, stride_row, stride_column, n_rows, n_columns)
    return tl.exp(tl.cumsum(gates, axis=0, reverse=True))


@triton.jit
def of_all(log_gates):
    """[T, c] -> [c]  what is left of the state before the first."""
    return tl.exp(tl.sum(log_gates, axis=0))


@triton.jit
def between(log_gates, T: tl.constexpr):
    """[T] -> [T, T]  what position i still sees of position j <= i; 0 for j > i."""
    i, j = tl.arange(0, T)[:, None], tl.arange(0, T)[None, :]
    gates = tl.where(j < i, log_gates[:, None], 0.0)
    return tl.where(j <= i, tl.exp(tl.cumsum(gates, axis=0)), 0.0)


@triton.jit
def between_channels(log_gates, T: tl.constexpr):
    """[T, c] -> [T, T, c]  the same for each channel."""
    i, j = tl.arange(0, T)[:, None, None], tl.arange(0, T)[None, :, None]
    gates = tl.where(j < i, log_gates[:, None, :], 0.0)
    return tl.where(j <= i, tl.exp(tl.cumsum(gates, axis=0)), 0.0)
