"""Right layers of many heads, in the styles of several hands; many_heads.txt spoils them."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class FourLinears(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0):
        super().__init__()
        assert d_model % n_heads == 0
        self.h, self.d_k = n_heads, d_model // n_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None):
        B = q.size(0)
        q = self.w_q(q).view(B, -1, self.h, self.d_k).transpose(1, 2)
        k = self.w_k(k).view(B, -1, self.h, self.d_k).transpose(1, 2)
        v = self.w_v(v).view(B, -1, self.h, self.d_k).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        attn = self.drop(scores.softmax(-1))
        out = (attn @ v).transpose(1, 2).contiguous().view(B, -1, self.h * self.d_k)
        return self.w_o(out)


@dataclass
class Config:
    n_embd: int = 24
    n_head: int = 3
    block_size: int = 64
    dropout: float = 0.0
    bias: bool = False


class Fused(nn.Module):
    """Causal, q, k and v from one projection."""

    def __init__(self, config: Config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.n_head, self.n_embd = config.n_head, config.n_embd
        mask = torch.tril(torch.ones(config.block_size, config.block_size))
        self.register_buffer("seen", mask.view(1, 1, config.block_size, config.block_size))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.seen[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class Head(nn.Module):
    def __init__(self, d_in, d_head):
        super().__init__()
        self.query = nn.Linear(d_in, d_head, bias=False)
        self.key = nn.Linear(d_in, d_head, bias=False)
        self.value = nn.Linear(d_in, d_head, bias=False)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        T = x.shape[1]
        wei = q @ k.transpose(1, 2) * k.shape[-1] ** -0.5
        future = torch.triu(torch.ones(T, T, dtype=torch.bool), diagonal=1)
        wei = wei.masked_fill(future, -torch.inf)
        return F.softmax(wei, dim=-1) @ v


class HeadsInAList(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.heads = nn.ModuleList([Head(d_model, d_model // num_heads) for _ in range(num_heads)])
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        out = torch.cat([head(x) for head in self.heads], dim=-1)
        return self.proj(out)


class ValuesFirst(nn.Module):
    def __init__(self, embed_size, heads):
        super().__init__()
        self.heads, self.head_dim, self.embed_size = heads, embed_size // heads, embed_size
        self.values = nn.Linear(embed_size, embed_size)
        self.keys = nn.Linear(embed_size, embed_size)
        self.queries = nn.Linear(embed_size, embed_size)
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, values, keys, query, mask):
        N, n = query.shape[:2]
        v = self.values(values).reshape(N, -1, self.heads, self.head_dim)
        k = self.keys(keys).reshape(N, -1, self.heads, self.head_dim)
        q = self.queries(query).reshape(N, -1, self.heads, self.head_dim)
        energy = torch.einsum("nqhd,nkhd->nhqk", q, k)
        if mask is not None:
            energy = energy.masked_fill(mask == 0, float("-1e20"))
        attention = torch.softmax(energy / self.head_dim**0.5, dim=3)
        out = torch.einsum("nhql,nlhd->nqhd", attention, v).reshape(N, n, self.embed_size)
        return self.fc_out(out)


def with_four_matrices(x, W_q, W_k, W_v, W_o, n_heads):
    """Of [n, D] in NumPy, not causal."""
    n, D = x.shape
    d = D // n_heads
    q = (x @ W_q).reshape(n, n_heads, d).transpose(1, 0, 2)
    k = (x @ W_k).reshape(n, n_heads, d).transpose(1, 0, 2)
    v = (x @ W_v).reshape(n, n_heads, d).transpose(1, 0, 2)
    s = q @ k.transpose(0, 2, 1) / np.sqrt(d)
    e = np.exp(s - s.max(-1, keepdims=True))
    o = (e / e.sum(-1, keepdims=True)) @ v
    return o.transpose(1, 0, 2).reshape(n, D) @ W_o
