"""Right attentions of grouped heads; grouped.txt spoils them."""

import math

import numpy as np
import torch
from torch import nn


def repeat_interleaved(q, k, v, mask=None):
    """q [B, H, n, d], k and v [B, G, n, d]; additive mask."""
    groups = q.shape[1] // k.shape[1]
    k = k.repeat_interleave(groups, dim=1)
    v = v.repeat_interleave(groups, dim=1)
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        s = s + mask
    return torch.softmax(s, dim=-1) @ v


def folded(q, k, v):
    """NumPy, without a copy of k and v."""
    B, H, n, d = q.shape
    G = k.shape[1]
    q = q.reshape(B, G, H // G, n, d)
    s = np.einsum("bgrqd,bgkd->bgrqk", q, k) / np.sqrt(d)
    w = np.exp(s - s.max(axis=-1, keepdims=True))
    w /= w.sum(axis=-1, keepdims=True)
    return np.einsum("bgrqk,bgkd->bgrqd", w, v).reshape(B, H, n, v.shape[-1])


def repeat_kv(x, n_rep):
    B, G, n, d = x.shape
    return x[:, :, None].expand(B, G, n_rep, n, d).reshape(B, G * n_rep, n, d)


class GroupedLayer(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        self.H, self.G, self.d = num_heads, num_kv_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, self.H * self.d, bias=False)
        self.k_proj = nn.Linear(d_model, self.G * self.d, bias=False)
        self.v_proj = nn.Linear(d_model, self.G * self.d, bias=False)
        self.o_proj = nn.Linear(self.H * self.d, d_model, bias=False)

    def forward(self, x):
        B, n, _ = x.shape
        q = self.q_proj(x).view(B, n, self.H, self.d).transpose(1, 2)
        k = self.k_proj(x).view(B, n, self.G, self.d).transpose(1, 2)
        v = self.v_proj(x).view(B, n, self.G, self.d).transpose(1, 2)
        k, v = repeat_kv(k, self.H // self.G), repeat_kv(v, self.H // self.G)
        s = q @ k.mT / self.d**0.5
        s = s.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -torch.inf)
        o = (s.softmax(-1) @ v).transpose(1, 2).reshape(B, n, -1)
        return self.o_proj(o)


def head_by_head(queries, keys, values):
    """NumPy, loops: heads first, [H, n, d] and [G, n, d]."""
    out = []
    per_group = len(queries) // len(keys)
    for h, q in enumerate(queries):
        k, v = keys[h // per_group], values[h // per_group]
        s = q @ k.T / np.sqrt(q.shape[-1])
        e = np.exp(s - s.max(axis=1, keepdims=True))
        out.append(e / e.sum(axis=1, keepdims=True) @ v)
    return np.stack(out)
