"""Tiled attentions to try a learner's test on: right ones, and ones with a bug.

Each is f(q, k, v, block_q, block_k, causal=False) -> o, for q [n_q, d_k], k [n_k, d_k],
v [n_k, d_v]; key j is visible to query i iff j <= i + n_k - n_q if causal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_src.attention.reference import attention
from attention_src.flash.reference import flash_attention

Array = np.ndarray
Tiled = Callable[..., Array]


@dataclass(frozen=True)
class Bug:
    """What a tiled attention does wrong; all off: it is right.

    keep_l, keep_acc: that sum is not rescaled
    start: where the maximum begins
    newest: the newest tile's maximum instead of the running one
    drop_keys, drop_queries: a last block that is not full is left out
    pad_keys: a last block that is not full is filled with keys of zeros
    shift_keys: a last block that is not full is moved back until it is
    alone: each tile has a softmax of its own, and their mean is taken
    scale_by: "d_v", or "none"
    half: sums are kept in float16
    no_mask: causal is ignored
    no_diagonal: a tile that the diagonal cuts is skipped
    top_left: causal counts from the first query
    equal_tiles: a cut tile is masked only if it begins at the diagonal
    unguarded: rows that see nothing yet give NaN
    """

    keep_l: bool = False
    keep_acc: bool = False
    start: float = -np.inf
    newest: bool = False
    drop_keys: bool = False
    drop_queries: bool = False
    pad_keys: bool = False
    shift_keys: bool = False
    alone: bool = False
    scale_by: str = "d_k"
    half: bool = False
    no_mask: bool = False
    no_diagonal: bool = False
    top_left: bool = False
    equal_tiles: bool = False
    unguarded: bool = False


def with_bug(**bug: Any) -> Tiled:
    """A tiled attention with a bug.

    Args:
        bug: as for `Bug`; nothing = a right one
    Returns: the function
    """
    b = Bug(**bug)

    def tiled(
        q: Array, k: Array, v: Array, block_q: int, block_k: int, causal: bool = False
    ) -> Array:
        o = np.zeros((len(q), v.shape[1]))
        stop = len(q) // block_q * block_q if b.drop_queries else len(q)
        for i in range(0, stop, block_q):
            o[i : i + block_q] = _rows(
                b, q, k, v, slice(i, min(i + block_q, len(q))), block_k, causal
            )
        return o

    return tiled


def _rows(b: Bug, q: Array, k: Array, v: Array, i: slice, block_k: int, causal: bool) -> Array:
    """The outputs of one block of queries."""
    n_q, n_k = len(q), len(k)
    shift = 0 if b.top_left else n_k - n_q
    t = np.arange(i.start, i.stop)[:, None] + shift  # the last key that a query sees
    width = {"d_k": q.shape[1], "d_v": v.shape[1], "none": 1}[b.scale_by]
    q_i = q[i] * width**-0.5
    dtype = np.float16 if b.half else np.float64
    m = np.full((len(q_i), 1), b.start)
    l, acc = np.zeros((len(q_i), 1), dtype), np.zeros((len(q_i), v.shape[1]), dtype)
    outputs = []
    for start in range(0, n_k // block_k * block_k if b.drop_keys else n_k, block_k):
        if causal and not b.no_mask and start > t[-1, 0]:
            break
        if b.shift_keys and start + block_k > n_k >= block_k:
            start = n_k - block_k
        j = slice(start, min(start + block_k, n_k))
        s, v_j = q_i @ k[j].T, v[j]
        if b.pad_keys and s.shape[1] < block_k:
            missing = block_k - s.shape[1]
            s = np.pad(s, ((0, 0), (0, missing)))
            v_j = np.pad(v_j, ((0, missing), (0, 0)))
        if causal and not b.no_mask:
            cut = j.stop - 1 > t[0, 0]
            if b.no_diagonal and cut and start > 0:
                continue
            seen = np.arange(start, start + s.shape[1]) <= t
            if not b.equal_tiles or start == t[0, 0]:
                s = np.where(seen, s, -np.inf)
        tops = s.max(axis=1, keepdims=True)
        m_new = tops if b.newest else np.maximum(m, tops)
        safe = m_new if b.unguarded else np.where(m_new == -np.inf, 0, m_new)
        p, rescale = np.exp(s - safe), np.exp(m - safe)
        if b.alone:
            outputs.append(p @ v_j / p.sum(axis=1, keepdims=True))
        l = ((1 if b.keep_l else rescale) * l + p.sum(axis=1, keepdims=True)).astype(dtype)
        acc = ((1 if b.keep_acc else rescale) * acc + p @ v_j).astype(dtype)
        m = m_new
    if b.alone and outputs:
        return np.nan_to_num(np.mean(outputs, axis=0))
    if b.unguarded:
        return acc / l
    return np.where(l == 0, 0, acc / np.where(l == 0, 1, l)).astype(np.float64)


def package(
    q: Array, k: Array, v: Array, block_q: int, block_k: int, causal: bool = False
) -> Array:
    """The package's own.

    Args:
        q, k, v, block_q, block_k, causal: as in the module's docstring
    Returns: o
    """
    return flash_attention(q, k, v, causal=causal, block_q=block_q, block_k=block_k)[0]


def dense(q: Array, k: Array, v: Array, block_q: int, block_k: int, causal: bool = False) -> Array:
    """No tiles at all.

    Args:
        q, k, v, block_q, block_k, causal: as in the module's docstring
    Returns: o
    """
    return attention(q, k, v, causal=causal)


def backwards(
    q: Array, k: Array, v: Array, block_q: int, block_k: int, causal: bool = False
) -> Array:
    """The keys in blocks from the last to the first, and the queries one by one.

    Args:
        q, k, v, block_q, block_k, causal: as in the module's docstring
    Returns: o
    """
    o = np.zeros((len(q), v.shape[1]))
    for i, q_i in enumerate(q * q.shape[1] ** -0.5):
        m, l, acc = -np.inf, 0.0, np.zeros(v.shape[1])
        n_seen = min(len(k), max(0, i + 1 + len(k) - len(q))) if causal else len(k)
        for j in reversed(range(0, n_seen, block_k)):
            s = k[j : min(j + block_k, n_seen)] @ q_i
            m, before = max(m, s.max()), m
            p = np.exp(s - m)
            l, acc = np.exp(before - m) * l + p.sum(), np.exp(before - m) * acc
            acc = acc + p @ v[j : min(j + block_k, n_seen)]
        o[i] = acc / l if l else 0
    return o


def halves(q: Array, k: Array, v: Array, block_q: int, block_k: int, causal: bool = False) -> Array:
    """Two halves of the keys, merged by their log-sum-exp, in base 2.

    Args:
        q, k, v, block_q, block_k, causal: as in the module's docstring
    Returns: o
    """
    n_q, n_k = len(q), len(k)
    seen = np.arange(n_k) <= np.arange(n_q)[:, None] + n_k - n_q
    s = np.where(seen if causal else True, q @ k.T * q.shape[1] ** -0.5 / np.log(2), -np.inf)
    parts = []
    for j in (slice(0, n_k // 2), slice(n_k // 2, n_k)):
        m = s[:, j].max(axis=1, keepdims=True, initial=-np.inf)
        safe = np.where(m == -np.inf, 0, m)
        p = np.exp2(s[:, j] - safe)
        l = p.sum(axis=1, keepdims=True)
        lse = np.where(l > 0, safe + np.log2(np.where(l > 0, l, 1)), -np.inf)
        parts.append((p @ v[j] / np.where(l > 0, l, 1), lse))
    top = np.maximum(parts[0][1], parts[1][1])
    weights = [np.exp2(lse - np.where(top == -np.inf, 0, top)) for _, lse in parts]
    total = weights[0] + weights[1]
    mixed = weights[0] * parts[0][0] + weights[1] * parts[1][0]
    return np.asarray(mixed / np.where(total > 0, total, 1))


def in_float32(
    q: Array, k: Array, v: Array, block_q: int, block_k: int, causal: bool = False
) -> Array:
    """The package's, on numbers rounded to float32.

    Args:
        q, k, v, block_q, block_k, causal: as in the module's docstring
    Returns: o in float32
    """
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    return package(q, k, v, block_q, block_k, causal)


def swapped_blocks(
    q: Array, k: Array, v: Array, block_q: int, block_k: int, causal: bool = False
) -> Array:
    """Tiles of block_k queries and block_q keys: which tiles are taken is not part of the meaning.

    Args:
        q, k, v, block_q, block_k, causal: as in the module's docstring
    Returns: o
    """
    return package(q, k, v, block_k, block_q, causal)


def scaled_in_place(
    q: Array, k: Array, v: Array, block_q: int, block_k: int, causal: bool = False
) -> Array:
    """Right, and it leaves q scaled.

    Args:
        q, k, v, block_q, block_k, causal: as in the module's docstring
    Returns: o
    """
    o = package(q, k, v, block_q, block_k, causal)
    q *= q.shape[1] ** -0.5
    return o
