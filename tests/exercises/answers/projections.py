"""Answers to the exercises on projections: right ones written otherwise, and sly ones."""

import numpy as np
import torch
from worked import run_exercise

from attention_src.exercises.engine.variants import variants
from attention_src.exercises.projections import (
    check_names,
    check_order_test,
    check_project,
    check_unpack,
)


def by_rows(x, *ws):
    flat = x.reshape(-1, x.shape[-1])
    return tuple(np.array([row @ w for row in flat]).reshape(*x.shape[:-1], -1) for w in ws)


def fused(x, w_q, w_k, w_v):
    d_k = w_q.shape[1]
    return np.split(x @ np.concatenate([w_q, w_k, w_v], axis=1), [d_k, 2 * d_k], axis=-1)


def by_linear(x, *ws):
    x = torch.from_numpy(x)
    return tuple(torch.nn.functional.linear(x, torch.from_numpy(w.T.copy())) for w in ws)


def by_labels(w, n_heads):
    d = w.shape[1] // (3 * n_heads)
    role = np.tile(np.repeat(np.arange(3), d), n_heads)
    return [w[:, role == r] for r in range(3)]


def by_columns(w, n_heads):
    d = w.shape[1] // (3 * n_heads)
    found = [[], [], []]
    for c in range(w.shape[1]):
        found[c // d % 3].append(w[:, c])
    return tuple(np.stack(columns, axis=1) for columns in found)


def unpack_einsum(w, n_heads):
    parts = np.einsum("mhrd->rmhd", w.reshape(len(w), n_heads, 3, -1))
    return list(parts.reshape(3, len(w), -1))


def by_split(w, n_heads):
    heads = [np.split(head, 3, axis=1) for head in np.split(w, n_heads, axis=1)]
    return tuple(np.hstack(part) for part in zip(*heads, strict=True))


# --- a head by hand ----------------------------------------------------------------------------

EYE, ZERO = np.eye(6), np.zeros((6, 6))
SOLVED = run_exercise("projections", "ex:projections-names")


def halves(queries, keys):
    """w_q that reads whom a token names, w_k that reads who it is."""
    nothing = np.zeros_like(queries)
    return np.concatenate([nothing, queries]), np.concatenate([keys, nothing])


def circle(radius, people=6):
    angle = np.arange(6) * 2 * np.pi / people
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def rotated(w_q, w_k):
    b = np.random.default_rng(0).normal(size=(w_q.shape[1],) * 2)
    return w_q @ b, w_k @ np.linalg.inv(b).T


def with_a_common_query():
    """Each query also reads who asks, which adds the same to all scores of its row: no harm."""
    w_q, w_k = halves(20 * EYE, EYE)
    w_q[:6] += 3
    w_k[:6] += 0.5
    return w_q, w_k


def wide():
    return tuple(np.hstack([w, np.zeros((12, 40))]) for w in halves(100 * EYE, EYE))


def one_direction(scale):
    numbers = scale * (np.arange(6.0)[:, None] - 2.5)
    return lambda: halves(numbers, numbers)


def but(row, column, value):
    w_q, w_k = halves(20 * EYE, EYE)
    w_q[row, column] = value
    return w_q, w_k


# --- a test of order ---------------------------------------------------------------------------


def exchanged(n, i, j):
    order = np.arange(n)
    order[[i, j]] = j, i
    return order


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


RIGHT_TESTS = """
by shuffles:
    n = 40
to a thousandth:
    limit = 1e-3
by matrix:
    after = layer(np.eye(n)[order] @ x)
    off = np.abs(after - np.eye(n)[order] @ before)
undone:
    off = np.abs(after[np.argsort(order)] - before)
token for token:
    off = np.array([abs(after[i] - before[j]).max() for i, j in enumerate(order)])
unseeded:
    x = np.random.normal(size=(n, 8))
    orders = [np.random.permutation(n) for _ in range(4)]
lists:
    orders = [sorted(range(n), key=lambda i: x[i, 0])]
    after = layer(np.array([x[i] for i in order]))
    off = np.abs(after - [before[i] for i in order])
torch:
    off = torch.as_tensor(after) - torch.as_tensor(before)[torch.as_tensor(order)]
    + off = off.abs()
"""

RIGHT = {
    check_project: {
        "einsum": lambda x, *ws: [np.einsum("...nd,de->...ne", x, w) for w in ws],
        "rows": by_rows,
        "fused": fused,
        "torch's linear": by_linear,
        "tensordot": lambda x, *ws: tuple(np.tensordot(x, w, axes=1) for w in ws),
        "sums": lambda x, *ws: [(x[..., None] * w).sum(axis=-2) for w in ws],
    },
    check_unpack: [by_labels, by_columns, unpack_einsum, by_split],
    check_names: {
        "on a circle": SOLVED["my_weights_on_a_circle"],
        "keys large": lambda: halves(EYE, 20 * EYE),
        "in another basis": lambda: rotated(*halves(20 * EYE, EYE)),
        "lists": lambda: [w.tolist() for w in halves(30 * EYE, EYE)],
        "whole numbers": lambda: tuple(w.astype(int) for w in halves(9 * EYE, 4 * EYE)),
        "a corner cut": lambda: halves(100 * EYE[:, :5] - 20, EYE[:, :5] - 0.2),
        "one array": lambda: np.array(halves(20 * EYE, EYE)),
        "wide": wide,
        "with a common query": with_a_common_query,
        "signs": lambda: halves(*[4 * (2 * (np.arange(6)[:, None] >> np.arange(3) & 1) - 1)] * 2),
    },
    check_order_test: tests_of_order(RIGHT_TESTS),
}

PROJECTIONS = """
v is k:
    return x @ w_q, x @ w_k, x @ w_k
v first:
    return x @ w_v, x @ w_q, x @ w_k
only two: should return (q, k, v)
    return x @ w_q, x @ w_k
stacked:
    return np.stack([x @ w_q, x @ w_k, x @ w_v])
side by side:
    return np.concatenate([x @ w_q, x @ w_k, x @ w_v], axis=-1)
first sentence only: shape
    return tuple(x.reshape(-1, x.shape[-1])[: x.shape[-2]] @ w for w in (w_q, w_k, w_v))
v as narrow as k:
    return x @ w_q, x @ w_k, (x @ w_v)[..., : w_q.shape[1]]
centred:
    return tuple((x - x.mean(axis=-1, keepdims=True)) @ w for w in (w_q, w_k, w_v))
a bias:
    return x @ w_q, x @ w_k, x @ w_v + 1e-3
tokens last:
    return tuple((x @ w).swapaxes(-1, -2) for w in (w_q, w_k, w_v))
two axes in front at most: 5
    return tuple(np.einsum("abnd,dk->abnk"[4 - x.ndim:], x, w) for w in (w_q, w_k, w_v))
six decimals: many digits
    return tuple((x @ w).round(6) for w in (w_q, w_k, w_v))
"""

UNPACKINGS = """
roles, widths, heads:
    parts = w.reshape(len(w), 3, -1, n_heads).transpose(0, 2, 1, 3)
roles, heads, widths:
    parts = w.reshape(len(w), 3, n_heads, -1).swapaxes(1, 2)
widths, roles, heads:
    parts = w.reshape(len(w), -1, 3, n_heads)
heads, widths, roles:
    parts = w.reshape(len(w), n_heads, -1, 3).swapaxes(2, 3)
turned round:
    q, k, v = (parts[:, :, role] for role in (2, 1, 0))
q thrice:
    q, k, v = (parts[:, :, role] for role in (0, 0, 0))
heads reversed:
    parts = w.reshape(len(w), n_heads, 3, -1)[:, ::-1]
two heads always:
    parts = w.reshape(len(w), 2, 3, -1)
width 2 always:
    parts = w.reshape(len(w), max(1, w.shape[1] // 6), 3, -1)
heads as an axis:
    return q, k, v
one matrix:
    return np.hstack([part.reshape(len(w), -1) for part in (q, k, v)])
through float32: two heads of width 2
    parts = w.astype(np.float32).reshape(len(w), n_heads, 3, -1)
six decimals: many digits
    parts = w.round(6).reshape(len(w), n_heads, 3, -1)
"""

WRONG_TESTS = """
reversed: caught 13 of 18
    orders = [np.arange(n)[::-1]]
round in a circle: caught 17 of 18
    orders = [np.roll(np.arange(n), shift) for shift in range(1, n)]
neighbours: caught 14 of 18
    orders = [np.arange(n) ^ 1]
one exchange: of 18
    orders = [exchanged(n, 0, 1)]
from both ends: caught 17 of 18
    orders = [exchanged(n, i, n - 1 - i) for i in range(n // 2)]
no shuffle: caught 0 of 18
    orders = [np.arange(n)]
short: of 18
    n = 8
32 tokens: caught 17 of 18
    n = 32
a tenth: of 18
    limit = 0.1
2e-3: caught 17 of 18
    limit = 2e-3
to the last bit: refuses a right implementation (
    limit = 1e-300
refuses all: refuses a right implementation (self-attention)
    limit = -1
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
another exception: does not count
    - assert
    + [0][int(off.max() > limit)]
a verdict: returned False
    - assert
    + return bool(off.max() < limit)
a tuple: caught 0 of 18
    - assert
    + assert [off.max() < limit, "it knows the order"]
calls it and forgets: caught 0 of 18
    - assert
"""

SLY = {
    check_project: PROJECTIONS,
    check_unpack: UNPACKINGS,
    check_names: {
        "exchanged": (lambda: halves(20 * EYE, EYE)[::-1], "are w_q and w_k exchanged?"),
        "itself": (
            lambda: (np.concatenate([20 * EYE, ZERO]), np.concatenate([EYE, ZERO])),
            "looks at itself: w_q does not read",
        ),
        "who names the same": lambda: [np.concatenate([ZERO, c * EYE]) for c in (20, 1)],
        "too small": (lambda: halves(EYE, EYE), "not by enough"),
        "nearly enough": (lambda: halves(9 * EYE, EYE), "not by enough"),
        "zeros": (lambda: np.zeros((2, 12, 6)), "All its weights are equal"),
        "everything": (lambda: np.ones((2, 12, 6)), "All its weights are equal"),
        "just below": (lambda: halves(15.1 * EYE, EYE), "It gives 0.98"),
        "one person missing": lambda: but(11, 5, 0),
        "one person exchanged": lambda: but(8, 3, 40),
        "a small circle": (lambda: halves(circle(1), circle(1)), "not by enough"),
        "half a circle": (lambda: halves(circle(3, 11), circle(3, 11)), "not by enough"),
        "one direction": one_direction(5),
        "one direction, huge": one_direction(1e4),
        "transposed": (lambda: tuple(w.T for w in halves(20 * EYE, EYE)), "expected w_q of shape"),
        "half the token": (lambda: (20 * EYE, EYE), "expected w_q of shape (12, d_k)"),
        "two widths": (lambda: (halves(20 * EYE, EYE)[0], np.zeros((12, 5))), "needs one"),
        "the product": (lambda: halves(20 * EYE, EYE)[0], "two matrices"),
        "infinite": lambda: halves(np.inf * np.where(EYE > 0, 1, 0), EYE),
        "overflows": (lambda: halves(1e200 * EYE, 1e200 * EYE), "not a number"),
        "no direction": (lambda: np.zeros((2, 12, 0)), "expected w_q of shape"),
        "text": (lambda: ("w_q", "w_k"), "it returned"),
        "all names at once": lambda: [np.concatenate([c * EYE] * 2) for c in (20, 1)],
    },
    check_order_test: tests_of_order(WRONG_TESTS),
}
