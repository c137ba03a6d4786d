"""Answers to the exercises on flash attention: right ones written otherwise, and sly ones."""

import numpy as np
import torch

from attention_src.attention.reference import attention
from attention_src.exercises.flash import check_merge, check_tiled_attention, check_tiled_test
from attention_src.flash.reference import flash_attention

GIVEN = {"attention": attention}


def row_by_row(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m, l, acc = np.empty_like(m_a), np.empty_like(l_a), np.empty_like(acc_a)
    for i in np.ndindex(m_a.shape):
        m[i] = max(m_a[i], m_b[i])
        if m[i] == -np.inf:
            l[i], acc[i] = 0, 0
            continue
        a, b = np.exp(m_a[i] - m[i]), np.exp(m_b[i] - m[i])
        l[i], acc[i] = a * l_a[i] + b * l_b[i], a * acc_a[i] + b * acc_b[i]
    return m, l, acc


def the_larger_first(m_a, l_a, acc_a, m_b, l_b, acc_b):
    swap = m_b > m_a
    pick = lambda x, y: np.where(swap if x.ndim == swap.ndim else swap[..., None], x, y)  # noqa: E731
    gap = np.where(m_a == m_b, 0, -np.abs(np.nan_to_num(m_a - m_b, nan=0)))
    e = np.exp(gap)
    l = pick(l_b, l_a) + e * pick(l_a, l_b)
    return np.maximum(m_a, m_b), l, pick(acc_b, acc_a) + e[..., None] * pick(acc_a, acc_b)


def nan_to_zero(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = np.maximum(m_a, m_b)
    a, b = np.nan_to_num(np.exp(m_a - m)), np.nan_to_num(np.exp(m_b - m))
    return m, a * l_a + b * l_b, a[..., None] * acc_a + b[..., None] * acc_b


def merged_in_torch(*parts):
    m_a, l_a, acc_a, m_b, l_b, acc_b = map(torch.from_numpy, parts)
    m = torch.maximum(m_a, m_b)
    safe = m.masked_fill(m == -torch.inf, 0)
    a, b = (m_a - safe).exp(), (m_b - safe).exp()
    return m, a * l_a + b * l_b, a[..., None] * acc_a + b[..., None] * acc_b


def by_einsum(m_a, l_a, acc_a, m_b, l_b, acc_b):
    ms, ls = np.stack([m_a, m_b]), np.stack([l_a, l_b])
    m = ms.max(axis=0)
    e = np.exp(ms - np.where(m == -np.inf, 0, m))
    acc = np.einsum("p...,p...d->...d", e, np.stack([acc_a, acc_b]))
    return m, (e * ls).sum(axis=0), acc


def package(q, k, v, block):
    return flash_attention(q, k, v, block_k=block)


def two_passes(q, k, v, block):
    """First the maxima of all blocks, then the sums."""
    scores = lambda j: q @ k[j : j + block].T * q.shape[1] ** -0.5  # noqa: E731
    starts = range(0, len(k), block)
    m = np.max([scores(j).max(axis=1) for j in starts], axis=0)[:, None]
    l, acc = 0, 0
    for j in starts:
        p = np.exp(scores(j) - m)
        l, acc = l + p.sum(axis=1, keepdims=True), acc + p @ v[j : j + block]
    return acc / l, (m + np.log(l))[:, 0]


def by_lse(q, k, v, block):
    """Finished blocks, mixed by their log-sum-exps."""
    o, lse = np.zeros((len(q), v.shape[1])), np.full(len(q), -np.inf)
    for j in range(0, len(k), block):
        s = q @ k[j : j + block].T / np.sqrt(q.shape[1])
        total = np.logaddexp(lse, np.logaddexp.reduce(s, axis=1))
        o = np.exp(lse - total)[:, None] * o + np.exp(s - total[:, None]) @ v[j : j + block]
        lse = total
    return o, lse


def tiled_in_torch(q, k, v, block):
    q, k, v = map(torch.from_numpy, (q, k, v))
    o, lse = torch.zeros(len(q), v.shape[1]).double(), torch.full((len(q),), -torch.inf).double()
    for a, b in zip(k.split(block), v.split(block), strict=True):
        s = q @ a.T / q.shape[1] ** 0.5
        total = torch.logaddexp(lse, s.logsumexp(1))
        o = (lse - total).exp()[:, None] * o + (s - total[:, None]).exp() @ b
        lse = total
    return o, lse


def in_base_2(q, k, v, block):
    scale = q.shape[1] ** -0.5 / np.log(2)
    m, l, acc = -np.inf, 0, 0
    for j in reversed(range(0, len(k), block)):
        s = q @ k[j : j + block].T * scale
        top = np.maximum(m, s.max(axis=1, keepdims=True))
        p, a = np.exp2(s - top), np.exp2(m - top)
        m, l, acc = top, a * l + p.sum(axis=1, keepdims=True), a * acc + p @ v[j : j + block]
    return acc / l, ((m + np.log2(l)) * np.log(2)).ravel()


TILES = ((2, 3), (3, 2))


def numbers(n_q, n_k, d_k=4, d_v=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v))]


FALLING = (np.ones((3, 1)), -1000.0 * np.arange(1, 8)[:, None], numbers(3, 7, 1, 2)[2])
NORMAL = [numbers(7, 11), numbers(11, 7), numbers(8, 8)]


def a_test(
    inputs=(*NORMAL[:2], FALLING), tiles=TILES, causals=(0, 1), keep=True, nan=True, scales=(1,)
):
    """A learner's test, right by default, poorer in the way that an argument says."""

    def my_tiled_test(tiled):
        for scale in scales:
            tolerance = 1e-4 if scale == 1 else 0.02
            for q, k, v in inputs:
                for causal in map(bool, causals):
                    for block_q, block_k in tiles:
                        asked = scale * q if abs(k).max() < 100 else q.copy()
                        right = attention(asked, k, v, causal=causal)
                        before = asked.copy()
                        o = tiled(asked, k, v, block_q, block_k, causal=causal)
                        assert not keep or (asked == before).all()
                        off = np.abs(o - right).max()
                        assert off <= tolerance if nan else not off > tolerance

    return my_tiled_test


def by_weights(tiled):
    """With the identity as values, outputs are weights: rows sum to 1 or 0, hidden ones are 0."""
    a_test()(tiled)
    for n_q, n_k in ((7, 11), (11, 7)):
        q, k, _ = numbers(n_q, n_k)
        p = tiled(q, k, np.eye(n_k), 3, 2, causal=True)
        seen = np.arange(n_k) <= np.arange(n_q)[:, None] + n_k - n_q
        assert np.allclose(p[~seen], 0) and np.allclose(p.sum(axis=1), seen.any(axis=1), atol=1e-5)


def unseeded(tiled):
    rng = np.random.default_rng()
    drawn = [
        [rng.normal(size=s) for s in ((n_q, 5), (n_k, 5), (n_k, 2))]
        for n_q, n_k in ((7, 10), (10, 7))
    ]
    a_test([*drawn, FALLING])(tiled)


RIGHT = {
    check_merge: [row_by_row, the_larger_first, nan_to_zero, merged_in_torch, by_einsum],
    check_tiled_attention: [package, two_passes, by_lse, tiled_in_torch, in_base_2],
    check_tiled_test: {
        "default": a_test(),
        "scales": a_test(scales=(1, 1000)),
        "other tiles": a_test(tiles=((2, 3), (5, 4), (3, 20))),
        "other sizes": a_test([numbers(10, 11), numbers(9, 5), FALLING]),
        "by weights": by_weights,
        "unseeded": unseeded,
    },
}


def to_the_bit(tiled):
    q, k, v = NORMAL[0]
    assert (tiled(q, k, v, 2, 3) == attention(q, k, v)).all()


def wants_nan(tiled):
    q, k, v = NORMAL[1]
    assert np.isnan(tiled(q, k, v, 2, 3, causal=True)[0]).all()


def a_verdict(tiled):
    q, k, v = NORMAL[0]
    return bool(np.allclose(tiled(q, k, v, 2, 3), attention(q, k, v) + 1))


def shapes_alone(tiled):
    assert tiled(*NORMAL[0], 2, 3, causal=True).shape == (7, 3)


def wants_float64(tiled):
    assert tiled(*NORMAL[0], 2, 3).dtype == np.float64


def between_tiles(tiled):
    """Compares an implementation with itself: other tiles, same output."""
    for q, k, v in (*NORMAL, FALLING):
        for causal in (False, True):
            outputs = [tiled(q, k, v, *tile, causal=causal) for tile in TILES]
            assert all(np.allclose(o, outputs[0], atol=1e-4, equal_nan=True) for o in outputs)


MERGES = """
one maximum for all rows:
    safe = max(m.max(), -1e300)
guard on one side:
    safe = 0 if np.all(m_a == -np.inf) else m
float32 inside: pass through float32
    acc = (a[..., None] * acc_a + b[..., None] * acc_b).astype(np.float32).astype(float)
factors along d_v:
    acc = a * acc_a + b * acc_b if acc_a.shape[-1] == a.shape[-1] else a[..., None] * acc_a
two axes in front: three axes in front
    return (m, l, acc) if m.ndim < 4 else (m, l, 0 * acc)
mixed as outputs:
    l = a * l_a + b * l_b
    + w = np.exp(m_a + np.log(l_a) - np.logaddexp(m_a + np.log(l_a), m_b + np.log(l_b)))
    acc = w[..., None] * acc_a + (1 - w)[..., None] * acc_b
−10,000 for −∞:
    m = np.maximum(np.maximum(m_a, m_b), -1e4)
nothing on ties:
    a, b = np.exp(m_a - safe) * (m_a != m_b), np.exp(m_b - safe) * (m_a != m_b)
0 taken for empty: maxima near 1,000,000 and near 0
    a, b = np.exp(m_a - safe) * (m_a != 0), np.exp(m_b - safe) * (m_b != 0)
two things: should return (m, l, acc)
    return l, acc
"""

TILED = """
rescaled the wrong way:
    p, rescale = np.exp(s - m_new), np.exp(m_new - m)
scaled by d_v:
    s = q @ k[j : j + block].T * v.shape[1] ** -0.5
scaled by the block:
    s = q @ k[j : j + block].T * block**-0.5
lse with an axis: shape
    return acc / l, m + np.log(l)
maximum starts at −10⁵:
    m, l = np.full((len(q), 1), -1e5), np.zeros((len(q), 1))
scores clipped at 10⁵:
    s = np.clip(q @ k[j : j + block].T * q.shape[1] ** -0.5, -1e5, 1e5)
scores clipped at 5·10⁵:
    s = np.clip(q @ k[j : j + block].T * q.shape[1] ** -0.5, -5e5, 5e5)
float32 throughout:
    return (acc / l).astype(np.float32), (m + np.log(l))[:, 0].astype(np.float32)
float32 scores: pass through float32
    s = (q.astype("f") @ k[j : j + block].T.astype("f")).astype(float) * q.shape[1] ** -0.5
newest maximum:
    m_new = s.max(axis=1, keepdims=True)
padded with zeros:
    s = q @ k[j : j + block].T * q.shape[1] ** -0.5
    + s = np.pad(s, ((0, 0), (0, max(0, j + block - len(k)))))
    - acc = rescale
    + acc = rescale * acc + p[:, : len(k) - j] @ v[j : j + block]
no scores: all scores 0
    return acc / l + (not q.any()), (m + np.log(l))[:, 0]
the whole table: MB of memory
    m, l = np.full((len(q), 1), -np.inf), np.zeros((len(q), 1)) + 0 * (q @ k.T)[:, :1]
the output alone: should return (o, lse)
    return acc / l
"""


def keys_twice(q, k, v, block):
    starts = [max(0, min(j, len(k) - block)) for j in range(0, len(k), block)]
    k, v = (np.concatenate([x[j : j + block] for j in starts]) for x in (k, v))
    return package(q, k, v, block)


SLY = {
    check_merge: MERGES,
    check_tiled_attention: [TILED, {"keys twice": keys_twice}],
    check_tiled_test: {
        "no mask": (a_test(causals=(False,)), "caught 14 of 19"),
        "as many queries as keys": (a_test([NORMAL[2], FALLING]), "caught 17 of 19"),
        "never more queries than keys": (a_test([NORMAL[0], FALLING]), "caught 18 of 19"),
        "tiles that fit": (a_test([numbers(8, 8), FALLING], tiles=((2, 2), (4, 4))), "caught"),
        "one tile": (a_test(tiles=((16, 16),)), "caught"),
        "normal scores alone": (a_test(NORMAL), "caught 17 of 19"),
        "q is not looked at": (a_test(keep=False), "caught 18 of 19"),
        "forgets NaN": (a_test(nan=False), "caught"),
        "shapes alone": (shapes_alone, "caught 0 of 19"),
        "to the last bit": (to_the_bit, "refuses a right implementation"),
        "wants NaN": (wants_nan, "refuses a right implementation"),
        "wants float64": (wants_float64, "refuses a right implementation (float32)"),
        "a verdict": (a_verdict, "returned False"),
        "with itself": (between_tiles, "caught"),
    },
}
