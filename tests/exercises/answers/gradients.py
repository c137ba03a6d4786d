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


def steps(schedule):
    """What a rule for one step makes of all 30."""
    return lambda: [schedule(t) for t in range(30)]


RIGHT = {
    ex.check_attention_backward: [BACKWARD_OTHERWISE, {"torch": in_torch}],
    ex.check_schedule: {
        "half of half": steps(lambda t: (1, 0.5, 0.25) if t < 2 else (8, 0, 0.25)),
        "a fifth": steps(lambda t: (1, 0.8, 1 / 4) if t == 0 else (6, 0, 1 / 4)),
        "arrays": steps(lambda t: np.array([1, 0.75, 0.25] if t == 0 else [8, 0, 0.25])),
        "a list": steps(lambda t: [2, 0.375, 0.25] if t == 0 else [9, 0.0, 0.25]),
        "three steps": steps(lambda t: (0.5, 0.75, 0.25) if t < 3 else (8, 0, 0.25)),
        "numbers of NumPy": steps(lambda t: (np.float32(8), 0, 0.25) if t else (1, 0.75, 0.25)),
    },
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
    ex.check_schedule: {
        "plain": (steps(lambda t: (0.5, 0, 0.25)), "You changed the steps alone"),
        "long steps": (steps(lambda t: (8, 0, 0.25)), "You changed the steps alone"),
        "small steps": (steps(lambda t: (0.01, 0, 0.25)), "You changed the steps alone"),
        "scores larger": (
            steps(lambda t: (0.5, 0, 1.0 if t < 29 else 0.25)),
            "You changed the steps alone",
        ),
        "divided first": (
            steps(lambda t: (8, 0, 1 / 64 if t < 15 else 0.25)),
            "Shrink the vectors",
        ),
        "divided for good": (steps(lambda t: (8, 0, 1 / 64)), "The last scale is 0.015625"),
        "a little decay": (steps(lambda t: (0.5, 0.01, 0.25)), "by less than half"),
        "decay for good": (steps(lambda t: (0.5, 0.3, 0.25)), "of the queries are right"),
        "all at once": (steps(lambda t: (1, 1, 0.25)), "nothing is left of the vectors"),
        "no step": (steps(lambda t: (0, 0.5, 0.25)), "Your rates are 0"),
        "too short in the end": (
            steps(lambda t: (1, 0.75, 0.25) if t == 0 else (4, 0, 0.25)),
            "Take longer steps in the end",
        ),
        "climbing": (steps(lambda t: (-1, 0, 0.25)), "are not negative"),
        "two numbers": (steps(lambda t: (1, 0.25)), "shape (30, 2)"),
        "not a number": (steps(lambda t: (np.nan, 0, 0.25)), "not finite"),
    },
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
