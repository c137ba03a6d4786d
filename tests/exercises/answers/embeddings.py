"""Answers to the exercises on embeddings: right ones written otherwise, and sly ones."""

import math

import numpy as np
import torch

from attention_src.exercises.embeddings import (
    check_cosine_test,
    check_cosines,
    check_ppmi,
    check_rank,
)


def cosines_in_loops(x, y):
    def one(a, b):
        a, b = [float(t) for t in a], [float(t) for t in b]
        norms = math.sqrt(sum(t * t for t in a)) * math.sqrt(sum(t * t for t in b))
        return sum(s * t for s, t in zip(a, b, strict=True)) / norms if norms else 0.0

    return [[one(a, b) for b in y] for a in x]


def cosines_in_torch(x, y):
    x, y = (torch.tensor(np.asarray(t, dtype=float)) for t in (x, y))
    norms = x.norm(dim=1)[:, None] * y.norm(dim=1)[None]
    return torch.where(norms > 0, x @ y.T / norms.clamp(min=1e-300), torch.zeros(()).double())


def cosines_by_einsum(x, y):
    x, y = x.astype(float), y.astype(float)
    norms = np.sqrt(np.einsum("nd,nd->n", x, x)[:, None] * np.einsum("md,md->m", y, y))
    return np.divide(np.einsum("nd,md->nm", x, y), norms, out=np.zeros_like(norms), where=norms > 0)


def divided_and_mended(x, y):
    s = x @ y.T / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))
    return np.where(np.isfinite(s), s, 0)


def tiny_epsilon(x, y):
    norms = np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))
    return x @ y.T / np.maximum(norms, 1e-30)


def ppmi_in_loops(counts):
    total = float(counts.sum())
    of_row, of_column = counts.sum(axis=1) / total, counts.sum(axis=0) / total
    return [
        [
            max(math.log(n / total / (of_row[i] * of_column[j])), 0.0) if n else 0.0
            for j, n in enumerate(line)
        ]
        for i, line in enumerate(counts)
    ]


def ppmi_by_infinity(counts):
    p = counts / counts.sum()
    x = np.log(p) - np.log(p.sum(1))[:, None] - np.log(p.sum(0))
    return np.maximum(np.where(np.isfinite(x), x, 0), 0)


def ppmi_of_counts(counts):
    expected = np.outer(counts.sum(1) * 1.0, counts.sum(0)) / counts.sum()
    ratio = np.divide(counts, expected, out=np.ones(counts.shape), where=counts > 0)
    return np.log(np.maximum(ratio, 1))


def ppmi_in_torch(counts):
    p = torch.tensor(counts, dtype=torch.float64)
    p = p / p.sum()
    ratio = p / (p.sum(1, keepdim=True) * p.sum(0)).clamp(min=1e-300)
    return ratio.clamp(min=1).log()


def unit_of(e):
    return e / np.linalg.norm(e, axis=1)[:, None]


def scores(e, a, b, c):
    u = unit_of(e)
    return u @ (u[b] - u[a] + u[c])


def by_sorting(e, a, b, c, d, inputs):
    order = [i for i in np.argsort(-scores(e, a, b, c)) if inputs or i not in (a, b, c)]
    return order.index(d) + 1


def by_infinity(e, a, b, c, d, inputs):
    s = scores(e, a, b, c)
    if not inputs:
        s[[a, b, c]] = -np.inf
    return np.argsort(np.argsort(-s))[d] + 1


def by_similarities(e, a, b, c, d, inputs):
    u = unit_of(e)
    s = u @ u[b] - u @ u[a] + u @ u[c]
    rows = [i for i in range(len(e)) if inputs or i not in (a, b, c)]
    return sum(s[i] >= s[d] for i in rows)


def rank_in_torch(e, a, b, c, d, inputs):
    u = torch.nn.functional.normalize(torch.tensor(e), dim=1, eps=0)
    s = u @ (u[b] - u[a] + u[c])
    if not inputs:
        s[[a, b, c]] = -torch.inf
    return int((s > s[d]).sum()) + 1


def sample(n=3, m=5, d=40, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    return x * rng.choice([0.005, 1, 9], (n, 1)), y * rng.choice([0.005, 1, 9], (m, 1))


def table(x, y):
    return (x @ y.T) / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))


def a_test(atol=1e-5, look=True, change=lambda x: x, **sizes):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_cosine_test(cosines):
        x, y = map(change, sample(**sizes))
        kept = x.copy(), y.copy()
        answer = np.asarray(cosines(x, y))
        assert answer.shape == (len(x), len(y))
        assert np.allclose(answer, table(*(kept if look else (x, y))), atol=atol, rtol=0)
        assert not look or (np.array_equal(x, kept[0]) and np.array_equal(y, kept[1]))

    return my_cosine_test


def with_assert_allclose(cosines):
    x, y = sample()
    before = x.sum(), y.sum()
    right = table(x, y)
    np.testing.assert_allclose(cosines(x, y), right, atol=1e-5)
    assert (x.sum(), y.sum()) == before


def by_properties(cosines):
    x, y = sample(n=4, m=6)
    x[0] = np.arange(40.0) + 1
    kept = x.copy(), y.copy()
    s = np.asarray(cosines(x, y))
    assert s.shape == (4, 6)
    assert np.array_equal(x, kept[0]) and np.array_equal(y, kept[1])
    assert np.allclose(np.diag(np.asarray(cosines(kept[0], kept[0].copy()))), 1, atol=1e-5)
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(40, 40)))[0]
    assert np.allclose(np.asarray(cosines(kept[0] @ turn, kept[1] @ turn)), s, atol=1e-5)
    assert np.allclose(np.asarray(cosines(-kept[0], kept[1].copy())), -s, atol=1e-5)
    a, b = np.array([[1.0, 0.0]]), np.array([[3.0, 4.0]])
    assert np.allclose(np.asarray(cosines(a, b)), 0.6, atol=1e-5)


RIGHT = {
    check_cosines: [
        cosines_in_loops,
        cosines_in_torch,
        cosines_by_einsum,
        divided_and_mended,
        tiny_epsilon,
    ],
    check_ppmi: [ppmi_in_loops, ppmi_by_infinity, ppmi_of_counts, ppmi_in_torch],
    check_rank: [by_sorting, by_infinity, by_similarities, rank_in_torch],
    check_cosine_test: [a_test(), a_test(atol=1e-3), with_assert_allclose, by_properties],
}


def with_itself(cosines):
    x, _ = sample()
    assert np.allclose(np.diag(np.asarray(cosines(x, x.copy()))), 1, atol=1e-5)


def x_with_x(cosines):
    x, _ = sample()
    assert np.allclose(cosines(x, x.copy()), table(x, x), atol=1e-5)


def in_range(cosines):
    assert np.abs(cosines(*sample())).max() <= 1 + 1e-5


def raises_value_error(cosines):
    x, y = sample()
    right = table(x, y)
    if not np.allclose(cosines(x, y), right, atol=1e-5):
        raise ValueError("wrong")


COSINES = """
afterwards: Those of y are still in there
    return unit_x @ unit_y.T * y_norm.T
the matrix's norms: Each row has its own
    return x @ y.T / max(np.linalg.norm(x) * np.linalg.norm(y), 1e-30)
clipped:
    return np.maximum(unit_x @ unit_y.T, 0)
half:
    return unit_x @ unit_y.T / 2
epsilon:
    return x @ y.T / (x_norm * y_norm.T + 1e-8)
float32 inside: pass through float32
    return unit_x.astype(np.float32).astype(float) @ unit_y.T
whole numbers:
    return (unit_x @ unit_y.T).astype(x.dtype)
eight bits: large whole numbers
    x_norm = np.sqrt((x.astype("int8" if x.dtype.kind == "i" else x.dtype) ** 2.0).sum(1))[:, None]
as x:
    unit_y = (y := y.astype(x.dtype)) / np.where(y_norm == 0, 1, y_norm)
pairs only: shape
    return np.diag(unit_x @ unit_y.T)
rows beyond 40 lost: many rows of many numbers
    return unit_x @ unit_y.T * (np.arange(len(x)) < 40)[:, None]
angle:
    return np.arccos(np.clip(unit_x @ unit_y.T, -1, 1))
"""

PPMI = """
bits: to base 2
    return np.maximum(np.log(ratio), 0) / np.log(2)
-inf:
    return np.log(p / by_chance)
columns only:
    by_chance = p.sum(axis=0, keepdims=True)
no total:
    p = counts
absolute:
    return np.abs(np.log(ratio))
shifted:
    return np.maximum(np.log(ratio) - np.log(5), 0)
tiny added:
    p = (counts + 1e-6) / (counts + 1e-6).sum()
transposed: shape
    return np.maximum(np.log(ratio), 0).T
32-bit products:
    by_chance = np.outer(counts.sum(1), counts.sum(0)).astype(np.int32) / counts.sum() ** 2.0
rare is never:
    seen = p > 1e-7
chance has a floor:
    by_chance = np.maximum(p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True), 1e-8)
columns beyond 40 lost: one meeting among more millions
    return np.maximum(np.log(ratio), 0) * (np.arange(p.shape[1]) < 40)
weights:
    return p
"""

RANKS = """
raw rows:
    s = e @ (unit[b] - unit[a] + unit[c])
distance:
    s = -np.linalg.norm(e - (e[b] - e[a] + e[c]), axis=1)
b + c:
    s = unit @ (unit[b] + unit[c])
the best row:
    return int(np.argmax(s))
three less:
    return max(1 + int((s > s[d]).sum()) - 3 * (not inputs), 1)
rows deleted:
    - higher[[a, b, c]]
    + s = np.delete(s, [a, b, c])
    + higher = s > s[min(d, len(s) - 1)]
short rows cut:
    unit = e / np.maximum(np.linalg.norm(e, axis=1), 0.01)[:, None]
an epsilon of 1e-5: a short row that is ahead by a hair
    unit = e / (np.linalg.norm(e, axis=1) + 1e-5)[:, None]
an epsilon of 1e-8: a short row that is ahead by a hair
    unit = e / (np.linalg.norm(e, axis=1) + 1e-8)[:, None]
half precision:
    unit = e.astype(np.float16) / np.sqrt((e.astype(np.float16) ** 2).sum(axis=1, keepdims=True))
at most 100: the worst of many
    return min(1 + int(higher.sum()), 100)
hit or miss:
    return not higher.any()
a share:
    return (1 + int(higher.sum())) / len(e)
"""

OF_14 = "of 14 wrong"
SLY = {
    check_cosines: COSINES,
    check_ppmi: PPMI,
    check_rank: RANKS,
    check_cosine_test: {
        "with itself": (with_itself, OF_14),
        "unit rows": (a_test(change=unit_of), OF_14),
        "x with x": (x_with_x, OF_14),
        "range": (in_range, OF_14),
        "eight numbers": (a_test(d=8), "caught 13 of 14"),
        "inputs not looked at": (a_test(look=False), OF_14),
        "loose": (a_test(atol=0.5), OF_14),
        "to the last bit": (a_test(atol=0), "refuses a right implementation"),
        "positive numbers": (a_test(change=np.abs), OF_14),
        "long rows": (a_test(change=lambda x: 100 * unit_of(x)), OF_14),
        "another error": (raises_value_error, "does not count"),
        "returns a verdict": (lambda f: bool(np.allclose(f(*sample()), 7)), "returned False"),
        "refuses all": (a_test(atol=-1), "refuses a right implementation (unit rows)"),
        "calls and forgets": (lambda f: f(*sample()).sum() > 99 and None, ""),
        "one argument": (lambda f: f(sample()[0]), "stumbles over a right"),
    },
}
