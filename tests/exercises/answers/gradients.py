"""Answers to the exercises on gradients: right ones written otherwise, and sly ones."""

import numpy as np
import torch

from attention_src.exercises.engine.variants import variants
from attention_src.exercises.gradients import (
    attention_backward,
    check_attention_backward,
    check_gradient_check,
    check_output_by_key,
)


def weights(q, k, mask):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    seen = np.broadcast_to(True if mask is None else mask, s.shape)
    m = np.max(s, axis=-1, keepdims=True, where=seen, initial=-np.inf)
    e = np.exp(np.where(seen, s - np.where(np.isfinite(m), m, 0), -np.inf))
    l = e.sum(axis=-1, keepdims=True)
    return np.divide(e, l, out=np.zeros_like(e), where=l > 0)


def query_by_query(q, k, v, do, mask=None):
    mask = np.broadcast_to(True if mask is None else mask, (*q.shape[:-1], k.shape[-2]))
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for at in np.ndindex(q.shape[:-2]):
        for i in range(q.shape[-2]):
            p = weights(q[at][i : i + 1], k[at], mask[at][i])[0]
            o = p @ v[at]
            for j in range(len(p)):
                ds = p[j] * (do[at][i] @ (v[at][j] - o)) / np.sqrt(q.shape[-1])
                dq[at][i] += ds * k[at][j]
                dk[at][j] += ds * q[at][i]
                dv[at][j] += p[j] * do[at][i]
    return dq, dk, dv


def by_jacobian(q, k, v, do, mask=None):
    p = weights(q, k, mask)
    J = p[..., :, None] * np.eye(k.shape[-2]) - p[..., :, None] * p[..., None, :]
    ds = np.einsum("...qij,...qd,...jd->...qi", J, do, v) / np.sqrt(q.shape[-1])
    dq, dk = np.einsum("...qk,...kd->...qd", ds, k), np.einsum("...qk,...qd->...kd", ds, q)
    return dq, dk, np.einsum("...qk,...qd->...kd", p, do)


def in_torch(q, k, v, do, mask=None):
    x = [torch.tensor(a, requires_grad=True) for a in (q, k, v)]
    s = x[0] @ x[1].mT / q.shape[-1] ** 0.5
    seen = torch.as_tensor(True if mask is None else mask).expand(s.shape)
    some = seen.any(-1, keepdim=True)
    p = torch.softmax(s.masked_fill(~seen & some, -torch.inf), -1) * some
    (p @ x[2]).backward(torch.tensor(do))
    return tuple(t.grad for t in x)


def along_flattened_batches(q, k, v, do, mask=None):
    full = np.broadcast_to(True if mask is None else mask, (*q.shape[:-1], k.shape[-2]))
    flat = [x.reshape(-1, *x.shape[-2:]) for x in (q, k, v, do, full)]
    parts = [attention_backward(*one) for one in zip(*flat, strict=True)]
    return tuple(np.reshape([p[i] for p in parts], x.shape) for i, x in enumerate((q, k, v)))


def scale_on_the_queries(q, k, v, do, mask=None):
    c = q.shape[-1] ** -0.5
    p = weights(q, k, mask)
    dp = do @ v.swapaxes(-1, -2)
    ds = p * dp - p * (p * dp).sum(axis=-1, keepdims=True)
    return c * (ds @ k), ds.swapaxes(-1, -2) @ (c * q), p.swapaxes(-1, -2) @ do


# --- the covariance ----------------------------------------------------------------------------


def shares(q, k):
    return weights(q[None], k, None)[0]


def by_jacobian_of_softmax(q, k, v, j):
    p = shares(q, k)
    column = (np.diag(p) - np.outer(p, p))[:, j]
    return (v.T @ column)[:, None] * q[None, :] / np.sqrt(len(q))


def by_loops(q, k, v, j):
    p = shares(q, k)
    o = sum(a * row for a, row in zip(p, v, strict=True))
    return [[p[j] * (v[j][c] - o[c]) * x / np.sqrt(len(q)) for x in q] for c in range(v.shape[1])]


def by_autograd(q, k, v, j):
    def output(key):
        keys = torch.cat([torch.tensor(k[:j]), key[None], torch.tensor(k[j + 1 :])])
        return torch.softmax(keys @ torch.tensor(q) / len(q) ** 0.5, dim=0) @ torch.tensor(v)

    return torch.autograd.functional.jacobian(output, torch.tensor(k[j]))


def through_backward(q, k, v, j):
    rows = np.eye(v.shape[1])
    return np.array([attention_backward(q[None], k, v, row[None])[1][j] for row in rows])


def nudged(h):
    def my_output_by_key(q, k, v, j):
        out = np.zeros((v.shape[1], len(q)))
        for c in range(len(q)):
            step = h * np.outer(np.arange(len(k)) == j, np.arange(len(q)) == c)
            out[:, c] = (shares(q, k + step) @ v - shares(q, k - step) @ v) / (2 * h)
        return out

    return my_output_by_key


# --- the gradient check ------------------------------------------------------------------------


def masks(n_q, n_k):
    some = np.random.default_rng(1).random((n_q, n_k)) < 0.6
    some[0], some[1:, 0] = False, True
    return np.ones((n_q, n_k), dtype=bool), some


def slopes(loss, x, h):
    """The derivatives of loss by each entry of x."""
    steps = h * np.eye(x.size).reshape(-1, *x.shape)
    ends = [[loss(x + step), loss(x - step)] for step in steps]
    return np.array([(up - down) / (2 * h) for up, down in ends]).reshape(x.shape)


def test_of_gradients(forward, backward):
    sizes = (3, 5, 4, 2), (4, 4, 4, 4)
    h = 5e-3
    tolerance = 0.01
    parts = range(3)
    rng = np.random.default_rng(0)
    for n_q, n_k, d_k, d_v in sizes:
        x = [rng.normal(size=size) for size in ((n_q, d_k), (n_k, d_k), (n_k, d_v))]
        do = rng.normal(size=(n_q, d_v))
        tried = masks(n_q, n_k)
        for mask in tried:
            found = backward(*x, do, mask)
            for part in parts:
                loss = lambda y: np.sum(do * forward(*x[:part], y, *x[part + 1 :], mask))  # noqa: B023, E731
                right = slopes(loss, x[part], h)
                off = np.abs(found[part] - right).max()
                assert off <= tolerance * np.abs(right).max()


def tests_of_gradients(text):
    return {name: (test, words) for name, test, words in variants(test_of_gradients, text)}


def along_directions(loss, x, gradient):
    """The slopes along six directions, by nudges and by the gradient."""
    u = np.random.default_rng(0).normal(size=(6, *x.shape))
    nudges = [(loss(x + 5e-3 * one) - loss(x - 5e-3 * one)) / 1e-2 for one in u]
    return np.array(nudges), (u * gradient).sum(axis=(1, 2))


RIGHT_TESTS = """
a longer nudge:
    h = 1e-2
a shorter nudge:
    h = 2e-3
more sizes:
    sizes = (2, 5, 3, 4), (3, 3, 3, 3), (6, 2, 3, 8)
along directions:
    right = along_directions(loss, x[part], found[part])
    off = np.abs(right[1] - right[0]).max()
four points:
    right = (4 * slopes(loss, x[part], 1e-2) - slopes(loss, x[part], 2e-2)) / 3
unseeded:
    rng = np.random.default_rng()
    off = np.abs(found[part] - right).max() - 2e-3
"""

RIGHT = {
    check_attention_backward: [
        query_by_query,
        by_jacobian,
        in_torch,
        along_flattened_batches,
        scale_on_the_queries,
    ],
    check_output_by_key: [by_jacobian_of_softmax, by_loops, by_autograd, through_backward],
    check_gradient_check: tests_of_gradients(RIGHT_TESTS),
}

BACKWARD = """
not transposed:
    dk = scale * (ds if ds.shape[-1] == ds.shape[-2] else ds.swapaxes(-1, -2)) @ q
dq too long:
    dq = 1.03 * scale * ds @ k
last key:
    dk = scale * ds.swapaxes(-1, -2) @ q
    + dk[..., 1:, :][..., -1:, :] = 0
two axes only:
    delta = (do * (p @ v)).sum(axis=1, keepdims=True)
square mask only:
    seen = True if mask is None or mask.ndim == 1 else mask
a mask per text: three sentences, three heads
    seen = True if mask is None else mask
    + seen = seen[:, None] if np.ndim(seen) == 3 and q.ndim == 4 and len(seen) == len(q) else seen
NaN to 0 at the end:
    e = np.exp(s - m)
    p = e / l
    return tuple(np.nan_to_num(g) for g in (dq, dk, dv))
hidden at -2,000: visible scores of -10,000
    s = np.where(seen, scale * q @ k.swapaxes(-1, -2), -2e3)
    p = e / l * seen
hidden at -10,000: visible scores of -10,000
    s = np.where(seen, scale * q @ k.swapaxes(-1, -2), -1e4)
    p = e / l * seen
float32 inside: pass through float32
    scale = q.shape[-1] ** -0.5
    + q = q.astype(np.float32)
another order:
    return dv, dk, dq
dq alone: should return (dq, dk, dv)
    return dq
clipped scores: scores up to ten thousand
    scale = q.shape[-1] ** -0.5
    + q = np.clip(q, -50, 50)
small gradients dropped:
    return tuple(np.where(abs(g) < 1e-4, 0, g) for g in (dq, dk, dv))
"""


def misnamed(q, k, v, do, m=None):
    return attention_backward(q, k, v, do, m)


def without_a_default(q, k, v, do, mask):
    return attention_backward(q, k, v, do, mask)


BY_KEY = """
p (1 - p) (v - o):
    return np.outer(p[j] * (1 - p[j]) * (v[j] - o), q) / root
p squared:
    return np.outer(p[j] ** 2 * (v[j] - o), q) / root
divided by d_k:
    return np.outer(p[j] * (v[j] - o), q) / root**2
the first key:
    return np.outer(p[0] * (v[0] - o), q) / root
summed: shape
    return np.outer(p[j] * (v[j] - o), q).sum() / root
all keys: shape
    return (p[:, None] * (v - o))[:, :, None] * q / root
float32 inside: Nine digits are judged
    s = k.astype(np.float32) @ q.astype(np.float32) / root
"""

WRONG_TESTS = """
no mask: caught 14 of 17
    tried = masks(n_q, n_k)[:1]
sizes that differ: caught 15 of 17
    sizes = ((3, 5, 4, 2),)
square: caught 16 of 17
    sizes = ((4, 4, 4, 4),)
do of ones: of 17
    do = np.ones((n_q, d_v))
dq alone: of 17
    parts = [0]
dk alone: of 17
    parts = [1]
dv alone: of 17
    parts = [2]
dq overlooked: caught 16 of 17
    parts = [1, 2]
dq and dv: caught 14 of 17
    parts = [0, 2]
tiny nudge: refuses a right implementation (rounded
    h = 1e-7
huge nudge: refuses a right implementation
    h = 1.0
loose: of 17
    tolerance = 5.0
30 %: caught 16 of 17
    tolerance = 0.3
to nine digits: refuses a right implementation
    tolerance = 1e-9
one query: of 17
    sizes = (1, 5, 4, 2), (1, 1, 1, 1)
    tried = masks(n_q, n_k)[:1]
shapes: of 17
    right = x[part]
    - assert off
    + assert found[part].shape == right.shape and np.isfinite(found[part]).all()
sums: refuses a right implementation (sigmoid)
    - assert off
    + assert abs(found[1].sum(axis=0)).max() < 1e-9
our formula: refuses a right implementation (no scale
    right = attention_backward(*x, do, mask)[part]
NaN slips through: caught 16 of 17
    - assert off
    + assert not off > tolerance * np.abs(right).max()
a verdict: Nobody looks at what a test returns
    - assert off
    + return bool(off < 1e-12)
wrong shapes: stumbles over a right
    found = forward(1)
another exception: stumbles over a right
    found = np.linalg.inv(np.zeros((2, 2)))
"""

SLY = {
    check_attention_backward: [
        BACKWARD,
        {
            "misnamed": (misnamed, "Its fifth argument should be called mask."),
            "without a default": (without_a_default, "mask"),
        },
    ],
    check_output_by_key: [
        BY_KEY,
        {"a wide nudge": nudged(1e-2), "a good nudge": (nudged(1e-5), "The largest difference is")},
    ],
    check_gradient_check: tests_of_gradients(WRONG_TESTS),
}
