"""Answers to the exercises on gradients: right ones written otherwise, and sly ones."""

import numpy as np
import torch

from attention_src.exercises import gradients as ex
from attention_src.exercises.engine.variants import variants

BACKWARD_OTHERWISE = """
whole Jacobian:
    delta = p[..., :, None] * np.eye(k.shape[-2]) - p[..., :, None] * p[..., None, :]
    ds = (delta @ dp[..., None])[..., 0]
delta from the weights, the scale in ds:
    delta = (p * dp).sum(axis=-1, keepdims=True)
    ds = scale * (p * dp - p * delta)
    dq = ds @ k
    dk = ds.swapaxes(-1, -2) @ q
by einsum:
    dv = np.einsum("...qk,...qd->...kd", p, do)
    dk = np.einsum("...qk,...qd->...kd", ds, scale * q)
"""


def in_torch(q, k, v, do, mask=None):
    x = [torch.tensor(a, requires_grad=True) for a in (q, k, v)]
    s = x[0] @ x[1].mT / q.shape[-1] ** 0.5
    seen = torch.as_tensor(True if mask is None else mask).expand(s.shape)
    some = seen.any(-1, keepdim=True)
    p = torch.softmax(s.masked_fill(~seen & some, -torch.inf), -1) * some
    (p @ x[2]).backward(torch.tensor(do))
    return tuple(t.grad for t in x)


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


RIGHT = {
    ex.check_attention_backward: [BACKWARD_OTHERWISE, {"torch": in_torch}],
    ex.check_output_by_key: """
the softmax's Jacobian: return np.outer(v.T @ (np.diag(p) - np.outer(p, p))[:, j], q) / root
by loops: return [[p[j] * (v[j][c] - o[c]) * x / root for x in q] for c in range(v.shape[1])]
through the backward pass:
    o = np.eye(v.shape[1])
    return np.array([attention_backward(q[None], k, v, row[None])[1][j] for row in o])
""",
    ex.check_gradient_check: tests_of_gradients("""
a shorter nudge:
    h = 2e-3
along directions:
    right = along_directions(loss, x[part], found[part])
    off = np.abs(right[1] - right[0]).max()
the exercise says that all are off by 2 %:
    tolerance = 0.02
four points, to three digits:
    tolerance = 5e-4
    right = (4 * slopes(loss, x[part], 1e-2) - slopes(loss, x[part], 2e-2)) / 3
unseeded:
    rng = np.random.default_rng()
    off = np.abs(found[part] - right).max() - 2e-3
"""),
}


SLY = {
    ex.check_attention_backward: """
a little in the sum: digits are judged
    p = e / (l + 1e-9)
a little off the width:
    scale = (q.shape[-1] - 1e-9) ** -0.5
-20,000, then zeroed: visible scores of -21,000
    s = np.where(seen, scale * q @ k.swapaxes(-1, -2), -2e4)
    p = e / l * seen
not transposed: dk = scale * (ds if ds.shape[-1] == ds.shape[-2] else ds.swapaxes(-1, -2)) @ q
dq too long: dq = 1.03 * scale * ds @ k
last key:
    dk = scale * ds.swapaxes(-1, -2) @ q
    + dk[..., 1:, :][..., -1:, :] = 0
two axes only: delta = (do * (p @ v)).sum(axis=1, keepdims=True)
square mask only: seen = True if mask is None or mask.ndim == 1 else mask
a mask per text: three sentences, three heads
    seen = True if mask is None else mask
    + seen = seen[:, None] if np.ndim(seen) == 3 and q.ndim == 4 and len(seen) == len(q) else seen
NaN to 0 at the end:
    e = np.exp(s - m)
    p = e / l
    return tuple(np.nan_to_num(g) for g in (dq, dk, dv))
hidden at -10,000: visible scores of -10,000
    s = np.where(seen, scale * q @ k.swapaxes(-1, -2), -1e4)
    p = e / l * seen
float32 inside: pass through float32
    + q = q.astype(np.float32)
a mask of one column ignored: a mask of shape [n_q, 1]
    seen = True if mask is None or mask.shape[-1] == 1 < k.shape[-2] else mask
another order: return dv, dk, dq
dq alone: should return (dq, dk, dv)
    return dq
clipped scores: scores up to ten thousand
    + q = np.clip(q, -50, 50)
small gradients dropped: return tuple(np.where(abs(g) < 1e-4, 0, g) for g in (dq, dk, dv))
""",
    ex.check_output_by_key: """
a little in the sum:
    p = e / (e.sum() + 1e-9)
a little off the width:
    root = (q.shape[0] - 1e-9) ** 0.5
p (1 - p) (v - o): return np.outer(p[j] * (1 - p[j]) * (v[j] - o), q) / root
p squared: return np.outer(p[j] ** 2 * (v[j] - o), q) / root
divided by d_k: return np.outer(p[j] * (v[j] - o), q) / root**2
the first key: return np.outer(p[0] * (v[0] - o), q) / root
summed: shape
    return np.outer(p[j] * (v[j] - o), q).sum() / root
all keys: shape
    return (p[:, None] * (v - o))[:, :, None] * q / root
a wide nudge:
    o = lambda moved: softmax(moved @ q / root) @ v
    + steps = 1e-2 * (np.arange(len(k))[:, None] == j) * np.eye(len(q))[:, None]
    return np.stack([o(k + step) - o(k - step) for step in steps], axis=-1) / 2e-2
a good nudge: The largest difference is
    o = lambda moved: softmax(moved @ q / root) @ v
    + steps = 1e-5 * (np.arange(len(k))[:, None] == j) * np.eye(len(q))[:, None]
    return np.stack([o(k + step) - o(k - step) for step in steps], axis=-1) / 2e-5
float32 inside: Nine digits are judged
    s = k.astype(np.float32) @ q.astype(np.float32) / root
""",
    ex.check_gradient_check: tests_of_gradients("""
no mask: caught 14 of 17
    tried = masks(n_q, n_k)[:1]
sizes that differ: caught 15 of 17
    sizes = ((3, 5, 4, 2),)
square: caught 16 of 17
    sizes = ((4, 4, 4, 4),)
do of ones: of 17
    do = np.ones((n_q, d_v))
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
    assert found[part].shape == right.shape and np.isfinite(found[part]).all()
sums: refuses a right implementation (sigmoid)
    assert abs(found[1].sum(axis=0)).max() < 1e-9
our formula: refuses a right implementation (no scale
    right = ex.attention_backward(*x, do, mask)[part]
NaN slips through: caught 16 of 17
    assert not off > tolerance * np.abs(right).max()
"""),
}
