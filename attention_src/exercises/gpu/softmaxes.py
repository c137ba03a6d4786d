"""Softmaxes as kernels compute them, right ones and wrong ones, in NumPy."""

from collections.abc import Callable

import numpy as np

from attention_src.softmax import reference

Array = np.ndarray
BLOCK = 16  # numbers in a block


def _row(s: Array) -> Array:
    """Softmax of one row; 0 for a fully hidden one."""
    m = s.max()
    if m == -np.inf:
        return np.zeros_like(s)
    e = np.exp(s - m)
    return np.asarray(e / e.sum())


def by_rows(s: Array) -> Array:
    """One program for each row.

    Args:
        s: [n_rows, n] scores
    Returns: [n_rows, n] weights
    """
    return np.stack([_row(row) for row in s])


def in_float32(s: Array) -> Array:
    """As `by_rows`. All at once, in float32."""
    m = s.max(axis=1, keepdims=True)
    e = np.exp(s - np.where(m == -np.inf, np.float32(0), m))
    l = e.sum(axis=1, keepdims=True)
    return np.asarray(e / np.where(l == 0, np.float32(1), l))


def in_blocks(s: Array) -> Array:
    """As `by_rows`. Maximum and sum block by block, then the weights, from the end."""
    m, l = np.full(len(s), -np.inf), np.zeros(len(s))
    for start in range(0, s.shape[1], BLOCK):
        block = s[:, start : start + BLOCK].astype(np.float64)
        m_new = np.maximum(m, block.max(axis=1))
        m_safe = np.where(m_new == -np.inf, 0, m_new)
        l = l * np.exp(m - m_safe) + np.exp(block - m_safe[:, None]).sum(axis=1)
        m = m_new
    m_safe, l = np.where(m == -np.inf, 0, m), np.where(l == 0, 1, l)
    return np.asarray(np.exp(s - m_safe[:, None]) / l[:, None])


def in_base_2(s: Array) -> Array:
    """As `by_rows`. A GPU's exponential is one of 2."""
    m = s.max(axis=1, keepdims=True)
    e = np.exp2((s - np.where(m == -np.inf, np.float32(0), m)) * np.float32(np.log2(np.e)))
    l = e.sum(axis=1, keepdims=True)
    return np.asarray(e / np.where(l == 0, np.float32(1), l))


def backwards(s: Array) -> Array:
    """As `by_rows`. Rows from the last to the first, sums from the right."""
    return by_rows(s[::-1, ::-1])[::-1, ::-1].copy()


def by_columns(s: Array) -> Array:
    """As `by_rows`. The reference, laid out column by column."""
    return np.asfortranarray(reference.softmax(s))


def _changed(change: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The right softmax of something else than the table."""
    return lambda s: by_rows(change(s.copy()))


def last_block_lost(s: Array) -> Array:
    """As `by_rows`. The columns behind the last full block are never handled."""
    n = max(s.shape[1] // 4 * 4, 1)
    p = np.zeros_like(s)
    p[:, :n] = by_rows(s[:, :n])
    return p


def last_rows_lost(s: Array) -> Array:
    """As `by_rows`. Programs take two rows each; an odd row at the end is forgotten."""
    p = by_rows(s)
    if len(s) % 2 and len(s) > 1:
        p[-1] = 0
    return p


def unmasked(s: Array) -> Array:
    """As `by_rows`. Loads a power of two of numbers, those of the next row too."""
    n_rows, n = s.shape
    width = 1 << (n - 1).bit_length()
    memory = np.concatenate([s.ravel(), np.full(width, -np.inf, s.dtype)])
    wide = np.stack([memory[i * n : i * n + width] for i in range(n_rows)])
    return by_rows(wide)[:, :n]


def padded_by_zero(s: Array) -> Array:
    """As `by_rows`. Places behind the row are loaded as 0, not as -inf."""
    width = 1 << (s.shape[1] - 1).bit_length()
    return by_rows(np.pad(s, ((0, 0), (0, width - s.shape[1]))))[:, : s.shape[1]]


def as_it_lies(s: Array) -> Array:
    """As `by_rows`. Reads memory in the order in which it lies, whatever the strides."""
    return by_rows(s.ravel(order="K").reshape(s.shape))


def unshifted(s: Array) -> Array:
    """As `by_rows`. No maximum is subtracted."""
    e = np.exp(s)
    l = e.sum(axis=1, keepdims=True)
    return np.asarray(e / np.where(l == 0, np.float32(1), l))


def one_maximum(s: Array) -> Array:
    """As `by_rows`. One maximum for all rows of a program."""
    m = s.max()
    e = np.exp(s - (m if m > -np.inf else np.float32(0)))
    l = e.sum(axis=1, keepdims=True)
    return np.asarray(e / np.where(l == 0, np.float32(1), l))


def one_sum(s: Array) -> Array:
    """As `by_rows`. One sum for all rows of a program."""
    m = s.max(axis=1, keepdims=True)
    e = np.exp(s - np.where(m == -np.inf, np.float32(0), m))
    return np.asarray(e / (e.sum() or np.float32(1)))


def nan_if_hidden(s: Array) -> Array:
    """As `by_rows`. -inf - (-inf) in a row with nothing to see."""
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def uniform_if_hidden(s: Array) -> Array:
    """As `by_rows`. A row with nothing to see gets a mean."""
    return _changed(lambda s: np.where(s == -np.inf, np.float32(-1e9), s))(s)


def in_float16(s: Array) -> Array:
    """As `by_rows`. Sums and exponentials in 16 bits."""
    m = s.max(axis=1, keepdims=True)
    e = np.exp((s - np.where(m == -np.inf, np.float32(0), m)).astype(np.float16))
    l = e.sum(axis=1, keepdims=True)
    return np.asarray(e / np.where(l == 0, np.float16(1), l))


def in_place(s: Array) -> Array:
    """As `by_rows`. Writes the weights over the scores."""
    s[...] = by_rows(s)
    return s


def never_divided(s: Array) -> Array:
    """As `by_rows`. The exponentials, without their sum."""
    m = s.max(axis=1, keepdims=True)
    return np.asarray(np.exp(s - np.where(m == -np.inf, np.float32(0), m)))


def not_rescaled(s: Array) -> Array:
    """As `by_rows`. A running sum that is not rescaled when the maximum grows."""
    m, l = np.full(len(s), -np.inf), np.zeros(len(s))
    for start in range(0, s.shape[1], BLOCK):
        block = s[:, start : start + BLOCK].astype(np.float64)
        m = np.maximum(m, block.max(axis=1))
        l = l + np.exp(block - np.where(m == -np.inf, 0, m)[:, None]).sum(axis=1)
    m_safe, l = np.where(m == -np.inf, 0, m), np.where(l == 0, 1, l)
    return np.asarray(np.exp(s - m_safe[:, None]) / l[:, None])
