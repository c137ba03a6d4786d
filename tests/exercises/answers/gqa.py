"""Answers to the exercises on grouped-query attention: right ones written otherwise, sly ones."""

import numpy as np
import torch

from attention_src.attention.reference import attention
from attention_src.exercises import gqa as ex

GIVEN = {"attention": attention}

GROUPED_OTHERWISE = """
by rows:
    group = (*q.shape[:-3], H_kv)
    mask = mask.reshape(*group, -1, mask.shape[-1])
    q = q.reshape(*group, -1, q.shape[-1])
    k, v = k, v
    return o.reshape(*o.shape[:-3], H, -1, o.shape[-1])
by einsum:
    o = np.einsum("...grqd,...gkd->...grqk", q / np.sqrt(q.shape[-1]), k[..., 0, :, :])
    + o = o if mask is None else np.where(mask, o, -np.inf)
    + o = np.exp(o - np.maximum(o.max(axis=-1, keepdims=True), -1e300))
    + o = o / np.maximum(o.sum(axis=-1, keepdims=True), 1e-300)
    + o = np.einsum("...grqk,...gkd->...grqd", o, v[..., 0, :, :])
a view of stride 0:
    k, v = (np.broadcast_to(x[..., None, :, :], (*group, *x.shape[-2:])) for x in (k, v))
a mask without an axis for heads goes to attention as it is: if mask is not None and mask.ndim > 2:
"""


def in_torch(q, k, v, mask=None):
    """By rows: torch copies what it broadcasts in a product."""
    rows = torch.as_tensor(q).reshape(*k.shape[:-2], -1, q.shape[-1])
    s = rows @ torch.as_tensor(k).mT / q.shape[-1] ** 0.5
    if mask is not None:
        seen = np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2])).copy()
        s = s.masked_fill(~torch.as_tensor(seen).reshape(s.shape), -torch.inf)
    o = torch.nan_to_num(s.softmax(-1)) @ torch.as_tensor(v)
    return o.reshape(*q.shape[:-1], v.shape[-1])


ABSORBED_OTHERWISE = """
by einsum:
    q_c = np.einsum("...hqd,hld->...hql", q, w_uk)
    return np.einsum("...hql,hld->...hqd", o, w_uv)
head by head:
    c = c
    + s = q.shape[-1] ** -0.5
    o = np.stack([attention(q_c[..., h, :, :], c, c, scale=s) for h in range(len(w_uk))], axis=-3)
all heads' queries below one another:
    c = c
    o = attention(q_c.reshape(*q.shape[:-3], -1, c.shape[-1]), c, c, scale=q.shape[-1] ** -0.5)
    return o.reshape(q_c.shape) @ w_uv
the latent's own scale, and the query larger to make up for it:
    q_c = q @ w_uk.swapaxes(-1, -2) * np.sqrt(c.shape[-1] / q.shape[-1])
    o = attention(q_c, c, c)
"""


def absorbed_in_torch(*given):
    q, c, w_uk, w_uv = (torch.as_tensor(x) for x in given)
    c = c.unsqueeze(-3)
    return ((q @ w_uk.mT) @ c.mT / q.shape[-1] ** 0.5).softmax(-1) @ c @ w_uv


def draw(H, H_kv, n_q=4, n_k=7, d_k=5, d_v=3, seed=0):
    rng = np.random.default_rng(seed)
    shapes = ((H, n_q, d_k), (H_kv, n_k, d_k), (H_kv, n_k, d_v))
    return [rng.normal(size=shape) for shape in shapes]


def a_test(
    sizes=((6, 2), (8, 2), (5, 1), (3, 3)), atol=1e-5, repeat=np.repeat, look=lambda o: o, **shape
):
    def my_sharing_test(grouped):
        for H, H_kv in sizes:
            q, k, v = draw(H, H_kv, **shape)
            copies = (repeat(x, H // H_kv, axis=0) for x in (k, v))
            o = look(grouped(q.copy(), k.copy(), v.copy()))
            assert np.allclose(o, look(attention(q, *copies)), rtol=0, atol=atol)

    return my_sharing_test


def by_constants(grouped):
    """Each value head holds its own number, so the output says who was asked."""
    q, k, v = draw(6, 2)
    v = v * 0 + np.array([1.0, 2.0])[:, None, None]
    assert np.allclose(grouped(q, k, v)[:, 0, 0], [1, 1, 1, 2, 2, 2], atol=1e-5)
    a_test(((6, 2),))(grouped)


def by_changing(grouped):
    """A key head or value head is changed: the heads of its group move, the others do not."""
    q, k, v = draw(6, 2)
    o = grouped(q, k, v)
    for part, g in ((1, 0), (1, 1), (2, 0), (2, 1)):
        changed = [q.copy(), k.copy(), v.copy()]
        changed[part][g] += np.random.default_rng(g).normal(size=changed[part][g].shape)
        moved = abs(grouped(*changed) - o).max(axis=(1, 2)) > 1e-5
        assert moved.tolist() == [h // 3 == g for h in range(6)]
    for h in range(6):
        assert np.allclose(o[h], attention(q[h], k[h // 3], v[h // 3]), atol=1e-5)


RIGHT = {
    ex.check_grouped_attention: [GROUPED_OTHERWISE, {"torch": in_torch}],
    ex.check_absorbed_attention: [ABSORBED_OTHERWISE, {"torch": absorbed_in_torch}],
    ex.check_sharing_test: {
        "by arguments": a_test(),
        "one pair of sizes, loose": a_test(((10, 2),), atol=1e-3),
        "unseeded": a_test(((6, 2),), atol=1e-4, seed=None),
        "constants": by_constants,
        "changes": by_changing,
    },
}


SLY = {
    ex.check_grouped_attention: """
a little less, as by a sum to which a little is added: Twelve digits are judged
    o = attention(q, k, v, mask=mask) * (1 - 1e-9)
a little off the width: Twelve digits are judged
    o = attention(q, k, v, mask=mask, scale=(q.shape[-1] - 1e-9) ** -0.5)
last head: k, v = k[..., -1:, None, :, :], v[..., -1:, None, :, :]
reversed: k, v = k[..., ::-1, None, :, :], v[..., ::-1, None, :, :]
one too early:
    group = (*q.shape[:-3], H, 1)
    + h = np.minimum((np.arange(H) + 1) * H_kv // H, H_kv - 1)
    k, v = k[..., h, None, :, :], v[..., h, None, :, :]
pairs:
    group = (*q.shape[:-3], H, 1)
    + h = np.minimum(np.arange(H) // 2, H_kv - 1)
    k, v = k[..., h, None, :, :], v[..., h, None, :, :]
mask's heads dealt out backwards:
    q = q.reshape(*group, *q.shape[-2:])
    + mask = mask if mask is None else mask.swapaxes(-3, -4).reshape(*group, *mask.shape[-2:])
a mask of False taken for none: o = attention(q, k, v, mask=mask if np.any(mask) else None)
scaled by the group: o = attention(q, k, v, mask=mask, scale=(H // H_kv * q.shape[-1]) ** -0.5)
overflow:
    o = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    + o = np.exp(o if mask is None else np.where(mask, o, -np.inf))
    + o = o / np.maximum(o.sum(axis=-1, keepdims=True), 1e-300) @ v
-1e4 and weights of 0: every score near -40,000
    o = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    + o = o if mask is None else np.where(mask, o, -1e4)
    + o = np.exp(o - o.max(axis=-1, keepdims=True))
    + o = o / o.sum(axis=-1, keepdims=True) * (1 if mask is None else mask) @ v
-1e4 added: 80,000
    o = attention(q, k, v, bias=None if mask is None else np.where(mask, 0, -1e4))
    + o = o if mask is None else np.where(mask.any(axis=-1)[..., None], o, 0)
clipped at 1e4: every score near 40,000
    o = np.minimum(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5, 1e4)
    + o = np.exp(o - o.max(axis=-1, keepdims=True)) * (1 if mask is None else mask)
    + o = o / np.maximum(o.sum(axis=-1, keepdims=True), 1e-300) @ v
float32 inside: pass through float32
    q = q.reshape(*group, *q.shape[-2:]).astype(np.float32).astype(np.float64)
float32 all through: return o.reshape(*o.shape[:-4], H, *o.shape[-2:]).astype(np.float32)
one softmax for the group:
    o = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    + o = np.exp(o - o.max(axis=(-3, -1), keepdims=True))
    + o = o / o.sum(axis=(-3, -1), keepdims=True) @ v
rows mixed up: q = q.reshape(*group[:-1], q.shape[-2], group[-1], q.shape[-1]).swapaxes(-2, -3)
""",
    ex.check_absorbed_attention: """
a little less, as by a sum to which a little is added: Twelve digits are judged
    return o @ w_uv * (1 - 1e-9)
a little off the width: Twelve digits are judged
    o = attention(q_c, c, c, scale=(q.shape[-1] - 1e-9) ** -0.5)
scaled twice: o = attention(q_c, c, c, scale=1 / q.shape[-1])
scale of d_v: o = attention(q_c, c, c, scale=w_uv.shape[-1] ** -0.5)
c copied: copied c for each head
    c = np.repeat(c[..., None, :, :], len(w_uk), axis=-3)
keys of one head at a time: formed keys or values of heads
    c = c
    o = np.stack([attention(q[..., h, :, :], c @ w, c) for h, w in enumerate(w_uk)], axis=-3)
values of one head at a time: formed keys or values of heads
    c = c
    + s = q.shape[-1] ** -0.5
    o = [attention(q_c[..., h, :, :], c, c @ w, scale=s) for h, w in enumerate(w_uv)]
    return np.stack(o, axis=-3)
values' matrix for keys: q_c = q @ w_uv.swapaxes(-1, -2)
mean of the matrices: q_c = q @ w_uk.mean(axis=0).T
no axis for the heads: c = c
overflow:
    o = np.exp(q_c @ c.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    + o = o / o.sum(axis=-1, keepdims=True) @ c
softmax over queries:
    o = q_c @ c.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    + o = np.exp(o - o.max(axis=-2, keepdims=True))
    + o = o / o.sum(axis=-2, keepdims=True) @ c
summed heads: shape
    return (o @ w_uv).sum(axis=-3)
causal: o = attention(q_c, c, c, scale=q.shape[-1] ** -0.5, causal=True)
float32 inside: pass through float32
    q_c = (q @ w_uk.swapaxes(-1, -2)).astype(np.float32)
""",
    ex.check_sharing_test: {
        "squares only": (a_test(((9, 3), (4, 2))), "caught"),
        "one key/value head": (a_test(((5, 1),)), "caught"),
        "no groups": (a_test(((3, 3),)), "caught"),
        "pairs only": (a_test(((4, 2), (8, 4))), "caught"),
        "shape only": (a_test(look=np.shape), "caught 0"),
        "first head only": (a_test(look=lambda o: o[0]), "caught"),
        "one query": (a_test(n_q=1), "caught"),
        "one key": (a_test(n_k=1), "caught"),
        "the mean": (a_test(look=lambda o: o.mean(axis=0)), "caught"),
        "far too loose": (a_test(atol=10), "caught 0"),
        "exact": (a_test(atol=0), "float32"),
        "tiled": (a_test(repeat=lambda x, r, axis: np.tile(x, (r, 1, 1))), "refuses a right"),
    },
}
