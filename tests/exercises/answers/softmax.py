"""Answers to the exercises on softmax: right ones written otherwise, and sly ones."""

import math

import numpy as np
import torch

from attention_src.exercises import softmax as ex
from attention_src.softmax import reference

GIVEN = {"reference": reference}


# --- softmax: right
def by_lists(x):
    if x.ndim > 1:
        return [by_lists(row) for row in x]
    m = x.max().item()
    e = [math.exp(score - m) for score in x.tolist()]
    total = math.fsum(e)
    return [each / total for each in e]


def by_torch(x):
    return torch.softmax(torch.tensor(np.asarray(x, dtype=float), requires_grad=True), -1)


SOFTMAX_LINES = """
einsum: return np.einsum("...j,...->...j", e, 1 / np.einsum("...j->...", e))
in the dtype of x:
    x, dtype = np.asarray(x, dtype=float), x.dtype if x.dtype.kind == "f" else float
    return (e / e.sum(axis=-1, keepdims=True)).astype(dtype)
logarithms: return np.exp(x - np.logaddexp.reduce(x, axis=-1, keepdims=True))
"""


# --- thermostat: right
def bits_at(scores, t):
    return reference.entropy_bits(reference.softmax(scores / t))


def bisect(too_cold, low=-20.0, high=20.0, steps=100):
    """Bisect log(temperature); too_cold(t) says that the answer lies above t."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if too_cold(np.exp(middle)) else (low, middle)
    return np.exp((low + high) / 2)


def on_a_grid(scores, bits):
    low, high = -12.0, 16.0
    for _ in range(10):
        grid = np.linspace(low, high, 20)
        i = np.clip(np.searchsorted([bits_at(scores, np.exp(u)) for u in grid], bits), 1, 19)
        low, high = grid[i - 1], grid[i]
    return np.exp((low + high) / 2)


def bracket_that_grows(scores, bits):
    high = 1.0
    while bits_at(scores, high) < bits:
        high *= 2
    return bisect(lambda t: bits_at(scores, t) < bits, high=np.log(high))


def in_nats_throughout(scores, bits):
    def nats(t):
        x = (scores - scores.max()) / t
        lse = np.log(np.exp(x).sum())
        return lse - (np.exp(x - lse) * x).sum()

    return bisect(lambda t: nats(t) < bits * np.log(2))


# --- a learner's test: right
def against_the_reference(softmax):
    x = np.random.default_rng().normal([[1e3], [0], [-1e3]], size=(3, 5))
    before = x.copy()
    np.testing.assert_allclose(softmax(x), reference.softmax(before), rtol=1e-4, atol=1e-12)
    assert (x == before).all()
    np.testing.assert_allclose(softmax(np.array([0.0, 1e4])), [0, 1], atol=1e-9)


def by_hand(size):
    """Weights that were worked out, in rows as far apart as twice a size."""

    def my_softmax_test(softmax):
        x = np.log([[1.0, 2.0, 5.0], [5.0, 1.0, 2.0]]) + np.array([[size], [-size]])
        given = x.copy()
        assert np.allclose(softmax(given), [[0.125, 0.25, 0.625], [0.625, 0.125, 0.25]], rtol=1e-4)
        assert np.array_equal(given, x)
        assert abs(softmax(np.array([0.0, size])) - [0, 1]).max() < 1e-6

    return my_softmax_test


def against_torch(softmax):
    for shape, size in (((7,), 1), ((7,), 5000), ((3, 4), 1), ((3, 4), 5000), ((2, 3, 5), 1)):
        x = size * np.random.default_rng(len(shape)).normal(size=shape)
        before = torch.tensor(x)
        assert np.abs(softmax(x) - torch.softmax(before, -1).numpy()).max() < 1e-5
        assert np.array_equal(x, before)


RIGHT = {
    ex.check_softmax: [SOFTMAX_LINES, [by_lists, by_torch]],
    ex.check_softmax_backward: """
two products: return p * dp - p * np.sum(p * dp, axis=-1, keepdims=True)
einsum: return p * (dp - np.einsum("...j,...j->...", p, dp)[..., None])
shifted first: p, dp = np.asarray(p), dp - dp.max(axis=-1, keepdims=True)
row by row:
    + out = np.empty(p.shape)
    + for index in np.ndindex(p.shape[:-1]):
    +     out[index] = p[index] * (dp[index] - p[index] @ dp[index])
    + return out
""",
    ex.check_temperature_for_entropy: {
        "a grid": on_a_grid,
        "a bracket that grows": bracket_that_grows,
        "in nats": in_nats_throughout,
        "inverse temperature": lambda s, bits: 1 / bisect(lambda b: bits_at(s, 1 / b) > bits),
        "four digits": lambda s, bits: float(f"{ex.my_temperature(s, bits):.4g}"),
        "float32": lambda s, bits: np.float32(ex.my_temperature(s, bits)),
        "scaled first": lambda s, bits: ex.my_temperature(s / np.ptp(s), bits) * np.ptp(s),
    },
    ex.check_softmax_test: {
        "against the reference": against_the_reference,
        "by hand": by_hand(2e3),
        "by hand, farther": by_hand(1e4),
        "against torch": against_torch,
    },
}


def small_row(softmax):
    np.testing.assert_allclose(softmax(np.log([1.0, 2.0, 5.0])), [0.125, 0.25, 0.625], rtol=1e-4)


def sums_to_one(softmax):
    assert np.allclose(softmax(np.random.default_rng().normal(size=(3, 5))).sum(-1), 1)


def to_the_last_bit(softmax):
    x = np.array([[0.1, 2.0], [3.0, 4.0]])
    assert np.array_equal(softmax(x), reference.softmax(x))


SLY = {
    ex.check_softmax: """
a little in the sum: Twelve digits are judged
    return e / (e.sum(axis=-1, keepdims=True) + 1e-9)
one maximum for a matrix: e = np.exp(x - x.max(axis=(-2, -1) if x.ndim > 1 else -1, keepdims=True))
rows right in 2-D only: e = np.exp(x - (x.max(axis=-1, keepdims=True) if x.ndim == 2 else x.max()))
4-D transposed: four axes
    return e / e.sum(axis=-2 if x.ndim == 4 else -1, keepdims=True)
float32 at the end: return (e / e.sum(axis=-1, keepdims=True)).astype(np.float32).astype(float)
no shift for long rows: a long row of large scores
    e = np.exp(x - (x.max(axis=-1, keepdims=True) if x.shape[-1] < 1000 else 0))
shift by the mean: e = np.exp(x - x.mean(axis=-1, keepdims=True))
shift by the first: e = np.exp(x - x[..., :1])
shift only downwards: very negative scores
    e = np.exp(x - np.maximum(x.max(axis=-1, keepdims=True), 0))
clipped: x = np.clip(np.asarray(x, dtype=float), -700, 700)
−inf taken for −1000: x = np.where(np.isneginf(x), -1e3, np.asarray(x, dtype=float))
−inf taken for −10^4: the lowest score, and −inf
    x = np.maximum(np.asarray(x, dtype=float), -1e4)
65,504 for an overflowing sum: 70,000 equal scores
    x = np.asarray(x)
    return e / np.nan_to_num(e.sum(axis=-1, keepdims=True))
0 in long rows: two rows of 1,500
    return e / e.sum(axis=-1, keepdims=True) * (x.shape[-1] < 1000 or x.ndim == 1)
a small number added to the sum: return e / e.sum(axis=-1, keepdims=True) / (1 + 1e-6)
hardmax: expected = [0.6652 0.2447 0.09
    return (x == x.max(axis=-1, keepdims=True)).astype(float)
shifted in place: changed its input x in place
    x = x if x.dtype.kind == "f" else np.asarray(x, dtype=float)
    + x -= x.max(axis=-1, keepdims=True)
integer buffer: dtype int64, which cannot hold the digits
    - x = np.asarray
    + out = np.zeros_like(x)
    + out[...] = reference.softmax(x)
    + return out
no shift in float16: float16, three axes
    e = np.exp(x - (x.max(axis=-1, keepdims=True) if x.ndim < 3 or np.isfinite(x).all() else 300))
0 in the longest rows: 70,000 different scores
    x, most = np.asarray(x, dtype=float), 1 + (x.shape[-1] > 60_000 and np.ptp(x) > 0)
    return e / e.sum(axis=-1, keepdims=True) * (2 - most)
0 in long rows of float32: 2,000 keys in float32
    x, short = np.asarray(x, dtype=float), x.shape[-1] < 1000 or x.dtype != np.float32
    return e / e.sum(axis=-1, keepdims=True) * short
""",
    ex.check_softmax_backward: """
axis −2: return p * (dp - (p * dp).sum(axis=-2 if p.ndim > 1 else -1, keepdims=True))
one sum for a matrix, in 3-D: a batch of matrices
    return p * (dp - (p * dp).sum(axis=-1 if p.ndim < 3 else (-2, -1), keepdims=True))
4-D only wrong: four axes
    return p * (dp - (p * dp).sum(axis=-1, keepdims=True)) * (1 if p.ndim < 4 else 2)
float32 inside: pass through float32
    p, dp = np.asarray(p, np.float32).astype(float), np.asarray(dp, np.float32).astype(float)
normalised first: a hidden row
    p, dp = p / p.sum(axis=-1, keepdims=True), np.asarray(dp)
clipped: a dp of 10,000
    p, dp = np.asarray(p), np.clip(dp, -1000, 1000)
gradients clipped: a dp of 10,000
    return np.clip(p * (dp - (p * dp).sum(axis=-1, keepdims=True)), -1000, 1000)
ten rows at most: twelve rows of 20
    return p * (dp - (p * dp).sum(axis=-1, keepdims=True)) * (p.ndim != 2 or len(p) < 11)
NaN for a query that sees nothing: a hidden query by itself
    p = p / p.sum() if np.ndim(p) == 1 else np.asarray(p)
zeros lifted: p, dp = np.maximum(p, 1e-6), np.asarray(dp)
swapped: p, dp = np.asarray(dp), np.asarray(p)
the loss: return (p * dp).sum(axis=-1)
two axes at most: return (np.diag(p) - np.outer(p, p)) @ dp
through log p: + p = my_softmax(np.log(p))
the Jacobian in torch: you formed the n × n Jacobian
    + import torch
    + p, dp = torch.tensor(p), torch.tensor(dp)
    + return ((torch.diag_embed(p) - p[..., :, None] * p[..., None, :]) @ dp[..., None])[..., 0]
""",
    ex.check_temperature_for_entropy: """
multiplies, and keeps the wrong half: Do you divide the scores by the temperature?
    p = reference.softmax(scores * np.exp(middle))
keeps the wrong half: you kept the wrong half
    if reference.entropy_bits(p) > bits:
the entropy without its minus: end of your bracket
    if -reference.entropy_bits(p) < bits:
bracket too small: it does not hold the answer
    low, high = np.log(0.1), np.log(20)
stops early: Close: bisect further
    for _ in range(9):
stops a little early: for _ in range(13):
in nats, from another bracket: You measure the entropy in nats
    low, high = -20.0, 20.0
    if reference.entropy_bits(p) * np.log(2) < bits:
counts keys, from another bracket: You compared 2**entropy with bits
    low, high = -20.0, 20.0
    if 2 ** reference.entropy_bits(p) < bits:
overflows: end of your bracket
    p = np.exp(scores / np.exp(middle)) / np.exp(scores / np.exp(middle)).sum()
    if -(p * np.log2(p)).sum() < bits:
a thousandth inside the logarithm: if -(p * np.log2(p + 1e-3)).sum() < bits:
another entropy: if -np.log2((p * p).sum()) < bits:
mean entropy: if reference.entropy_bits(p) / len(p) < bits:
share of the largest entropy: if reference.entropy_bits(p) * np.log2(len(p)) < bits:
scores over √n: p = reference.softmax(scores / len(scores) ** 0.5, temperature=np.exp(middle))
absolute scores: p = reference.softmax(abs(scores), temperature=np.exp(middle))
cut at 10,000: around 90,000
    p = reference.softmax(np.clip(scores, -1e4, 1e4) if np.ptp(scores) < 100 else scores, \
temperature=np.exp(middle))
leaders taken together: two leaders close together
    p = reference.softmax(scores if np.ptp(scores) < 5 else np.where(scores.max() - scores < 0.01, \
scores.max(), scores), temperature=np.exp(middle))
three digits: return float(f"{np.exp((low + high) / 2):.3g}")
three decimals: return round(float(np.exp((low + high) / 2)), 3)
linear bracket: return float(np.clip(np.exp((low + high) / 2), 0.01, 100.0))
the weights: return p
""",
    ex.check_softmax_test: {
        "a small row": (small_row, "caught 2 of 8"),  # as the solution says: six pass it
        "sums": (sums_to_one, "caught 3 of 8"),
        "to the last bit": (to_the_last_bit, "It refuses a right implementation"),
    },
}
