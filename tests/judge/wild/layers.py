"""Layers with a projection each for queries, keys and values."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from wild import wild
from wild.axes import _cut, _join

wild("pytorch/pytorch", "torch/nn/modules/activation.py", "multihead")(nn.MultiheadAttention)


@wild("harvardnlp/annotated-transformer", "the_annotated_transformer.py", "multihead")
class MultiHeadedAttention(nn.Module):
    """(h, d_model); four linears in one list; the mask gets an axis of heads."""

    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        self.h, self.attn = h, None
        self.linears = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        three = zip(self.linears, (query, key, value), strict=False)
        q, k, v = (_cut(linear(x), self.h) for linear, x in three)
        s = q @ k.mT / math.sqrt(q.size(-1))
        if mask is not None:
            s = s.masked_fill(mask[:, None] == 0, -1e9)
        self.attn = self.dropout(s.softmax(-1))
        return self.linears[3](_join(self.attn @ v))


@wild("hkproj/pytorch-transformer", "model.py", "multihead")
class MultiHeadAttentionBlock(nn.Module):
    """(d_model, h, dropout), all needed; names w_q to w_o; a mask [B, 1, n, n]."""

    def __init__(self, d_model: int, h: int, dropout: float) -> None:
        super().__init__()
        self.d_k, self.h = d_model // h, h
        self.w_q, self.w_k, self.w_v, self.w_o = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(4)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask):
        q, k, v = _cut(self.w_q(q), self.h), _cut(self.w_k(k), self.h), _cut(self.w_v(v), self.h)
        s = q @ k.transpose(2, 3) * self.d_k**-0.5
        if mask is not None:
            s.masked_fill_(mask == 0, -1e9)
        return self.w_o(_join(self.dropout(s.softmax(-1)) @ v))


@wild("SamLynnEvans/Transformer", "Sublayers.py", "multihead")
class HeadsFirst(nn.Module):
    """(heads, d_model); values stand second in the code, third in the call."""

    def __init__(self, heads, d_model, dropout=0.1):
        super().__init__()
        self.d_k, self.h = d_model // heads, heads
        self.q_linear, self.v_linear, self.k_linear = (nn.Linear(d_model, d_model) for _ in "qvk")
        self.dropout, self.out = nn.Dropout(dropout), nn.Linear(d_model, d_model)

    def forward(self, q, k, v, mask=None):
        k, q, v = (
            _cut(f(x), self.h)
            for f, x in zip((self.k_linear, self.q_linear, self.v_linear), (k, q, v), strict=False)
        )
        s = torch.einsum("bhid,bhjd->bhij", q, k) / self.d_k**0.5
        if mask is not None:
            s = s.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        return self.out(_join(self.dropout(F.softmax(s, -1)) @ v))


@wild("hyunwoongko/transformer", "models/layers/multi_head_attention.py", "multihead")
class WithAnAttention(nn.Module):
    """(d_model, n_head); the attention is a module of its own, w_concat the last projection."""

    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        for name in ("w_q", "w_k", "w_v", "w_concat"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def forward(self, q, k, v, mask=None):
        q, k, v = (
            _cut(self.w_q(q), self.n_head),
            _cut(self.w_k(k), self.n_head),
            _cut(self.w_v(v), self.n_head),
        )
        s = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])
        if mask is not None:
            s = s.masked_fill(mask == 0, -10000)
        return self.w_concat(_join(s.softmax(-1) @ v))


@wild(
    "labmlai/annotated_deep_learning_paper_implementations",
    "labml_nn/transformers/mha.py",
    "multihead",
)
class LengthFirst(nn.Module):
    """[n, B, D], keywords only; a mask [n, n, B]; scores [n, n, B, H]."""

    def __init__(self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True):
        super().__init__()
        self.heads, self.d_k = heads, d_model // heads
        self.query, self.key, self.value = (nn.Linear(d_model, d_model, bias=bias) for _ in "qkv")
        self.output, self.dropout = nn.Linear(d_model, d_model), nn.Dropout(dropout_prob)

    def forward(self, *, query, key, value, mask=None):
        q, k, v = (
            f(x).unflatten(-1, (self.heads, -1))
            for f, x in zip((self.query, self.key, self.value), (query, key, value), strict=False)
        )
        s = torch.einsum("ibhd,jbhd->ijbh", q, k) / math.sqrt(self.d_k)
        if mask is not None:
            s = s.masked_fill(mask[..., None] == 0, -torch.inf)
        return self.output(
            torch.einsum("ijbh,jbhd->ibhd", self.dropout(s.softmax(1)), v).flatten(2)
        )


@wild(
    "d2l-ai/d2l-en",
    "chapter_attention-mechanisms-and-transformers/multihead-attention.md",
    "multihead",
)
class OfLengths(nn.Module):
    """(num_hiddens, num_heads, dropout); lengths in place of a mask; heads become texts."""

    def __init__(self, num_hiddens, num_heads, dropout, bias=False):
        super().__init__()
        self.num_heads, self.dropout = num_heads, nn.Dropout(dropout)
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(num_hiddens, num_hiddens, bias=bias) for _ in range(4)
        )

    def forward(self, queries, keys, values, valid_lens=None):
        q, k, v = (
            _cut(f(x), self.num_heads).flatten(0, 1)
            for f, x in ((self.W_q, queries), (self.W_k, keys), (self.W_v, values))
        )
        s = q.bmm(k.mT) / math.sqrt(q.size(-1))
        if valid_lens is not None:
            lengths = valid_lens.repeat_interleave(self.num_heads, dim=0)
            lengths = lengths[:, None] if lengths.ndim == 1 else lengths
            s = s.masked_fill(torch.arange(k.size(1)) >= lengths[..., None], -1e6)
        out = self.dropout(s.softmax(-1)).bmm(v)
        return self.W_o(_join(out.unflatten(0, (-1, self.num_heads))))
