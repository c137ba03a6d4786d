"""Attentions, right ones and wrong ones, on which a learner's test is tried.

Each takes q [..., n_q, d_k], k [..., n_k, d_k] and v [..., n_k, d_v], with at most two axes in
front, and returns o [..., n_q, d_v]. Every wrong one is wrong by 0.001 or more on some input that
the exercise names.
"""

import math

import numpy as np

Array = np.ndarray


def _scores(q: Array, k: Array) -> Array:
    return np.asarray(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5)


def _softmax(s: Array, axis: int | tuple[int, ...] = -1) -> Array:
    e = np.exp(s - s.max(axis=axis, keepdims=True))
    return np.asarray(e / e.sum(axis=axis, keepdims=True))


# --- right -------------------------------------------------------------------------------------


def by_line(q: Array, k: Array, v: Array) -> Array:
    """The line as it stands in the chapter.

    Args:
        q: [..., n_q, d_k]
        k: [..., n_k, d_k]
        v: [..., n_k, d_v]
    Returns: o [..., n_q, d_v]
    """
    return np.asarray(_softmax(_scores(q, k)) @ v)


def by_einsum(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but sums are written with letters, and the scale sits on the queries."""
    front, q = q.shape[:-2], q / np.sqrt(q.shape[-1])
    q, k, v = (x.reshape(-1, 1, *x.shape[-2:]) for x in (q, k, v))
    p = _softmax(np.einsum("bhqd,bhkd->bhqk", q, k))
    o = np.einsum("bhqk,bhkd->bhqd", p, v)
    return np.asarray(o.reshape(*front, *o.shape[-2:]))


def by_query(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but one query after another, in plain loops over the axes in front."""
    o = np.zeros((*q.shape[:-1], v.shape[-1]))
    for index in np.ndindex(q.shape[:-1]):
        front = index[:-1]
        o[index] = _softmax(k[front] @ q[index] / math.sqrt(q.shape[-1])) @ v[front]
    return o


def in_float32(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but in float32."""
    return by_line(*(np.asarray(x, dtype=np.float32) for x in (q, k, v)))


def divided_at_the_end(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but in powers of 2, and the sum divides the output instead of the weights."""
    s = _scores(q, k) / math.log(2)
    e = np.exp2(s - s.max(axis=-1, keepdims=True))
    return np.asarray(e @ v / e.sum(axis=-1, keepdims=True))


def in_tiles(q: Array, k: Array, v: Array, size: int = 8) -> Array:
    """As `by_line`, but eight keys at a time, with a running maximum and a running sum."""
    s, front = _scores(q, k), q.shape[:-1]
    m, l, o = np.full((*front, 1), -np.inf), np.zeros((*front, 1)), np.zeros((*front, v.shape[-1]))
    for start in range(0, k.shape[-2], size):
        tile = slice(start, start + size)
        new = np.maximum(m, s[..., tile].max(axis=-1, keepdims=True))
        e, shrink = np.exp(s[..., tile] - new), np.exp(m - new)
        l, o, m = l * shrink + e.sum(-1, keepdims=True), o * shrink + e @ v[..., tile, :], new
    return np.asarray(o / l)


# --- wrong -------------------------------------------------------------------------------------


def over_queries(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but the columns of weights sum to 1."""
    return np.asarray(_softmax(_scores(q, k), axis=-2) @ v)


def over_the_table(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but one softmax for all queries of a head."""
    return np.asarray(_softmax(_scores(q, k), axis=(-2, -1)) @ v)


def not_scaled(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but scores are plain dot products."""
    return by_line(q * np.sqrt(q.shape[-1]), k, v)


def scaled_twice(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but divided by the root of d_k two times."""
    return by_line(q / np.sqrt(q.shape[-1]), k, v)


def scaled_by_64(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but always divided by 8, the root of 64."""
    return by_line(q * np.sqrt(q.shape[-1]) / 8, k, v)


def scaled_by_d_v(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but divided by the root of d_v."""
    return by_line(q * np.sqrt(q.shape[-1] / v.shape[-1]), k, v)


def no_maximum(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but exponentials of large scores overflow."""
    with np.errstate(all="ignore"):
        e = np.exp(_scores(q, k))
        return np.asarray(e / e.sum(axis=-1, keepdims=True) @ v)


def one_maximum(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but the largest score of all is subtracted from every row."""
    with np.errstate(all="ignore"):
        s = _scores(q, k)
        e = np.exp(s - s.max())
        return np.asarray(e / e.sum(axis=-1, keepdims=True) @ v)


def keys_by_t(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but k.T turns all axes, wherever the result fits; elsewhere it is right."""
    try:
        return np.asarray(_softmax(q @ k.T * q.shape[-1] ** -0.5) @ v)
    except ValueError:
        return by_line(q, k, v)


def roles_swapped(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but keys ask and queries answer, where the numbers of both allow it."""
    return by_line(k, q, v) if q.shape == k.shape else by_line(q, k, v)


def weights_transposed(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but the weights are transposed before they meet the values, if they fit."""
    p = _softmax(_scores(q, k))
    return np.asarray((p.swapaxes(-1, -2) if p.shape[-2] == p.shape[-1] else p) @ v)


def hardest(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but the best key takes all."""
    s = _scores(q, k)
    return by_line(
        1e6 * s, np.broadcast_to(np.eye(s.shape[-1]), (*s.shape[:-2], *[s.shape[-1]] * 2)), v
    )


def first_keys(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but blind beyond the 16th key."""
    return by_line(q, k[..., :16, :], v[..., :16, :])


def last_key_lost(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but the last key is left out, if there are two or more."""
    n = max(1, k.shape[-2] - 1)
    return by_line(q, k[..., :n, :], v[..., :n, :])


def always_causal(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but hides later keys, though nobody asked for it."""
    s = _scores(q, k)
    n_q, n_k = s.shape[-2:]
    visible = np.tri(n_q, n_k, max(n_k - n_q, 0), dtype=bool)
    return np.asarray(_softmax(np.where(visible, s, -np.inf)) @ v)


def first_text_only(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but all texts of a batch look into the first one."""
    if q.ndim < 3:
        return by_line(q, k, v)
    same = [np.broadcast_to(x[:1], x.shape) for x in (k, v)]
    return by_line(q, *same)


def rounded_weights(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but weights below 0.01 are dropped."""
    p = _softmax(_scores(q, k))
    return np.asarray(np.where(p < 0.01, 0, p) @ v)


def scaled_in_place(q: Array, k: Array, v: Array) -> Array:
    """As `by_line`, but it divides the caller's own queries: a second call gets others."""
    o = by_line(q, k, v)
    if isinstance(q, np.ndarray) and q.dtype.kind == "f":
        q /= np.sqrt(q.shape[-1])
    return o
