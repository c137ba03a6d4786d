"""Right caches of keys and values, in the styles of several hands; caches.txt spoils them."""

import math

import numpy as np
import torch
from torch import nn


class GrowingCache:
    """Keys and values of a text, [B, H, n, d]."""

    def __init__(self):
        self.keys = None
        self.values = None

    def update(self, k, v):
        if self.keys is None:
            self.keys, self.values = k, v
        else:
            self.keys = torch.cat([self.keys, k], dim=2)
            self.values = torch.cat([self.values, v], dim=2)
        return self.keys, self.values


class LayerCache:
    """A list per layer, as large models have it."""

    def __init__(self):
        self.key_cache, self.value_cache = [], []

    def update(self, key_states, value_states, layer_idx):
        if len(self.key_cache) <= layer_idx:
            self.key_cache.append(key_states)
            self.value_cache.append(value_states)
        else:
            self.key_cache[layer_idx] = torch.cat([self.key_cache[layer_idx], key_states], dim=-2)
            self.value_cache[layer_idx] = torch.cat(
                [self.value_cache[layer_idx], value_states], dim=-2
            )
        return self.key_cache[layer_idx], self.value_cache[layer_idx]


class RoomCache(nn.Module):
    """A room of fixed size that is written into."""

    def __init__(self, max_batch, max_seq_len, n_heads, head_dim):
        super().__init__()
        self.register_buffer("k", torch.zeros(max_batch, n_heads, max_seq_len, head_dim))
        self.register_buffer("v", torch.zeros(max_batch, n_heads, max_seq_len, head_dim))

    def update(self, start_pos, k, v):
        end = start_pos + k.shape[2]
        self.k[: k.shape[0], :, start_pos:end] = k
        self.v[: v.shape[0], :, start_pos:end] = v
        return self.k[: k.shape[0], :, :end], self.v[: v.shape[0], :, :end]


class CachedLayer(nn.Module):
    """Causal self-attention that keeps its keys; pieces may have several tokens."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h, self.d = n_heads, d_model // n_heads
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, d_model, bias=False)
        self.wv = nn.Linear(d_model, d_model, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, cache=None):
        B, n, D = x.shape
        q, k, v = (
            w(x).view(B, n, self.h, self.d).transpose(1, 2) for w in (self.wq, self.wk, self.wv)
        )
        if cache is not None:
            past_k, past_v = cache
            k, v = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
        new = (k, v)
        seen = torch.ones(n, k.shape[2], dtype=torch.bool).tril(k.shape[2] - n)
        s = q @ k.transpose(-2, -1) / math.sqrt(self.d)
        s = s.masked_fill(~seen, -torch.inf)
        o = (s.softmax(-1) @ v).transpose(1, 2).reshape(B, n, D)
        return self.wo(o), new


class NumpyCache:
    """[n, d] rows, and attention of the newest token."""

    def __init__(self):
        self.k, self.v = [], []

    def step(self, q, k, v):
        self.k.append(k)
        self.v.append(v)
        K, V = np.stack(self.k), np.stack(self.v)
        s = K @ q / np.sqrt(len(q))
        w = np.exp(s - s.max())
        return (w / w.sum()) @ V
