"""Answers to the exercises on flash attention: right ones written otherwise, and sly ones."""

import numpy as np

from attention_src.attention.reference import attention
from attention_src.exercises import flash as ex

GIVEN = {"attention": attention}

TILES = ((2, 3), (3, 2))


def numbers(n_q, n_k, d_k=4, d_v=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v))]


FALLING = (np.ones((3, 1)), -1000.0 * np.arange(1, 8)[:, None], numbers(3, 7, 1, 2)[2])
NORMAL = [numbers(7, 11), numbers(11, 7), numbers(8, 8)]


def a_test(
    inputs=(*NORMAL[:2], FALLING),
    tiles=TILES,
    causals=(0, 1),
    keep=True,
    nan=True,
    atol=((1, 1e-4),),  # for each scale of the queries
):
    def my_tiled_test(tiled):
        for scale, tolerance in atol:
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


RIGHT = {
    ex.check_merge: """
NaN to 0: a, b = np.nan_to_num(np.exp(m_a - m)), np.nan_to_num(np.exp(m_b - m))
one factor is 1: a, b = (np.where(x >= m, 1, np.exp(x - safe)) for x in (m_a, m_b))
row by row:
    acc = np.empty_like(acc_a)
    + for i in np.ndindex(m.shape): acc[i] = a[i] * acc_a[i] + b[i] * acc_b[i]
""",
    ex.check_tiled_attention: """
base 2, the last keys first:
    for j in reversed(range(0, len(k), block)):
    s = q @ k[j : j + block].T * (q.shape[1] ** -0.5 / np.log(2))
    p, rescale = np.exp2(s - m_new), np.exp2(m - m_new)
    return acc / l, ((m + np.log2(l)) * np.log(2)).ravel()
by log-sum-exp:
    m_new = np.logaddexp(m, np.logaddexp.reduce(s, axis=1, keepdims=True))
    l = np.ones((len(q), 1))
two passes:
    + for j in range(len(k)): m = np.maximum(m, q @ k[[j]].T * q.shape[1] ** -0.5)
    m_new = m
queries scaled: s = (q * q.shape[1] ** -0.5) @ k[j : j + block].T
package:
    - m, l
    + return flash_attention(q, k, v, block_k=block)
""",
    ex.check_tiled_test: {
        "default": a_test(),
        "sharper than the statement": a_test(atol=((1, 1e-5), (1000, 0.02))),
        "looser than the statement": a_test((*NORMAL, FALLING), atol=((1, 4e-4), (1000, 0.1))),
        "other tiles": a_test(tiles=((2, 3), (5, 4), (3, 20))),
        "other sizes": a_test([numbers(10, 11), numbers(9, 5), numbers(2, 9), FALLING]),
        "by weights": by_weights,
    },
}


def once(holds, i=0):
    """A test that looks at one causal output."""

    def my_tiled_test(tiled):
        assert holds(tiled(*NORMAL[i], 2, 3, causal=True))

    return my_tiled_test


def between_tiles(tiled):
    """Compares an implementation with itself: other tiles, same output."""
    for q, k, v in (*NORMAL, FALLING):
        for causal in (False, True):
            outputs = [tiled(q, k, v, *tile, causal=causal) for tile in TILES]
            assert all(np.allclose(o, outputs[0], atol=1e-4, equal_nan=True) for o in outputs)


def viewed(look):
    """A test that looks at the outputs through some function."""

    def my_tiled_test(tiled):
        for q, k, v in (*NORMAL[:2], FALLING):
            for causal in (False, True):
                right = attention(q, k, v, causal=causal)
                for tile in TILES:
                    before = q.copy()
                    off = look(tiled(q, k, v, *tile, causal=causal)) - look(right)
                    assert np.abs(off).max() <= 1e-4 and (q == before).all()

    return my_tiled_test


SLY = {
    ex.check_merge: """
16 numbers of a value: d_v = 40
    acc = np.where(np.arange(acc_a.shape[-1]) < 16, a[..., None] * acc_a + b[..., None] * acc_b, 0)
one maximum for all rows: safe = max(m.max(), -1e300)
guard on one side: safe = 0 if np.all(m_a == -np.inf) else m
factors along d_v:
    acc = a * acc_a + b * acc_b if acc_a.shape[-1] == a.shape[-1] else a[..., None] * acc_a
two axes in front: three axes in front
    return (m, l, acc) if m.ndim < 4 else (m, l, 0 * acc)
mixed as outputs:
    l = a * l_a + b * l_b
    + w = np.exp(m_a + np.log(l_a) - np.logaddexp(m_a + np.log(l_a), m_b + np.log(l_b)))
    acc = w[..., None] * acc_a + (1 - w)[..., None] * acc_b
−10,000 for −∞: m = np.maximum(np.maximum(m_a, m_b), -1e4)
empty below a million: below -1,000,000
    safe = np.where(m < -1e6, 0, m)
a little in the sum: Twelve digits are judged
    l = a * l_a + b * l_b + 1e-10
nothing on ties: a, b = np.exp(m_a - safe) * (m_a != m_b), np.exp(m_b - safe) * (m_a != m_b)
0 taken for empty: maxima near 1,000,000 and near 0
    a, b = np.exp(m_a - safe) * (m_a != 0), np.exp(m_b - safe) * (m_b != 0)
""",
    ex.check_tiled_attention: """
rescaled the wrong way: p, rescale = np.exp(s - m_new), np.exp(m_new - m)
scaled by d_v: s = q @ k[j : j + block].T * v.shape[1] ** -0.5
lse with an axis: shape
    return acc / l, m + np.log(l)
maximum starts at −10⁵: m, l = np.full((len(q), 1), -1e5), np.zeros((len(q), 1))
maximum starts at −10⁶: near −1,001,000
    m, l = np.full((len(q), 1), -1e6), np.zeros((len(q), 1))
scores clipped at 10⁶: near 1,001,000
    s = np.clip(q @ k[j : j + block].T * q.shape[1] ** -0.5, -1e6, 1e6)
a little in the sum: Twelve digits are judged
    return acc / (l + 1e-9), (m + np.log(l))[:, 0]
a little off the width:
    s = q @ k[j : j + block].T * (q.shape[1] - 1e-9) ** -0.5
at most 32: d_k = 65
    s = q @ k[j : j + block].T * min(q.shape[1], 32) ** -0.5
so many blocks, not so many keys: MB of memory
    for j in range(0, len(k), size := -(-len(k) // block)):
    s = q @ k[j : j + size].T * q.shape[1] ** -0.5
    acc = rescale * acc + p @ v[j : j + size]
scores clipped at 5·10⁵: s = np.clip(q @ k[j : j + block].T * q.shape[1] ** -0.5, -5e5, 5e5)
float32 throughout: return (acc / l).astype(np.float32), (m + np.log(l))[:, 0].astype(np.float32)
float32 scores: pass through float32
    s = (q.astype("f") @ k[j : j + block].T.astype("f")).astype(float) * q.shape[1] ** -0.5
newest maximum: m_new = s.max(axis=1, keepdims=True)
padded with zeros:
    s = q @ k[j : j + block].T * q.shape[1] ** -0.5
    + s = np.pad(s, ((0, 0), (0, max(0, j + block - len(k)))))
    acc = rescale * acc + p[:, : len(k) - j] @ v[j : j + block]
no scores: all scores 0
    return acc / l + (not q.any()), (m + np.log(l))[:, 0]
keys twice: for j in [max(0, min(j, len(k) - block)) for j in range(0, len(k), block)]:
the whole table: MB of memory
    m, l = np.full((len(q), 1), -np.inf), np.zeros((len(q), 1)) + 0 * (q @ k.T)[:, :1]
the output alone: should return (o, lse)
    return acc / l
""",
    ex.check_tiled_test: {
        "no mask": (a_test(causals=(False,)), "caught 14 of 19"),
        "as many queries as keys": (a_test([NORMAL[2], FALLING]), "caught 17 of 19"),
        "never more queries than keys": (a_test([NORMAL[0], FALLING]), "caught 18 of 19"),
        "tiles that fit": (a_test([numbers(8, 8), FALLING], tiles=((2, 2), (4, 4))), "caught"),
        "one tile": (a_test(tiles=((16, 16),)), "caught"),
        "sums over queries": (viewed(lambda o: o.sum(axis=0)), "caught 18 of 19"),
        "first numbers": (viewed(lambda o: o[:, :1]), "caught 18 of 19"),
        "sizes": (viewed(abs), "caught 18 of 19"),
        "normal scores alone": (a_test(NORMAL), "caught 17 of 19"),
        "q is not looked at": (a_test(keep=False), "caught 18 of 19"),
        "forgets NaN": (a_test(nan=False), "caught"),
        "shapes alone": (once(lambda o: o.shape == (7, 3)), "caught 0 of 19"),
        "to the last bit": (a_test(atol=((1, 0),)), "refuses a right implementation"),
        "wants NaN": (once(lambda o: np.isnan(o[0]).all(), 1), "refuses a right implementation"),
        "float64": (once(lambda o: o.dtype == float), "refuses a right implementation (float32)"),
        "with itself": (between_tiles, "caught"),
    },
}
