"""Right attentions in torch, in the styles of several hands; torch_attention.txt spoils them."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def returns_weights(query, key, value, mask=None, dropout=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p = F.softmax(scores, dim=-1)
    if dropout is not None:
        p = dropout(p)
    return torch.matmul(p, value), p


def true_hides(q, k, v, attn_mask=None):
    """Of [B, n, H, d]; True in the mask hides."""
    s = torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    if attn_mask is not None:
        s = s.masked_fill(attn_mask, float("-inf"))
    return torch.einsum("bhqk,bkhd->bqhd", s.softmax(-1), v)


def causal_torch(q, k, v):
    T, S = q.size(-2), k.size(-2)
    tril = torch.ones(T, S, device=q.device).tril()
    wei = q @ k.transpose(-1, -2) * k.size(-1) ** -0.5
    wei = wei.masked_fill(tril == 0, float("-inf"))
    wei = torch.softmax(wei, dim=-1)
    return wei @ v


def sdpa_by_hand(query, key, value, attn_mask=None, is_causal=False, scale=None):
    L, S = query.size(-2), key.size(-2)
    factor = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    bias = torch.zeros(L, S, dtype=query.dtype)
    if is_causal:
        bias = bias.masked_fill(
            torch.ones(L, S, dtype=torch.bool).tril(0).logical_not(), -torch.inf
        )
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            bias = bias + torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(
                ~attn_mask, -torch.inf
            )
        else:
            bias = bias + attn_mask
    w = query @ key.transpose(-2, -1) * factor + bias
    return torch.softmax(w, dim=-1) @ value


class DotProduct(nn.Module):
    def __init__(self, temperature=None, attn_dropout=0.0):
        super().__init__()
        self.temperature = temperature
        self.dropout = nn.Dropout(attn_dropout)

    def forward(self, q, k, v, mask=None):
        attn = torch.bmm(q, k.transpose(1, 2))
        attn = attn / (self.temperature or q.size(2) ** 0.5)
        if mask is not None:
            attn = attn.masked_fill(mask, -torch.inf)
        attn = self.dropout(attn.softmax(2))
        return torch.bmm(attn, v), attn
