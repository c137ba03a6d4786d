import math

import numpy as np


def forward(q, k, v, mask=None):
    """q [..., n_q, d_k], k [..., n_k, d_k], v [..., n_k, d_v]: p, o."""
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:  # True = may attend
        scores = np.where(mask, scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = e.sum(axis=-1, keepdims=True)
    p = e / np.where(total == 0, 1, total)
    return p, p @ v


def backward(q, k, v, d_out, mask=None):
    """The gradients of q, k and v, from that of the output."""
    p, out = forward(q, k, v, mask)  # a hidden pair: p = 0, no gradient
    d_v = p.swapaxes(-1, -2) @ d_out
    d_p = d_out @ v.swapaxes(-1, -2)
    delta = (d_out * out).sum(axis=-1, keepdims=True)  # mean d_p
    d_s = p * (d_p - delta) / math.sqrt(q.shape[-1])
    return d_s @ k, d_s.swapaxes(-1, -2) @ q, d_v


def nudged(loss, x, h=1e-5):
    """The gradient of loss by x: each entry a little up and down."""
    grad = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        old = x[i]
        x[i] = old + h
        up = loss()
        x[i] = old - h
        grad[i] = (up - loss()) / (2 * h)
        x[i] = old
    return grad


def test_backward(backward):
    rng = np.random.default_rng(0)
    for n_q, n_k, d_k, d_v in ((3, 5, 4, 2), (4, 4, 4, 4)):
        shapes = (2, n_q, d_k), (2, n_k, d_k), (2, n_k, d_v)
        x = [rng.normal(size=shape) for shape in shapes]
        d_out = rng.normal(size=(2, n_q, d_v))  # random, not all ones
        some = rng.random((n_q, n_k)) < 0.6
        some[0] = False  # a query that may attend to nothing
        for mask in (None, some):
            loss = lambda: (d_out * forward(*x, mask)[1]).sum()
            grads = backward(*x, d_out, mask)
            for name, one, grad in zip("qkv", x, grads):
                off = np.abs(grad - nudged(loss, one)).max()
                assert off < 1e-7, f"d{name} is off by {off:.1e}"


test_backward(backward)
print("passed")
