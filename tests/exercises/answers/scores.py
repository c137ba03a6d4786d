"""Answers to the exercises on scores: right ones written otherwise, and sly ones."""

import numpy as np
import torch

from attention_src.exercises import scores as ex
from attention_src.scores import reference


def one_by_one(q, k, scale=None):
    if q.ndim > 2:
        return np.stack([one_by_one(a, b, scale) for a, b in zip(q, k, strict=True)])
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return np.array([[float((a * b).sum()) * scale for b in k] for a in q], dtype=q.dtype)


def with_torch(q, k, scale=None):
    q, k = torch.from_numpy(q.copy()), torch.from_numpy(k.copy())
    return q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)


def through_the_package(q, k, scale=None):
    if scale is None:
        return reference.scaled_dot(q, k)
    return (reference.dot(q, k) * scale).astype(q.dtype)


DOTS = """
einsum: return (np.einsum("...qd,...kd->...qk", q, k) * scale).astype(q.dtype)
queries first: return ((q * scale) @ np.moveaxis(k, -1, -2)).astype(q.dtype)
products, then a sum:
    return ((q[..., :, None, :] * k[..., None, :, :]).sum(axis=-1) * scale).astype(q.dtype)
"""

SUMS = """
key by key: return np.stack([np.tanh(q @ a + row) @ w for row in from_k], axis=1)
exponentials of one sign:
    return np.stack([np.sign(x := row + from_k) * (1 - (e := np.exp(-2 * abs(x)))) / (1 + e) @ w \
for row in q @ a])
"""


# One number more: other ways to bring the same.
MORE = """
the bonus divided up:
    return np.hstack([q, 2 * one]), np.hstack([k, -half / 2])
in front: return np.hstack([one, q]), np.hstack([-half, k])
minus on the query: return np.hstack([q, -one]), np.hstack([k, half])
by einsum: half = np.einsum("jc,jc->j", k, k)[:, None] / 2
all turned: return np.hstack([-q, one]), np.hstack([-k, -half])
"""


def with_both_numbers(q, k):
    """Two columns more, so that the product is minus half the squared distance itself."""
    a, b = ((x**2).sum(axis=1, keepdims=True) / 2 for x in (q, k))
    return np.hstack([q, -a, np.ones_like(a)]), np.hstack([k, np.ones_like(b), -b])


def from_distances(q, k):
    """A query's own part may be anything, and so may a number common to all keys."""
    a, b = ((x**2).sum(axis=1, keepdims=True) / 2 for x in (q, k))
    return np.hstack([q, np.ones_like(a)]), np.hstack([k, 7 - b])


def unit_by_unit(q, k, a, b, w):
    s = np.zeros((len(q), len(k)))
    for u in range(len(w)):
        s += w[u] * np.tanh(np.add.outer(q @ a[:, u], k @ b[:, u]))
    return s


def by_torch(q, k, a, b, w):
    q, k, a, b, w = map(torch.from_numpy, (q, k, a, b, w))
    return torch.stack([torch.tanh(row @ a + k @ b) @ w for row in q])


def a_test(sizes=((2, 3, 5), (3, 1, 11), (4, 4, 7)), compare=None, seed=1, expected=None):
    """A learner's test, right by default, wrong in the way that an argument says."""
    compare = compare or (lambda s, t: np.allclose(s, t, rtol=1e-5, atol=1e-5))
    expected = expected or (lambda q, k: np.einsum("qd,kd->qk", q, k) / q.shape[1] ** 0.5)

    def my_score_test(score):
        rng = np.random.default_rng(seed)
        for n_q, n_k, d in sizes:
            q, k = rng.normal(size=(n_q, d)), rng.normal(size=(n_k, d))
            s, t = score(q, k), expected(q, k)
            assert s.shape == t.shape
            assert compare(s, t)

    return my_score_test


def many_sizes(score):
    rng = np.random.default_rng(5)
    for _ in range(20):
        n_q, n_k, d = rng.integers(1, 9, 3) + np.array([0, 0, 6])
        for n in (n_k, n_q, 1):
            a_test(sizes=((n_q, n, d),), seed=int(rng.integers(1000)))(score)


def by_keys(q, k):
    return np.stack([q @ key for key in k], axis=1) / len(q[0]) ** 0.5


def bump(slope=2.0, shift=1.0, w=(1.0, -1.0), back=-1.0, from_key=False):
    """Bumps of a slope and a shift, perhaps wrong ones."""
    shifts, slopes = np.resize([shift, -shift], len(w)), np.full(len(w), slope)
    a = np.stack([0 * shifts if from_key else shifts, slopes])
    b = np.stack([shifts if from_key else 0 * shifts, back * slopes])
    return a, b, np.array(w)


RIGHT = {
    ex.check_dot_scores: [DOTS, [one_by_one, with_torch, through_the_package]],
    ex.check_additive_scores: [SUMS, [unit_by_unit, by_torch]],
    ex.check_one_more: [MORE, [with_both_numbers, from_distances]],
    ex.check_score_test: {
        "by arguments": a_test(),
        "other sizes": a_test(sizes=((3, 4, 12), (5, 5, 3), (2, 1, 5))),
        "many sizes": many_sizes,
        "key by key": a_test(expected=by_keys),
    },
    ex.check_bump: {
        "broader": lambda: bump(slope=5.0, shift=2.5),
        "constant from the key": lambda: bump(from_key=True),
        "falling": lambda: bump(slope=-2.0),
        "four units": lambda: bump(w=(1.0, -1.0, 1.0, -1.0)),
    },
}


def symmetric_only(score):
    x, y = np.random.default_rng(0).normal(size=(2, 3, 9))
    assert np.allclose(score(x, y), score(y, x).T, atol=1e-5)


def by_one_hot(score):
    """With one-hot keys each score is a component of the query."""
    for d, n_q in ((9, 4), (11, 11), (5, 7)):
        q = np.random.default_rng(d).normal(size=(n_q, d))
        assert np.allclose(score(q, 3 * np.eye(d)) * d**0.5, 3 * q, atol=1e-4)


def by_ranks(score):
    q, k = np.random.default_rng(0).normal(size=(2, 5, 9))
    assert (score(q, k).argmax(axis=1) == (q @ k.T).argmax(axis=1)).all()


def same_weights(s, t):
    return np.allclose(ex.softmax(s), ex.softmax(t), atol=1e-5)


REFUSES = "refuses a right"
SLY = {
    ex.check_dot_scores: """
all axes reversed: return (q @ k.T * scale).astype(q.dtype)
not transposed if it fits:
    return ((q @ k if q.shape == k.shape == q.shape[:-1] + q.shape[-2:-1] else \
q @ k.swapaxes(-1, -2)) * scale).astype(q.dtype)
two axes only: return np.einsum("qd,kd->qk", q, k) * scale
three axes at most: return np.inner(q, k) * scale
root of 8: scale = 8**-0.5
a little off the width: Twelve digits are judged
    scale = 1 / np.sqrt(q.shape[-1] - 1e-9)
at most 32: d_k = 65
    scale = 1 / np.sqrt(min(q.shape[-1], 32))
one less than the width: scale = 1 / np.sqrt(max(q.shape[-1] - 1, 1))
positive scales only: return (q @ k.swapaxes(-1, -2) * abs(scale)).astype(q.dtype)
capped: return (50 * np.tanh(q @ k.swapaxes(-1, -2) * scale / 50)).astype(q.dtype)
float64 for float32: your scores are float64
    return q @ k.swapaxes(-1, -2) * np.float64(scale)
lengths and cosine: of zeros
    return (q / _length(q) @ k.swapaxes(-1, -2) * _length(q) * scale).astype(q.dtype)
small numbers cut: about 0.001
    return (q * (abs(q).max() > 0.005) @ k.swapaxes(-1, -2) * scale).astype(q.dtype)
large numbers cut: about 100,000
    return (np.clip(q, -300, 300) @ k.swapaxes(-1, -2) * scale).astype(q.dtype)
ten keys at most: ten queries, twelve keys
    return (q @ k.swapaxes(-1, -2) * scale * (np.arange(k.shape[-2]) < 10)).astype(q.dtype)
eight queries at most: ten queries, twelve keys
    return (q @ k.swapaxes(-1, -2) * scale * (np.arange(q.shape[-2]) < 8)[:, None]).astype(q.dtype)
large scales cut: a scale of 100
    return (q @ k.swapaxes(-1, -2) * min(scale, 50)).astype(q.dtype)
tiny scales taken for 0: a scale of 0.0001
    return (q @ k.swapaxes(-1, -2) * (0 if abs(scale) < 1e-3 else scale)).astype(q.dtype)
positive scales in float32: a scale of -1, in float32
    return (q @ k.swapaxes(-1, -2) * (scale if q.itemsize == 8 else abs(scale))).astype(q.dtype)
another rule for itself: keys equal to the queries
    return (q @ k.swapaxes(-1, -2) * scale * (1 + np.array_equal(q, k))).astype(q.dtype)
""",
    ex.check_additive_scores: """
16 numbers of a key: widths of 20
    from_k = k[:, :16] @ b[:16]
the remainder left out:
    return np.stack([np.tanh(row + from_k) @ w * (i < len(q) // 8 * 8 or len(q) < 8) \
for i, row in enumerate(q @ a)])
exponentials:
    + e = [(np.exp(row + from_k), np.exp(-row - from_k)) for row in q @ a]
    return np.stack([(up - down) / (up + down) @ w for up, down in e])
products of exponentials: nearly cancel inside
    from_k = np.exp(2 * k @ b)
    return np.stack([(1 - 2 / (1 + row * from_k)) @ w for row in np.exp(2 * q @ a)])
products of clipped exponentials: nearly cancel inside
    from_k = np.exp(np.clip(2 * k @ b, -300, 300))
    return np.stack([(1 - 2 / (1 + np.exp(np.clip(2 * row, -300, 300)) * from_k)) @ w \
for row in q @ a])
both halves clipped: nearly cancel inside
    from_k = np.clip(k @ b, -1e3, 1e3)
    return np.stack([np.tanh(row + from_k) @ w for row in np.clip(q @ a, -1e3, 1e3)])
small sums not bent: Twelve digits are judged
    return np.stack([np.where(abs(x := row + from_k) < 1e-3, x, np.tanh(x)) @ w for row in q @ a])
two exponentials:
    return np.stack([(2 / (1 + np.exp(-2 * (row + from_k))) - 1).round(11) @ w for row in q @ a])
divided by each weight: a query, a key and a weight of 0
    return np.stack([np.tanh(row + from_k) / w @ w**2 for row in q @ a])
lengths apart: a query, a key and a weight of 0
    from_k = k / _length(k) @ b * _length(k)
all at once: MB of memory
    return np.tanh((q @ a)[:, None] + from_k) @ w
all at once in float32: return np.tanh((q @ a)[:, None].astype("f4") + from_k.astype("f4")) @ w
a for both: from_k = k @ a
a transposed: return np.stack([np.tanh(row + from_k) @ w for row in q @ a.T])
arctangent: return np.stack([np.arctan(row + from_k) @ w for row in q @ a])
first 50 units: return np.stack([np.tanh(row + from_k)[:, :50] @ w[:50] for row in q @ a])
roles swapped:
    from_k = q @ b
    return np.stack([np.tanh(row + from_k) @ w for row in k @ a]).T
""",
    ex.check_one_more: """
along the wrong axis: half = (k**2).sum(axis=0, keepdims=True).T / 2
eight numbers at most: ten numbers
    half = (k[:, :8] ** 2).sum(axis=1, keepdims=True) / 2
ten keys at most: twelve keys
    + half[10:] = 0
one taken from the query: a query of zeros
    one = np.where(q.any(axis=1, keepdims=True), 1.0, 0.0)
equal keys counted once: two equal keys
    + half[[i for i in range(len(k)) if (k[:i] == k[i]).all(axis=1).any()]] = 0
another rule for itself: keys equal to the queries
    half = (k**2).sum(axis=1, keepdims=True) / 2 * (1 + np.array_equal(q, k))
no bonus on a line for one query: one query on a line
    half = (k**2).sum(axis=1, keepdims=True) / 2 * (q.size > 1)
the longest key's for all: half = np.full((len(k), 1), (k**2).sum(axis=1).max() / 2)
first number only: half = k[:, :1] ** 2 / 2
distance to the mean: half = ((k - k.mean(axis=0)) ** 2).sum(axis=1, keepdims=True) / 2
clipped: half = np.minimum((k**2).sum(axis=1, keepdims=True) / 2, 100)
ranks only: half = (k**2).sum(axis=1, keepdims=True) / 2.001
rounded: half = ((k**2).sum(axis=1, keepdims=True) / 2).round(3)
one for the first query: one = np.eye(len(q))[:, :1]
three numbers more: one number more than they had
    return np.hstack([q, one, one, one]), np.hstack([k, -half, 0 * half, 0 * half])
keys as they were: one number more than they had
    return np.hstack([q, one]), k
one answer: should return two arrays
    return np.hstack([q, one]) @ np.hstack([k, -half]).T
widths differ: equally many
    return np.hstack([q, one, 0 * one]), np.hstack([k, -half])
""",
    ex.check_score_test: {
        "too strict": (a_test(compare=np.array_equal), REFUSES),
        "no float32": (a_test(compare=lambda s, t: np.abs(s - t).max() < 1e-12), REFUSES),
        "no scale expected": (a_test(expected=lambda q, k: q @ k.T), REFUSES),
        "too lax": (a_test(compare=lambda s, t: np.abs(s - t).max() < 0.5), "caught"),
        "shape only": (a_test(compare=lambda s, t: True), "caught"),
        "last row": (a_test(compare=lambda s, t: np.allclose(s[-1], t[-1], atol=1e-5)), "caught"),
        "ranks": (by_ranks, "caught"),
        "symmetry": (symmetric_only, "caught"),
        "weights": (
            a_test(sizes=((2, 3, 5), (3, 1, 11), (4, 4, 11)), compare=same_weights),
            "caught 21 of 22",
        ),
        "squares only": (a_test(sizes=((2, 3, 9), (3, 1, 16), (4, 4, 4))), "caught 21 of 22"),
        "d_k = 4 only": (a_test(sizes=((2, 3, 4), (3, 3, 4))), "caught"),
        "never equal numbers": (a_test(sizes=((2, 3, 5), (3, 1, 11))), "caught 21 of 22"),
        "as many keys as numbers": by_one_hot,
        "one square shape": (a_test(sizes=((4, 4, 11),)), "caught 20 of 22"),
        "no single key": (a_test(sizes=((2, 3, 5), (4, 4, 11))), "caught 21 of 22"),
        "first row": (a_test(compare=lambda s, t: np.allclose(s[0], t[0])), "caught 21 of 22"),
    },
    ex.check_bump: {
        "a pit": (lambda: bump(w=(-1.0, 1.0)), "should lead"),
        "sum for difference": (lambda: bump(back=1.0), "should lead"),
        "the middle only": (lambda: bump(slope=0.0), "should lead"),
        "twice the key": (lambda: bump(back=-2.0), "should lead"),
        "no shift": (lambda: bump(shift=0.0), "should lead"),
        "no minus": (lambda: bump(w=(1.0, 1.0)), "should lead"),
        "too flat": (lambda: bump(slope=0.1), "should lead"),
        "too faint": (lambda: bump(w=(0.05, -0.05)), "should lead"),
        "too broad": (lambda: bump(slope=2.0, shift=8.0), "should lead"),
        "one unit": (lambda: bump(w=(1.0,)), "should lead"),
        "w too short": (lambda: (*bump()[:2], np.ones(1)), "w should have one number"),
        "five units": (lambda: bump(w=(1.0, -1.0, 1.0, -1.0, 0.0)), "from 1 to 4"),
        "transposed": (lambda: [x.T for x in bump(w=(1.0, -1.0, 0.0))], "shape [2, 3]"),
        "w a column": (lambda: (*bump()[:2], bump()[2][:, None]), "shape [d_a]"),
    },
}
