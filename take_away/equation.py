import math

import numpy as np


def attention(q, k, v, mask=None):
    """q [..., n_q, d_k], k [..., n_k, d_k], v [..., n_k, d_v].

    mask: bool, broadcasts to [..., n_q, n_k]; True = may attend.
    A query that may attend to nothing gets 0.
    """
    # not k.T, which mixes texts
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total) @ v


def slow_attention(q, k, v, mask):
    """The same, one query and one key at a time."""
    out = np.zeros((*q.shape[:-1], v.shape[-1]))
    for at in np.ndindex(q.shape[:-1]):  # at = (text, ..., query)
        keys, values, may = k[at[:-1]], v[at[:-1]], mask[at]
        s = [q[at] @ key / math.sqrt(len(key)) for key in keys]
        if may.any():
            top = max(x for x, ok in zip(s, may) if ok)
            e = [math.exp(x - top) if ok else 0 for x, ok in zip(s, may)]
            for w, value in zip(e, values):
                out[at] += w / sum(e) * value
    return out


def test_attention(f):
    rng = np.random.default_rng(0)
    for a, b, c in (
        [(4, 4, 4), (4, 4, 4), (4, 4, 4)],  # all sizes equal
        [(2, 5, 8), (2, 20, 8), (2, 20, 3)],  # all different
        [(2, 3, 6, 8), (2, 3, 6, 8), (2, 3, 6, 3)],  # heads; n_q = n_k
    ):
        q, k, v = (rng.normal(size=size) for size in (a, b, c))
        may = rng.random((*a[:-1], b[-2])) < 0.7
        may[..., 0, :] = False  # a query that may attend to nothing
        one = may.reshape(-1, *may.shape[-2:])[0]  # for all texts alike
        for x, mask in ((q, None), (q, may), (1000 * q, may), (q, one)):
            seen = np.broadcast_to(mask is None or mask, may.shape)
            right = slow_attention(x, k, v, seen)
            given = [x.copy(), k.copy(), v.copy(), seen.copy()]
            got = f(*given[:3], None if mask is None else given[3])
            assert got.shape == right.shape, f"{a}: {got.shape}"
            off = np.abs(got - right).max()
            assert off < 1e-8, f"{a}: off by {off:.2g}"  # float32: 0.01
            assert all(map(np.array_equal, (x, k, v, seen), given))


test_attention(attention)
q = np.random.default_rng(1).normal(size=(32, 9, 128))
print("32 query heads, as in Llama 3.1 8B:", attention(q, q, q).shape)
