"""FlashAttention in NumPy: exact attention, tile by tile, forward and backward.

Only one tile of scores exists at a time: beyond the inputs and the results, memory does not grow
with n. Tiles are computed in float64, whatever the inputs' dtype. As in `attention.reference`,
leading axes broadcast, and a fully masked row gives o = 0, lse = −inf and gradients 0.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.errstate import own_errstate
from attention_src.flash.visibility import Visibility, blocks
from attention_src.shapes import (
    as_array,
    as_float64,
    check_leading,
    check_qkv,
    check_scale,
    check_shape,
    check_size,
)


@own_errstate()
def flash_attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    scale: float | None = None,
    block_q: int = 64,
    block_k: int = 64,
    window: int | None = None,
    sinks: int = 0,
) -> tuple[Float[np.ndarray, "*batch n_q d_v"], Float[np.ndarray, "*batch n_q"]]:
    """Attention tile by tile, with a running maximum and sum for each row.

        o = softmax(scale * q k^T, hidden scores = −inf) v,  lse_i = log(sum_j exp(s_ij))

    Args:
        q: [..., n_q, d_k]  queries
        k: [..., n_k, d_k]  keys
        v: [..., n_k, d_v]  values
        causal: key j is visible to query i iff j <= i + n_k - n_q (bottom-right)
        scale: None = d_k ** -0.5
        block_q, block_k: queries and keys in a tile
        window: number of most recent keys visible, including the query's own; implies causal;
            None = all
        sinks: number of first keys that stay visible outside the window
    Returns: o [..., n_q, d_v] in q's dtype, and lse [..., n_q] in float64, natural log
    Raises:
        ValueError: names the axis that does not fit; a block or window below 1; sinks but no window
    Cost: 2 n_q n_k (d_k + d_v) FLOP, less the hidden blocks. Beyond the results, memory for a few
        tiles: O(block_q block_k + (block_q + block_k) (d_k + d_v)).
    Source: Dao 2023, arXiv:2307.08691, Algorithm 1 (their ℓ, O, L are l, acc, lse). The running
        softmax: Milakov & Gimelshein 2018, arXiv:1805.02867, Algorithm 3.
    """
    q, k, v, leading = _checked(q, k, v, block_q, block_k)
    visibility = Visibility(q.shape[-2], k.shape[-2], causal, window, sinks)
    scale = check_scale(scale, q.shape[-1])
    n_q, d_v = q.shape[-2], v.shape[-1]
    o = np.zeros((*leading, n_q, d_v), q.dtype)
    lse = np.full((*leading, n_q), -np.inf)
    for i in blocks(n_q, block_q):
        m = np.full((*leading, i.stop - i.start, 1), -np.inf)  # running maximum
        l = np.zeros_like(m)  # running sum of exp(s - m)
        acc = np.zeros((*leading, i.stop - i.start, d_v))  # running sum of exp(s - m) v
        for j in visibility.key_blocks(i, block_k):
            s = _scores(q, k, i, j, visibility, scale)  # [..., block_q, block_k]
            m_new = np.maximum(m, s.max(axis=-1, keepdims=True))
            m_safe = _finite(m_new)
            p = np.exp(s - m_safe)  # [..., block_q, block_k]
            rescale = np.exp(m - m_safe)  # earlier sums, relative to the new maximum
            l = rescale * l + p.sum(axis=-1, keepdims=True)
            acc = rescale * acc + p @ _tile(v, j)  # [..., block_q, d_v]
            m = m_new
        l = np.where(l == 0, 1, l)  # fully masked: acc = 0, so o = 0
        o[..., i, :] = acc / l
        lse[..., i] = (m + np.log(l))[..., 0]
    return o, lse


@own_errstate()
def flash_attention_backward(
    q: Any,
    k: Any,
    v: Any,
    o: Any,
    lse: Any,
    do: Any,
    *,
    causal: bool = False,
    scale: float | None = None,
    block_q: int = 64,
    block_k: int = 64,
    window: int | None = None,
    sinks: int = 0,
) -> tuple[
    Float[np.ndarray, "*batch_q n_q d_k"],
    Float[np.ndarray, "*batch_k n_k d_k"],
    Float[np.ndarray, "*batch_v n_k d_v"],
]:
    """The gradients tile by tile: the weights were not stored, so they are recomputed from lse.

        p = exp(s - lse)   delta = rowsum(o * do)   ds = p * (do v^T - delta)
        dv = p^T do        dq = scale * ds k        dk = scale * ds^T q

    Args:
        q, k, v, causal, scale, block_q, block_k, window, sinks: as for `flash_attention`
        o: [..., n_q, d_v]  as returned by `flash_attention`
        lse: [..., n_q]  as returned by `flash_attention`
        do: [..., n_q, d_v]  gradient of the loss by o
    Returns: dq, dk, dv  with the shapes and dtypes of q, k, v, summed over the axes along which an
        argument was broadcast
    Raises:
        ValueError: as `flash_attention`; o, lse or do of the wrong shape
    Cost: 2 n_q n_k (3 d_k + 2 d_v) FLOP, less the hidden blocks. Beyond the results, which are
        accumulated in float64, memory for a few tiles.
    Source: Dao 2023, arXiv:2307.08691, Algorithm 2 (their L, D are lse, delta), with the two loops
        exchanged: delta and dq are computed for one tile, dk and dv accumulate.
    """
    q, k, v, leading = _checked(q, k, v, block_q, block_k)
    visibility = Visibility(q.shape[-2], k.shape[-2], causal, window, sinks)
    scale = check_scale(scale, q.shape[-1])
    n_q, d_v = q.shape[-2], v.shape[-1]
    o, lse, do = _array(o, "o"), _array(lse, "lse"), _array(do, "do")
    check_shape(o, "o", "[..., n_q, d_v]", (*leading, n_q, d_v))
    check_shape(lse, "lse", "[..., n_q]", (*leading, n_q))
    check_shape(do, "do", "[..., n_q, d_v]", (*leading, n_q, d_v))
    dq, dk, dv = (np.zeros(x.shape) for x in (q, k, v))
    for i in blocks(n_q, block_q):
        do_i = _tile(do, i)  # [..., block_q, d_v]
        lse_i = lse[..., i, None].astype(np.float64)  # [..., block_q, 1]
        lse_i = np.where(lse_i == np.inf, np.nan, _finite(lse_i))  # with a score of inf, p is NaN
        delta = (_tile(o, i) * do_i).sum(axis=-1, keepdims=True)  # [..., block_q, 1]
        for j in visibility.key_blocks(i, block_k):
            p = np.exp(_scores(q, k, i, j, visibility, scale) - lse_i)  # [..., block_q, block_k]
            dp = do_i @ _tile(v, j).swapaxes(-1, -2)  # [..., block_q, block_k]
            ds = p * (dp - delta)  # [..., block_q, block_k]
            _add(dq, i, scale * (ds @ _tile(k, j)))
            _add(dk, j, scale * (ds.swapaxes(-1, -2) @ _tile(q, i)))
            _add(dv, j, p.swapaxes(-1, -2) @ do_i)
    return (
        dq.astype(q.dtype, copy=False),
        dk.astype(k.dtype, copy=False),
        dv.astype(v.dtype, copy=False),
    )


def _scores(
    q: np.ndarray, k: np.ndarray, i: slice, j: slice, visibility: Visibility, scale: float
) -> np.ndarray:
    """One tile of scores, −inf where hidden: [..., block_q, block_k]."""
    with np.errstate(invalid="ignore"):  # NaN inputs give NaN results, without a warning
        s = scale * (_tile(q, i) @ _tile(k, j).swapaxes(-1, -2))
    t = visibility.positions(np.arange(i.start, i.stop))
    return np.where(visibility.visible(t, np.arange(j.start, j.stop)), s, -np.inf)


def _tile(x: np.ndarray, rows: slice) -> np.ndarray:
    """Some rows of x in float64: [..., rows, d]."""
    return x[..., rows, :].astype(np.float64, copy=False)


def _finite(m: np.ndarray) -> np.ndarray:
    """m with 0 for −inf, where no key is visible yet, and for inf: inf − inf would be NaN."""
    return np.where(np.isinf(m), 0, m)


def _add(total: np.ndarray, rows: slice, tile: np.ndarray) -> None:
    """Add a tile to its rows of a gradient, summed over the axes along which x was broadcast."""
    target = total[..., rows, :]
    tile = tile.sum(axis=tuple(range(tile.ndim - target.ndim)))
    broadcast = tuple(a for a, n in enumerate(target.shape) if n == 1 and tile.shape[a] > 1)
    target += tile.sum(axis=broadcast, keepdims=True)


def _array(x: Any, name: str) -> np.ndarray:
    """x as an array of floats, not copied if it already is one: tiles are cast one by one."""
    is_float = isinstance(x, np.ndarray) and x.dtype.kind == "f"
    return as_array(x, name) if is_float else as_float64(x, name)[0]


def _checked(
    q: Any, k: Any, v: Any, block_q: int, block_k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, ...]]:
    """Check q, k, v and the block sizes; return the arrays and their common leading axes."""
    q, k, v = _array(q, "q"), _array(k, "k"), _array(v, "v")
    check_qkv(q, k, v)
    check_leading(q, k, v)
    check_size(block_q, "block_q", at_least=1)
    check_size(block_k, "block_k", at_least=1)
    return q, k, v, np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
