"""FlashAttention in NumPy: exact attention, tile by tile, forward and backward.

A tile of scores is made, used and forgotten; no array here grows with n but the inputs and the
answers. Tiles are computed in float64, whatever the inputs' dtype. Leading axes broadcast, as in
`attention.reference`, which these functions agree with: a row without a visible key gives o = 0,
lse = −inf and gradients 0.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.flash.visibility import Rule, blocks
from attention_src.shapes import check_leading, check_qkv, check_scale, check_size, real_array


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
    """Attention over tiles, each row's maximum and sum kept up to date as tiles go by.

        o = softmax(scale * q k^T, hidden scores = −inf) v,  lse_i = log(sum_j exp(s_ij))

    Args:
        q: [..., n_q, d_k]  queries
        k: [..., n_k, d_k]  keys
        v: [..., n_k, d_v]  values
        causal: key j is visible to query i iff j <= i + n_k - n_q (bottom-right)
        scale: None = d_k ** -0.5
        block_q, block_k: queries and keys in a tile
        window: only the last `window` keys, counting one's own, are visible (causal); None = all
        sinks: how many of the first keys stay visible outside the window
    Returns: o [..., n_q, d_v] in q's dtype, and lse [..., n_q] in float64, natural log
    Raises:
        ValueError: names the axis that does not fit; a block or window below 1; sinks but no window
    Cost: 2 n_q n_k (d_k + d_v) FLOP, less what is hidden block by block; beyond the answers,
        memory for a few tiles: O(block_q block_k + (block_q + block_k) (d_k + d_v)).
    Source: Dao 2023, arXiv:2307.08691, Algorithm 1 (their ℓ, O, L are l, acc, lse). The running
        softmax: Milakov & Gimelshein 2018, arXiv:1805.02867, Algorithm 3.
    """
    q, k, v, leading = _checked(q, k, v, block_q, block_k)
    rule = Rule(q.shape[-2], k.shape[-2], causal, window, sinks)
    scale = check_scale(scale, q.shape[-1])
    o = np.zeros((*leading, rule.n_q, v.shape[-1]), q.dtype)
    lse = np.full((*leading, rule.n_q), -np.inf)
    for i in blocks(rule.n_q, block_q):
        m = np.full((*leading, i.stop - i.start, 1), -np.inf)  # maximum so far
        l = np.zeros_like(m)  # sum of exp(s - m) so far
        acc = np.zeros((*leading, i.stop - i.start, v.shape[-1]))  # sum of exp(s - m) v so far
        for j in rule.key_blocks(i, block_k):
            s = _scores(q, k, i, j, rule, scale)  # [..., block_q, block_k]
            m_new = np.maximum(m, s.max(axis=-1, keepdims=True))
            p = np.exp(s - _finite(m_new))  # [..., block_q, block_k]
            rescale = np.exp(m - _finite(m_new))  # what was summed before, in units of the new m
            l = rescale * l + p.sum(axis=-1, keepdims=True)
            acc = rescale * acc + p @ _tile(v, j)  # [..., block_q, d_v]
            m = m_new
        seen = np.where(l == 0, 1, l)  # l = 0: no visible key, and acc = 0
        o[..., i, :] = acc / seen
        lse[..., i] = (m + np.log(seen))[..., 0]
    return o, lse


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
    """The gradients over tiles: the weights were not stored, so lse makes them again.

        p = exp(s - lse)   delta = rowsum(o * do)   ds = p * (do v^T - delta)
        dv = p^T do        dq = scale * ds k        dk = scale * ds^T q

    Args:
        q, k, v, causal, scale, block_q, block_k, window, sinks: as for `flash_attention`
        o: [..., n_q, d_v]  its first answer
        lse: [..., n_q]  its second answer
        do: [..., n_q, d_v]  gradient of the loss by o
    Returns: dq, dk, dv  with the shapes and dtypes of q, k, v. Axes along which an argument was
        broadcast are summed.
    Raises:
        ValueError: as `flash_attention`; o, lse or do of another shape than the answers'
    Cost: 2 n_q n_k (3 d_k + 2 d_v) FLOP, less what is hidden block by block; beyond the answers (in
        float64 until they are complete), memory for a few tiles.
    Source: Dao 2023, arXiv:2307.08691, Algorithm 2 (their L, D are lse, delta), with its two loops
        exchanged, so that delta and dq belong to one tile and dk and dv are added up.
    """
    q, k, v, leading = _checked(q, k, v, block_q, block_k)
    rule = Rule(q.shape[-2], k.shape[-2], causal, window, sinks)
    scale = check_scale(scale, q.shape[-1])
    o = _array(o, "o", (*leading, rule.n_q, v.shape[-1]))
    do = _array(do, "do", (*leading, rule.n_q, v.shape[-1]))
    lse = _array(lse, "lse", (*leading, rule.n_q))
    dq, dk, dv = (np.zeros(x.shape) for x in (q, k, v))
    for i in blocks(rule.n_q, block_q):
        do_i = _tile(do, i)  # [..., block_q, d_v]
        lse_i = _finite(lse[..., i, None].astype(np.float64))  # [..., block_q, 1]
        delta = (_tile(o, i) * do_i).sum(axis=-1, keepdims=True)  # [..., block_q, 1]
        for j in rule.key_blocks(i, block_k):
            p = np.exp(_scores(q, k, i, j, rule, scale) - lse_i)  # [..., block_q, block_k]
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
    q: np.ndarray, k: np.ndarray, i: slice, j: slice, rule: Rule, scale: float
) -> np.ndarray:
    """One tile of scores, −inf where hidden: [..., block_q, block_k]."""
    with np.errstate(invalid="ignore"):  # NaN belongs to the result
        s = scale * (_tile(q, i) @ _tile(k, j).swapaxes(-1, -2))
    visible = rule.visible(np.arange(i.start, i.stop), np.arange(j.start, j.stop))
    return np.where(visible, s, -np.inf)


def _tile(x: np.ndarray, rows: slice) -> np.ndarray:
    """Some rows of x in float64: [..., rows, d]."""
    return x[..., rows, :].astype(np.float64, copy=False)


def _finite(m: np.ndarray) -> np.ndarray:
    """0 for −inf: a row that has seen nothing yet would compute −inf − (−inf)."""
    return np.where(m == -np.inf, 0, m)


def _add(total: np.ndarray, rows: slice, tile: np.ndarray) -> None:
    """Add a tile to its rows, summing over the leading axes along which x was broadcast."""
    target = total[..., rows, :]
    tile = tile.sum(axis=tuple(range(tile.ndim - target.ndim)))
    stretched = tuple(a for a, n in enumerate(target.shape) if n == 1 and tile.shape[a] > 1)
    target += tile.sum(axis=stretched, keepdims=True)


def _array(x: Any, name: str, expected: tuple[int, ...] | None = None) -> np.ndarray:
    """x as an array of floats, not copied if it is one: its tiles are cast, not the whole."""
    is_float = isinstance(x, np.ndarray) and x.dtype.kind == "f"
    array = x if is_float else real_array(x, name)[0]
    if expected is not None and array.shape != expected:
        raise ValueError(f"{name} has shape {list(array.shape)}; it should be {list(expected)}")
    return array


def _checked(
    q: Any, k: Any, v: Any, block_q: int, block_k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, ...]]:
    """q, k, v as arrays that belong together, and their common leading axes."""
    q, k, v = _array(q, "q"), _array(k, "k"), _array(v, "v")
    check_qkv(q, k, v)
    check_leading(q, k, v)
    check_size(block_q, "block_q", at_least=1)
    check_size(block_k, "block_k", at_least=1)
    return q, k, v, np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
