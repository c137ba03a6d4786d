"""Right answers to grouped attention, written differently."""

import numpy as np
import pytest

from attention_src.attention.reference import attention


# The worked solution, in the words of the chapter.
def grouped_attention(q, k, v, mask=None):
    H, H_kv = q.shape[-3], k.shape[-3]
    group = (*q.shape[:-3], H_kv, H // H_kv)  # [..., H_kv, r]
    if mask is not None:  # to [..., H, n_q, n_k], then as q
        mask = np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2]))
        mask = mask.reshape(*group, *mask.shape[-2:])
    q = q.reshape(*group, *q.shape[-2:])  # [..., H_kv, r, n_q, d_k]
    k, v = k[..., None, :, :], v[..., None, :, :]  # [..., H_kv, 1, n_k, d]
    o = attention(q, k, v, mask=mask)  # [..., H_kv, r, n_q, d_v]
    return o.reshape(*o.shape[:-4], H, *o.shape[-2:])


def full_mask(q, k, mask):
    return None if mask is None else np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2]))


def head_by_head(q, k, v, mask=None):
    r = q.shape[-3] // k.shape[-3]
    full = full_mask(q, k, mask)
    heads = [
        attention(
            q[..., h, :, :],
            k[..., h // r, :, :],
            v[..., h // r, :, :],
            mask=None if full is None else full[..., h, :, :],
        )
        for h in range(q.shape[-3])
    ]
    return np.stack(heads, axis=-3)


def by_rows(q, k, v, mask=None):
    H, H_kv, n_q = q.shape[-3], k.shape[-3], q.shape[-2]
    rows = (*q.shape[:-3], H_kv, H // H_kv * n_q)
    full = full_mask(q, k, mask)
    o = attention(
        q.reshape(*rows, q.shape[-1]),
        k,
        v,
        mask=None if full is None else full.reshape(*rows, k.shape[-2]),
    )
    return o.reshape(*q.shape[:-1], v.shape[-1])


def weights(s, mask):
    s = s if mask is None else np.where(mask, s, -np.inf)
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(m > -np.inf, m, 0))
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l > 0, l, 1)


def by_einsum(q, k, v, mask=None):
    H, H_kv = q.shape[-3], k.shape[-3]
    q5 = q.reshape(*q.shape[:-3], H_kv, H // H_kv, *q.shape[-2:])
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
    H_kv, r = k.shape[-3], q.shape[-3] // k.shape[-3]
    k, v = (
        np.broadcast_to(x[..., None, :, :], (*x.shape[:-3], H_kv, r, *x.shape[-2:])) for x in (k, v)
    )
    q5 = q.reshape(*k.shape[:-2], *q.shape[-2:])
    s = q5 @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    p = weights(s, None if mask is None else full_mask(q, k, mask).reshape(s.shape))
    return (p @ v).reshape(*q.shape[:-1], v.shape[-1])


def in_torch(q, k, v, mask=None):
    """By rows: torch copies what it broadcasts in a product."""
    torch = pytest.importorskip("torch")
    rows = torch.as_tensor(q).reshape(*q.shape[:-3], k.shape[-3], -1, q.shape[-1])
    s = rows @ torch.as_tensor(k).mT / q.shape[-1] ** 0.5
    if mask is not None:
        seen = torch.as_tensor(full_mask(q, k, mask).copy()).reshape(s.shape)
        s = s.masked_fill(~seen, -torch.inf)
    o = torch.nan_to_num(s.softmax(-1)) @ torch.as_tensor(v)
    return o.reshape(*q.shape[:-1], v.shape[-1])


def plain_mask(q, k, v, mask=None):
    """A mask without an axis for heads goes to `attention` as it is."""
    group = (*q.shape[:-3], k.shape[-3], -1, *q.shape[-2:])
    if mask is not None and mask.ndim > 2:
        mask = full_mask(q, k, mask)
        mask = mask.reshape(*group[:-1], mask.shape[-1])
    o = attention(q.reshape(group), k[..., None, :, :], v[..., None, :, :], mask=mask)
    return o.reshape(*q.shape[:-1], v.shape[-1])


RIGHT = {
    "worked solution": grouped_attention,
    "head by head": head_by_head,
    "rows": by_rows,
    "einsum": by_einsum,
    "group by group": group_by_group,
    "broadcast": broadcast,
    "torch": in_torch,
    "plain mask": plain_mask,
    "lists": lambda q, k, v, mask=None: grouped_attention(q, k, v, mask).tolist(),
}
