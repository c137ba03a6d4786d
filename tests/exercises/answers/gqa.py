"""Answers to the exercises on grouped-query attention: right ones written otherwise, sly ones."""

import numpy as np
import torch

from attention_src.attention.reference import attention
from attention_src.exercises.gqa import (
    check_absorbed_attention,
    check_grouped_attention,
    check_sharing_test,
    grouped_attention,
)

GIVEN = {"attention": attention}


def full_mask(q, k, mask):
    return None if mask is None else np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2]))


def head_by_head(q, k, v, mask=None):
    r, full, heads = q.shape[-3] // k.shape[-3], full_mask(q, k, mask), []
    for h in range(q.shape[-3]):
        mine = q[..., h, :, :], k[..., h // r, :, :], v[..., h // r, :, :]
        heads.append(attention(*mine, mask=None if full is None else full[..., h, :, :]))
    return np.stack(heads, axis=-3)


def by_rows(q, k, v, mask=None):
    rows = (*q.shape[:-3], k.shape[-3], -1)
    if mask is not None:
        mask = full_mask(q, k, mask).reshape(*rows, k.shape[-2])
    o = attention(q.reshape(*rows, q.shape[-1]), k, v, mask=mask)
    return o.reshape(*q.shape[:-1], v.shape[-1])


def weights(s, mask):
    s = s if mask is None else np.where(mask, s, -np.inf)
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(m > -np.inf, m, 0))
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l > 0, l, 1)


def by_einsum(q, k, v, mask=None):
    q5 = q.reshape(*k.shape[:-2], -1, *q.shape[-2:])
    s = np.einsum("...grqd,...gkd->...grqk", q5, k) / np.sqrt(q.shape[-1])
    p = weights(s.reshape(*q.shape[:-1], k.shape[-2]), mask).reshape(s.shape)
    o = np.einsum("...grqk,...gkd->...grqd", p, v)
    return o.reshape(*q.shape[:-1], v.shape[-1])


def group_by_group(q, k, v, mask=None):
    o = np.zeros((*q.shape[:-1], v.shape[-1]))
    r = q.shape[-3] // k.shape[-3]
    full = full_mask(q, k, mask)
    for g in range(k.shape[-3]):
        mine = slice(g * r, (g + 1) * r)
        same = (x[..., g : g + 1, :, :] for x in (k, v))
        some = None if full is None else full[..., mine, :, :]
        o[..., mine, :, :] = attention(q[..., mine, :, :], *same, mask=some)
    return o


def broadcast(q, k, v, mask=None):
    """A view of stride 0, and then products of four axes or more."""
    group = (*k.shape[:-2], q.shape[-3] // k.shape[-3])
    k, v = (np.broadcast_to(x[..., None, :, :], (*group, *x.shape[-2:])) for x in (k, v))
    s = q.reshape(*group, *q.shape[-2:]) @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    p = weights(s, None if mask is None else full_mask(q, k, mask).reshape(s.shape))
    return (p @ v).reshape(*q.shape[:-1], v.shape[-1])


def in_torch(q, k, v, mask=None):
    """By rows: torch copies what it broadcasts in a product."""
    rows = torch.as_tensor(q).reshape(*k.shape[:-2], -1, q.shape[-1])
    s = rows @ torch.as_tensor(k).mT / q.shape[-1] ** 0.5
    if mask is not None:
        seen = torch.as_tensor(full_mask(q, k, mask).copy()).reshape(s.shape)
        s = s.masked_fill(~seen, -torch.inf)
    o = torch.nan_to_num(s.softmax(-1)) @ torch.as_tensor(v)
    return o.reshape(*q.shape[:-1], v.shape[-1])


def plain_mask(q, k, v, mask=None):
    """A mask without an axis for heads goes to `attention` as it is."""
    group = (*k.shape[:-2], -1, *q.shape[-2:])
    if mask is not None and mask.ndim > 2:
        mask = full_mask(q, k, mask)
        mask = mask.reshape(*group[:-1], mask.shape[-1])
    o = attention(q.reshape(group), k[..., None, :, :], v[..., None, :, :], mask=mask)
    return o.reshape(*q.shape[:-1], v.shape[-1])


def softmax(s, axis=-1):
    e = np.exp(s - s.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def absorbed_by_einsum(q, c, w_uk, w_uv):
    q_c = np.einsum("...hqd,hld->...hql", q, w_uk) / np.sqrt(q.shape[-1])
    p = softmax(np.einsum("...hql,...kl->...hqk", q_c, c))
    return np.einsum("...hql,hld->...hqd", np.einsum("...hqk,...kl->...hql", p, c), w_uv)


def absorbed_head_by_head(q, c, w_uk, w_uv):
    scale = q.shape[-1] ** -0.5
    pairs = [(q[..., h, :, :] @ w_uk[h].T, w_uv[h]) for h in range(len(w_uk))]
    return np.stack([attention(q_c, c, c, scale=scale) @ up for q_c, up in pairs], axis=-3)


def absorbed_by_rows(q, c, w_uk, w_uv):
    """All heads' queries below one another: multi-query attention as one head."""
    q_c = q @ w_uk.swapaxes(-1, -2)
    flat = q_c.reshape(*q.shape[:-3], -1, c.shape[-1])
    o = attention(flat, c, c, scale=q.shape[-1] ** -0.5)
    return o.reshape(q_c.shape) @ w_uv


def rescaled(q, c, w_uk, w_uv):
    """With the scale of the latent, and the query made larger to make up for it."""
    q_c = q @ w_uk.swapaxes(-1, -2) * np.sqrt(c.shape[-1] / q.shape[-1])
    return attention(q_c, c[..., None, :, :], c[..., None, :, :]) @ w_uv


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
    """A learner's test, right by default, wrong in the way that an argument says."""

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
    for part in (1, 2):
        for g in range(2):
            changed = [q.copy(), k.copy(), v.copy()]
            changed[part][g] += np.random.default_rng(g).normal(size=changed[part][g].shape)
            moved = abs(grouped(*changed) - o).max(axis=(1, 2)) > 1e-5
            assert moved.tolist() == [h // 3 == g for h in range(6)]
    for h in range(6):
        assert np.allclose(o[h], attention(q[h], k[h // 3], v[h // 3]), atol=1e-5)


RIGHT = {
    check_grouped_attention: [
        head_by_head,
        by_rows,
        by_einsum,
        group_by_group,
        broadcast,
        in_torch,
        plain_mask,
    ],
    check_absorbed_attention: [
        absorbed_by_einsum,
        absorbed_head_by_head,
        absorbed_by_rows,
        rescaled,
        absorbed_in_torch,
    ],
    check_sharing_test: {
        "by arguments": a_test(),
        "one size": a_test(((6, 2),)),
        "one pair of sizes, loose": a_test(((10, 2),), atol=1e-3),
        "unseeded": a_test(((6, 2),), atol=1e-4, seed=None),
        "constants": by_constants,
        "changes": by_changing,
    },
}

GROUPED = """
last head:
    k, v = k[..., -1:, None, :, :], v[..., -1:, None, :, :]
reversed:
    k, v = k[..., ::-1, None, :, :], v[..., ::-1, None, :, :]
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
scaled by the group:
    o = attention(q, k, v, mask=mask, scale=(H // H_kv * q.shape[-1]) ** -0.5)
overflow:
    o = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    + o = np.exp(o if mask is None else np.where(mask, o, -np.inf))
    + o = o / np.maximum(o.sum(axis=-1, keepdims=True), 1e-300) @ v
-1e9: you give all keys equal weights
    o = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    + o = o if mask is None else np.where(mask, o, -1e9)
    + o = np.exp(o - o.max(axis=-1, keepdims=True))
    + o = o / o.sum(axis=-1, keepdims=True) @ v
NaN in hidden rows: It should be 0
    o = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    + o = o if mask is None else np.where(mask, o, -np.inf)
    + o = np.exp(o - o.max(axis=-1, keepdims=True))
    + o = o / o.sum(axis=-1, keepdims=True) @ v
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
one softmax for the group:
    o = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    + o = np.exp(o - o.max(axis=(-3, -1), keepdims=True))
    + o = o / o.sum(axis=(-3, -1), keepdims=True) @ v
rows mixed up:
    q = q.reshape(*group[:-1], q.shape[-2], group[-1], q.shape[-1]).swapaxes(-2, -3)
"""


def another_name(q, k, v, m=None):
    return grouped_attention(q, k, v, m)


ABSORBED = """
scaled twice:
    o = attention(q_c, c, c, scale=1 / q.shape[-1])
scale of d_v:
    o = attention(q_c, c, c, scale=w_uv.shape[-1] ** -0.5)
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
values' matrix for keys:
    q_c = q @ w_uv.swapaxes(-1, -2)
mean of the matrices:
    q_c = q @ w_uk.mean(axis=0).T
heads reversed:
    q_c = q @ w_uk[::-1].swapaxes(-1, -2)
no axis for the heads:
    c = c
overflow:
    o = np.exp(q_c @ c.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    + o = o / o.sum(axis=-1, keepdims=True) @ c
softmax over queries:
    o = q_c @ c.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    + o = np.exp(o - o.max(axis=-2, keepdims=True))
    + o = o / o.sum(axis=-2, keepdims=True) @ c
summed heads: shape
    return (o @ w_uv).sum(axis=-3)
causal:
    o = attention(q_c, c, c, scale=q.shape[-1] ** -0.5, causal=True)
float32 inside: pass through float32
    q_c = (q @ w_uk.swapaxes(-1, -2)).astype(np.float32)
"""


def refuses_all(grouped):
    grouped(*draw(6, 2))
    raise AssertionError


def tile(x, r, axis):
    return np.tile(x, (r, 1, 1))


SLY = {
    check_grouped_attention: [GROUPED, {"another name": (another_name, "should be called mask")}],
    check_absorbed_attention: ABSORBED,
    check_sharing_test: {
        "looks at nothing": (lambda grouped: grouped(*draw(6, 2)), "caught 0"),
        "refuses all": (refuses_all, "refuses a right"),
        "squares only": (a_test(((9, 3), (4, 2))), "caught"),
        "one key/value head": (a_test(((5, 1),)), "caught"),
        "no groups": (a_test(((3, 3),)), "caught"),
        "pairs only": (a_test(((4, 2), (8, 4))), "caught"),
        "shape only": (a_test(look=np.shape), "caught 0"),
        "first head only": (a_test(look=lambda o: o[0]), "caught"),
        "one query": (a_test(n_q=1), "caught"),
        "one key": (a_test(n_k=1), "caught"),
        "the mean": (a_test(look=lambda o: o.mean(axis=0)), "caught"),
        "scores of zero": (a_test(look=lambda o: o * 0), "caught 0"),
        "far too loose": (a_test(atol=10), "caught 0"),
        "exact": (a_test(atol=0), "float32"),
        "tiled": (a_test(repeat=tile), "refuses a right"),
    },
}
