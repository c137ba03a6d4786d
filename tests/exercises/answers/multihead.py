"""Answers to the exercises on multi-head attention: right ones written otherwise, and sly ones."""

import numpy as np

from attention_src.attention.reference import attention
from attention_src.exercises import multihead as ex

GIVEN = dict(attention=attention, split_heads=ex.split_heads, merge_heads=ex.merge_heads)


def head(*, by=30.0, shift=-1, reads=slice(0, 4), writes=slice(12, 16), take=1.0):
    """A head like the page's, with something else about it."""
    w_q, w_k = np.zeros((2, 16, 8))
    w_v, w_o = np.zeros((16, 4)), np.zeros((4, 16))
    w_k[4:12] = np.eye(8)
    w_q[4:12] = by * np.eye(8, k=shift)
    w_v[reads] = np.eye(4) * take
    w_o[:, writes] = np.eye(4)
    return w_q, w_k, w_v, w_o


def on_a_circle():
    """Two numbers are enough to tell eight places apart."""
    angle = np.arange(8) * 2 * np.pi / 8
    w_q, w_k = np.zeros((2, 16, 2))
    w_k[4:12] = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    w_q[4:12] = 60 * np.stack([np.cos(angle - angle[1]), np.sin(angle - angle[1])], axis=1)
    return w_q, w_k, *head()[2:]


def turned():
    rng = np.random.default_rng(0)
    w_q, w_k, w_v, w_o = head()
    turn, mix = np.linalg.qr(rng.normal(size=(8, 8)))[0], rng.normal(size=(4, 4))
    return w_q @ turn, w_k @ turn, w_v @ mix, np.linalg.inv(mix) @ w_o


def first_looks_at_itself():
    w_q, *rest = head()
    w_q[4, 0] = 30
    return w_q, *rest


RIGHT = {
    ex.check_split_heads: """
stacked slices: return np.stack(np.split(x, n_heads, axis=-1), axis=-3)
""",
    ex.check_merge_heads: """
concatenated: return np.concatenate(np.moveaxis(x, -3, 0), axis=-1)
""",
    ex.check_multihead_attention: """
scaled queries: o = attention(q / q.shape[-1] ** 0.5, k, v, mask=mask, scale=1.0)
by logarithms:
    - o = attention
    + s = _masked(q, k, mask)
    + m = np.nan_to_num(s.max(axis=-1, keepdims=True), neginf=0)
    + l = np.exp(s - m).sum(axis=-1, keepdims=True)
    + o = np.exp(s - (m + np.log(np.where(l == 0, 1, l)))) @ v
einsum:
    q = np.einsum("...nm,mhd->...hnd", x, w_q.reshape(len(w_q), n_heads, -1))
    return np.einsum("...hnd,hdm->...nm", o, w_o.reshape(n_heads, -1, w_o.shape[1]))
head by head:
    - o = attention
    + seen = np.broadcast_to(True if mask is None else mask, (*q.shape[:-1], q.shape[-2]))
    + heads = zip(*(np.moveaxis(z, -3, 0) for z in (q, k, v, seen)))
    + o = np.stack([attention(*head, mask=sees) for *head, sees in heads], axis=-3)
""",
    ex.check_previous_head: {
        "shift in the keys": lambda: (30 * head()[1], head(by=1, shift=1)[0], *head()[2:]),
        "on a circle": on_a_circle,
        "turned": turned,
        "the first looks at itself": first_looks_at_itself,
        "weighed": lambda: [(w * f).tolist() for w, f in zip(head(), (1, 9, 5, 0.2), strict=True)],
    },
}

SLY = {
    ex.check_split_heads: """
two axes only: cut = x.reshape(len(x), n_heads, -1)
axes counted from the front: return cut.swapaxes(0, 1)
last head first: return cut.swapaxes(-2, -3)[..., ::-1, :, :]
order of memory: nearest in memory
    cut = x.reshape(*x.shape[:-1], n_heads, d, order="A")
eight heads at most: cut = x.reshape(*x.shape[:-1], min(n_heads, 8), -1)
a last digit: All digits are judged
    return cut.swapaxes(-2, -3) * (1 + 1e-15)
""",
    ex.check_merge_heads: """
axes counted from the front: return x.swapaxes(0, 1).reshape(*x.shape[:-3], n, H * d)
width first: return np.moveaxis(x, -1, -2).swapaxes(-2, -3).reshape(*x.shape[:-3], d, H * n)
transposed: return x.swapaxes(-2, -3).reshape(*x.shape[:-3], n, H * d).swapaxes(-1, -2)
order of memory: nearest in memory
    return x.swapaxes(-2, -3).reshape(*x.shape[:-3], n, H * d, order="A")
three axes: return np.hstack(list(x))
by thirds: All digits are judged
    return x.swapaxes(-2, -3).reshape(*x.shape[:-3], n, H * d) * 3 / 3
""",
    ex.check_multihead_attention: """
scale of the tokens: o = attention(q, k, v, mask=mask, scale=x.shape[-2] ** -0.5)
keys and values swapped: v, k = split_heads(x @ w_k, n_heads), split_heads(x @ w_v, n_heads)
a little less, as by a sum to which a little is added: Twelve digits are judged
    o = attention(q, k, v, mask=mask) * (1 - 1e-9)
at most 32: d_k = 65
    o = attention(q, k, v, mask=mask, scale=min(q.shape[-1], 32) ** -0.5)
a little off the width: Twelve digits are judged
    o = attention(q, k, v, mask=mask, scale=(q.shape[-1] - 1e-9) ** -0.5)
heads added: return np.tile(o.sum(axis=-3), n_heads) @ w_o
clipped scores: o = softmax(_masked(q, k, mask).clip(-1e4, 1e4)) @ v
hidden by -1e4: around 100,000
    o = softmax(_masked(q, k, mask, hidden=-1e4)) * (1 if mask is None else mask) @ v
the best key alone beyond 10^6: 10^13
    - o = attention
    + s = _masked(q, k, mask)
    + best = np.take_along_axis(v, s.argmax(axis=-1)[..., None], axis=-2)
    + far = s.max(axis=-1, keepdims=True) > 1e6
    + o = np.where(far, best, attention(q, k, v, mask=mask))
two best keys alike beyond 10^6: 10^13
    - o = attention
    + s = _masked(q, k, mask)
    + far = (s.max(axis=-1, keepdims=True) > 1e6) & (s < s.max(axis=-1, keepdims=True))
    + o = attention_weights(q, k, mask=mask) * ~far
    + o = o / np.where(o.sum(axis=-1, keepdims=True) == 0, 1, o.sum(axis=-1, keepdims=True)) @ v
hidden by -1e9: 10^12
    o = softmax(_masked(q, k, mask, hidden=-1e9)) * (1 if mask is None else mask) @ v
hidden by -3e12: -10^13
    o = softmax(_masked(q, k, mask, hidden=-3e12)) * (1 if mask is None else mask) @ v
no maximum, a guard by the mask: around 1,000
    - o = attention
    + e = np.exp(_masked(q, k, None)) * (1 if mask is None else mask)
    + l = e.sum(axis=-1, keepdims=True)
    + o = e / np.where(l > 0, l, 1) @ v
float32 inside: float32
    v, k, q = (split_heads((x @ w).astype(np.float32), n_heads) for w in (w_v, w_k, w_q))
one mask for all heads:
    o = attention(q, k, v, mask=mask[..., :1, :, :] if np.ndim(mask) > 2 else mask)
one text's mask for all: six heads, a mask [2, 1, n, n]
    - o = attention
    + mask = mask[:1] if np.ndim(mask) == 4 and mask.shape[2] > 1 else mask
    + o = attention(q, k, v, mask=mask)
the first 16 tokens: six heads
    o = attention(q, k[..., :16, :], v[..., :16, :], mask=None if mask is None else mask[..., :16])
four axes at most: three axes in front
    o = attention(q, k, v, mask=mask) if x.ndim < 5 else v
always causal: o = attention(q, k, v, mask=np.tri(x.shape[-2], dtype=bool))
""",
    ex.check_previous_head: {
        "zeros": (lambda: head(by=0), "all places alike"),
        "too soft": (lambda: head(by=8), "Sharper"),
        "ahead": (lambda: head(shift=1), "one place ahead"),
        "itself": (lambda: head(shift=0), "at itself"),
        "two back": (lambda: head(shift=-2), "looks most at place"),
        "anywhere else": (lambda: head(by=-30), "several places"),
        "takes the place": (lambda: head(reads=slice(4, 8)), "What does it take from there"),
        "writes over the letter": (lambda: head(writes=slice(0, 4)), "where does"),
        "two per cent too much": (lambda: head(take=1.02), "What does it take"),
        "by letters": lambda: (*head()[:1], head()[0], *head()[2:]),
        "writes elsewhere too": (
            lambda: (*head()[:3], head()[3] + np.eye(4, 16)),
            "outside the free components",
        ),
        "a mean of places at the first one": (
            lambda: (
                *head()[:2],
                np.hstack([head()[2], 0.2 * np.eye(16)[:, 11:12]]),
                np.vstack([head()[3], np.eye(16)[5:6]]),
            ),
            "at place 0, counted from 0, the head also writes 0.025 into component 5",
        ),
        "transposed": (lambda: tuple(w.T for w in head()), "w_q has shape (8, 16)"),
        "w_o transposed": (lambda: (*head()[:3], head()[3].T), "w_o has shape"),
        "queries wider": (lambda: (np.zeros((16, 9)), *head()[1:]), "must be equally wide"),
        "a vector": (lambda: (np.zeros(16), *head()[1:]), "should be a matrix"),
        "letters a to c only": (lambda: head(take=np.arange(4) < 3), "before it stands"),
        "places 0 to 5 only": (
            lambda: head(by=30.0 * (np.arange(8) < 6)[:, None]),
            "before it stands",
        ),
    },
}
