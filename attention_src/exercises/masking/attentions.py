"""Causal attentions, right ones and leaking ones, on which a learner's leak test is tried.

Each takes q, k [n, d_k] and v [n, d_v] and returns o [n, d_v]; the scale is 1 / sqrt(d_k). A right
one gives the same output for token i, whatever follows, but may round differently. Every leak shows
in some text of 40 tokens or fewer.
"""

import numpy as np

Array = np.ndarray


def _scores(q: Array, k: Array) -> Array:
    return np.asarray(q, dtype=np.float64) @ np.asarray(k, dtype=np.float64).T / np.sqrt(k.shape[1])


def _indices(n: int) -> tuple[Array, Array]:
    return np.arange(n)[:, None], np.arange(n)[None, :]


def _causal(n: int) -> Array:
    return np.tri(n, dtype=bool)


def _softmax(s: Array) -> Array:
    """Softmax over the last axis; a row of -inf gives 0."""
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(m > -np.inf, m, 0))
    l = e.sum(axis=-1, keepdims=True)
    return np.asarray(e / np.where(l > 0, l, 1))


def _masked(q: Array, k: Array, v: Array, mask: Array) -> Array:
    return np.asarray(_softmax(np.where(mask, _scores(q, k), -np.inf)) @ v)


# --- right -------------------------------------------------------------------------------------


def by_table(q: Array, k: Array, v: Array) -> Array:
    """One table of scores, the future hidden.

    Args:
        q: [n, d_k]  a row for each token
        k: [n, d_k]
        v: [n, d_v]
    Returns: o [n, d_v]
    """
    return _masked(q, k, v, _causal(len(q)))


def by_einsum(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but with an additive mask, and sums written with letters."""
    q, k, v = q[None, None], k[None, None], v[None, None]  # one text, one head
    s = np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(k.shape[-1])
    p = _softmax(s + np.where(_causal(q.shape[2]), 0.0, -np.inf))
    return np.asarray(np.einsum("bhqk,bhkd->bhqd", p, v)[0, 0])


def by_query(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but one query after another, each with the keys so far."""
    rows = [
        _softmax((k[: i + 1] * q[i]).sum(axis=1) / np.sqrt(k.shape[1])) @ v[: i + 1]
        for i in range(len(q))
    ]
    return np.array(rows)


def in_float32(q: Array, k: Array, v: Array) -> Array:
    """As `by_query`, but in float32: the digits end at the seventh."""
    q, k, v = (np.asarray(x, dtype=np.float32) for x in (q, k, v))
    return by_query(q, k, v)


def from_the_last_key(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but with the keys in the opposite order: sums round differently."""
    return _masked(q, k[::-1], v[::-1], _causal(len(q))[:, ::-1])


def in_tiles(q: Array, k: Array, v: Array, size: int = 8) -> Array:
    """As `by_table`, but eight keys at a time, with a running maximum and a running sum."""
    n, s = len(q), np.where(_causal(len(q)), _scores(q, k), -np.inf)
    m, l, o = np.full((n, 1), -np.inf), np.zeros((n, 1)), np.zeros((n, v.shape[1]))
    for start in range(0, n, size):
        tile = slice(start, start + size)
        new = np.maximum(m, s[:, tile].max(axis=1, keepdims=True))
        e = np.exp(s[:, tile] - new)
        shrink = np.exp(m - new)
        l, o, m = l * shrink + e.sum(axis=1, keepdims=True), o * shrink + e @ v[tile], new
    return np.asarray(o / l)


def centred_and_back(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but in float32, with the mean value taken away first and added again.

    Weights sum to 1, so the mean drops out; later tokens move the rounding and nothing else.
    """
    q, k, v = (np.asarray(x, dtype=np.float32) for x in (q, k, v))
    mean = v.mean(axis=0)
    return (by_table(q, k, v - mean).astype(np.float32) + mean).astype(np.float32)


# --- leaking -----------------------------------------------------------------------------------


def no_mask(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but every query sees every key."""
    return np.asarray(_softmax(_scores(q, k)) @ v)


def one_key_too_many(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but the diagonal above the diagonal is visible too."""
    return _masked(q, k, v, np.tri(len(q), k=1, dtype=bool))


def reversed_polarity(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but the past is hidden, and the future is not."""
    return _masked(q, k, v, ~_causal(len(q)))


def transposed(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but each query sees itself and what follows."""
    return _masked(q, k, v, _causal(len(q)).T)


def zeroed_after_softmax(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but hidden weights become 0 after the sum has counted them."""
    return np.asarray((_softmax(_scores(q, k)) * _causal(len(q))) @ v)


def minus_five(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but hidden keys lose 5 points instead of all."""
    return np.asarray(_softmax(_scores(q, k) - 5 * ~_causal(len(q))) @ v)


def centred_queries(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but the mean of all queries is subtracted from each."""
    return by_table(q - q.mean(axis=0), k, v)


def centred_values(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but the mean of all values is subtracted from each."""
    return by_table(q, k, v - v.mean(axis=0))


def scaled_keys(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but all keys are divided by their mean size, as by a batch norm."""
    return by_table(q, k / np.sqrt((k**2).mean() + 1e-9), v)


def blind_beyond_32(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but the mask is a stored table of 32 by 32; what lies beyond it is visible."""
    i, j = _indices(len(q))
    return _masked(q, k, v, (j <= i) | (i >= 32))


def up_to_the_block_s_end(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but blocks of 4 by 4 are shown or hidden as a whole."""
    i, j = _indices(len(q))
    return _masked(q, k, v, j // 4 <= i // 4)


def last_but_one(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but query n - 2 sees the last key as well; all others are right."""
    i, j = _indices(len(q))
    return _masked(q, k, v, (j <= i) | (i == len(q) - 2))


def early_rows(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but the first 7 queries see one key too many."""
    i, j = _indices(len(q))
    return _masked(q, k, v, (j <= i) | ((j == i + 1) & (i < 7)))


def faint(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but with 1/300 of the mean of all values."""
    return by_table(q, k, v) + v.mean(axis=0) / 300


def far_ahead(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but the next 8 keys are hidden, those behind them are not."""
    i, j = _indices(len(q))
    return _masked(q, k, v, (j <= i) | (j > i + 8))


def round_the_corner(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but half of it is the value before; before the first comes v[-1]."""
    return np.asarray((by_table(q, k, v) + v[np.arange(len(v)) - 1]) / 2)


def scaled_by_length(q: Array, k: Array, v: Array) -> Array:
    """As `by_table`, but scores are multiplied by log(n), and n counts later tokens too."""
    return by_table(q * np.log(len(q)), k, v)
