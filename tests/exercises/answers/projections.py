"""Answers to the exercises on projections: right ones written otherwise, and sly ones."""

import numpy as np
import pytest

from attention_src.exercises import projections as ex
from attention_src.exercises.engine.variants import variants

# --- a head by hand ----------------------------------------------------------------------------

EYE, ZERO = np.eye(6), np.zeros((6, 6))
BITS = 4 * (2 * (np.arange(6)[:, None] >> np.arange(3) & 1) - 1)


def halves(queries, keys=EYE):
    """w_q that reads whom a token names, w_k that reads who it is."""
    nothing = np.zeros_like(queries)
    return np.concatenate([nothing, queries]), np.concatenate([keys, nothing])


def rotated(w_q, w_k):
    b = np.random.default_rng(0).normal(size=(w_q.shape[1],) * 2)
    return w_q @ b, w_k @ np.linalg.inv(b).T


def with_a_common_query():
    """Each query also reads who asks, which adds the same to all scores of its row: no harm."""
    w_q, w_k = halves(20 * EYE)
    w_q[:6] += 3
    w_k[:6] += 0.5
    return w_q, w_k


def half_a_circle():
    angle = np.arange(6) * 2 * np.pi / 11
    return halves(*[3 * np.stack([np.cos(angle), np.sin(angle)], axis=1)] * 2)


def but(row, column, value):
    w_q, w_k = halves(20 * EYE)
    w_q[row, column] = value
    return w_q, w_k


# --- a fused matrix ---------------------------------------------------------------------------


def by_einops(w, n_heads):
    """One array [3, d_model, H d]: w_q, w_k, w_v = answer takes it apart."""
    rearrange = pytest.importorskip("einops").rearrange
    return rearrange(w, "d (h r e) -> r d (h e)", h=n_heads, r=3)


def stacked_in_torch(w, n_heads):
    parts = pytest.importorskip("torch").tensor(w).reshape(len(w), n_heads, 3, -1)
    return parts.permute(2, 0, 1, 3).flatten(2)


# --- a test of order ---------------------------------------------------------------------------


def order_test(layer):
    n = 40
    limit = 1e-5
    x = np.random.default_rng(0).normal(size=(n, 8))
    orders = np.random.default_rng(1).permuted([range(n)] * 3, axis=1)
    before = layer(x)
    for order in orders:
        after = layer(x[order])
        off = np.abs(after - before[order])
        assert off.max() < limit


def tests_of_order(text):
    return {name: (test, words) for name, test, words in variants(order_test, text)}


RIGHT = {
    ex.check_project: """
einsum: return [np.einsum("...nd,de->...ne", x, w) for w in (w_q, w_k, w_v)]
fused: return np.split(x @ np.hstack([w_q, w_k, w_v]), np.arange(1, 3) * w_q.shape[1], axis=-1)
""",
    ex.check_unpack: [
        {"einops": by_einops, "torch, stacked": stacked_in_torch},
        """
split twice:
    q, k, v = zip(*(np.split(head, 3, axis=1) for head in np.split(w, n_heads, axis=1)))
    return tuple(np.hstack(part) for part in (q, k, v))
stacked: return np.stack([part.reshape(len(w), -1) for part in (q, k, v)])
""",
    ],
    ex.check_names: {
        "in another basis": lambda: rotated(*halves(20 * EYE)),
        "whole numbers": lambda: [w.astype(int).tolist() for w in halves(9 * EYE, 4 * EYE)],
        "a corner cut": lambda: halves(100 * EYE[:, :5] - 20, EYE[:, :5] - 0.2),
        "one array": lambda: np.array(halves(20 * EYE)),
        "with a common query": with_a_common_query,
        "signs": lambda: halves(BITS, BITS),
    },
    ex.check_order_test: tests_of_order("""
by shuffles:
    n = 40
to a thousandth:
    limit = 1e-3
by matrix:
    after = layer(np.eye(n)[order] @ x)
    off = np.abs(after - np.eye(n)[order] @ before)
undone:
    off = np.abs(after[np.argsort(order)] - before)
unseeded:
    x = np.random.normal(size=(n, 8))
    orders = [np.random.permutation(n) for _ in range(4)]
lists:
    orders = [sorted(range(n), key=lambda i: x[i, 0])]
    after = layer(np.array([x[i] for i in order]))
    off = np.abs(after - [before[i] for i in order])
"""),
}

SLY = {
    ex.check_project: """
rounded: digits are judged
    return tuple((x @ w).round(9) for w in (w_q, w_k, w_v))
v is k: return x @ w_q, x @ w_k, x @ w_k
v first: return x @ w_v, x @ w_q, x @ w_k
only two: should return (q, k, v)
    return x @ w_q, x @ w_k
side by side: return np.concatenate([x @ w_q, x @ w_k, x @ w_v], axis=-1)
v as narrow as k: return x @ w_q, x @ w_k, (x @ w_v)[..., : w_q.shape[1]]
centred: return tuple((x - x.mean(axis=-1, keepdims=True)) @ w for w in (w_q, w_k, w_v))
a bias: return x @ w_q, x @ w_k, x @ w_v + 1e-3
tokens last: return tuple((x @ w).swapaxes(-1, -2) for w in (w_q, w_k, w_v))
two axes in front at most: 5
    return tuple(np.einsum("abnd,dk->abnk"[4 - x.ndim:], x, w) for w in (w_q, w_k, w_v))
three axes in front at most: four axes in front
    return [(x.reshape(-1, *x.shape[-4:]) if x.ndim > 5 else x) @ w for w in (w_q, w_k, w_v)]
the first 64 numbers: wide tokens
    return tuple(x[..., :64] @ w[:64] for w in (w_q, w_k, w_v))
""",
    ex.check_unpack: """
widths, roles, heads: parts = w.reshape(len(w), -1, 3, n_heads)
turned round: q, k, v = (parts[:, :, role] for role in (2, 1, 0))
heads reversed: parts = w.reshape(len(w), n_heads, 3, -1)[:, ::-1]
two heads always: parts = w.reshape(len(w), 2, 3, -1)
width 2 always: parts = w.reshape(len(w), max(1, w.shape[1] // 6), 3, -1)
in three by rows: return [w[i::3] for i in range(3)]
three axes stacked: shape
    return np.stack([q, k, v])
widths up to 16: nine heads of width 17
    return tuple(part[..., :16].reshape(len(w), -1) for part in (q, k, v))
rounded: All digits are judged
    return tuple(part.reshape(len(w), -1).round(12) for part in (q, k, v))
""",
    ex.check_names: {
        "exchanged": (lambda: halves(20 * EYE)[::-1], "are w_q and w_k exchanged?"),
        "itself": (
            lambda: (np.concatenate([20 * EYE, ZERO]), np.concatenate([EYE, ZERO])),
            "looks at itself: w_q does not read",
        ),
        "who names the same": (
            lambda: [np.concatenate([ZERO, c * EYE]) for c in (20, 1)],
            "Both matrices read whom a token names",
        ),
        "one matrix": (lambda: [20 * np.eye(12)] * 2, "Both matrices are the same"),
        "one matrix, drawn": (
            lambda: [5 * np.random.default_rng(0).normal(size=(12, 6))] * 2,
            "Both matrices are the same",
        ),
        "too small": (lambda: halves(EYE), "not by enough"),
        "just below": (lambda: halves(15.1 * EYE), "It gives 0.9895 there. It prefers"),
        "zeros": (lambda: np.zeros((2, 12, 6)), "All its weights are equal"),
        "one person missing": lambda: but(11, 5, 0),
        "one person exchanged": lambda: but(8, 3, 40),
        "half a circle": (half_a_circle, "not by enough"),
        "transposed": (lambda: tuple(w.T for w in halves(20 * EYE)), "expected w_q of shape"),
        "half the token": (lambda: (20 * EYE, EYE), "expected w_q of shape (12, d_k)"),
        "two widths": (lambda: (halves(20 * EYE)[0], np.zeros((12, 5))), "needs one"),
        "overflows": (lambda: halves(1e200 * EYE, 1e200 * EYE), "not a number"),
        "all names at once": (
            lambda: [np.concatenate([c * EYE] * 2) for c in (20, 1)],
            "Both matrices are the same",
        ),
    },
    ex.check_order_test: tests_of_order("""
reversed: caught 13 of 18
    orders = [np.arange(n)[::-1]]
round in a circle: caught 17 of 18
    orders = [np.roll(np.arange(n), shift) for shift in range(1, n)]
neighbours: caught 14 of 18
    orders = [np.arange(n) ^ 1]
from both ends: caught 17 of 18
    orders = [np.arange(n) for _ in range(n // 2)]
    + for i, order in enumerate(orders): order[[i, -1 - i]] = order[[-1 - i, i]]
32 tokens: caught 17 of 18
    n = 32
2e-3: caught 17 of 18
    limit = 2e-3
to the last bit: refuses a right implementation (
    limit = 1e-300
without abs: caught 17 of 18
    orders = np.random.default_rng(1).permuted([range(n)], axis=1)
    off = after - before[order]
sums: of 18
    off = np.abs(after.sum(axis=0) - before.sum(axis=0))
first number: caught 17 of 18
    off = np.abs(after - before[order])[:, 0]
first output: of 18
    off = np.abs(after - before[order])[0]
invariant: refuses a right implementation
    off = np.abs(after - before)
the wrong way back: refuses a right implementation
    off = np.abs(after[order] - before)
sorted rows: of 18
    off = np.abs(np.sort(after, axis=0) - np.sort(before, axis=0))
columns: refuses a right implementation
    orders = [np.random.default_rng(0).permutation(8)]
    after = layer(x[:, order])
    off = np.abs(after - before[:, order])
equal tokens: of 18
    x = np.ones((n, 8))
the same token twice: of 18
    x = np.random.default_rng(0).normal(size=(n, 8))
    + x[7] = x[3]
    off = np.abs(before[7] - before[3])
a tuple: caught 0 of 18
    assert [off.max() < limit, "it knows the order"]
"""),
}
