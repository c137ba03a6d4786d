"""Public attentions that are or were wrong, each with its cause."""

import math

import numpy as np
import torch
from torch import nn

from wild import UNNAMED, wild
from wild.axes import _cut, _join


@wild(
    "hyunwoongko/transformer",
    "models/layers/scale_dot_product_attention.py (2019-12 to 2022-12)",
    "attention",
    "mask too weak",
)
class HiddenByAlmostNothing(nn.Module):
    """Hidden scores become -1e-12."""

    def __init__(self):
        super().__init__()
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, q, k, v, mask=None, e=1e-12):
        s = q @ k.transpose(2, 3) / math.sqrt(k.size(-1))
        if mask is not None:
            s = s.where(mask != 0, torch.full_like(s, -e))
        s = self.softmax(s)
        return s @ v, s


@wild(
    "hyunwoongko/transformer",
    "models/layers/scale_dot_product_attention.py (before ee92100)",
    "multihead",
    "scaled by the model's width",
)
class ByTheModelsWidth(nn.Module):
    """(d_model, n_head): divided by √d_model."""

    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head, self.d_model = n_head, d_model
        self.w_q, self.w_k, self.w_v, self.w_concat = (
            nn.Linear(d_model, d_model) for _ in range(4)
        )

    def forward(self, q, k, v, mask=None):
        q, k, v = (
            _cut(self.w_q(q), self.n_head),
            _cut(self.w_k(k), self.n_head),
            _cut(self.w_v(v), self.n_head),
        )
        s = q @ k.mT / math.sqrt(self.d_model)
        if mask is not None:
            s = s.masked_fill(mask == 0, -10000)
        return self.w_concat(_join(s.softmax(-1) @ v))


@wild(
    "ajhalthor/Transformer-Neural-Network",
    "transformer.py (before f0963db)",
    "multihead",
    "heads joined without turning",
)
class JoinedAsTheyLie(nn.Module):
    """(d_model, num_heads), fused by head; [B, H, n, d] reshaped to [B, n, D]."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv_layer, self.linear_layer = (
            nn.Linear(d_model, 3 * d_model),
            nn.Linear(d_model, d_model),
        )

    def forward(self, x, mask=None):
        q, k, v = _cut(self.qkv_layer(x), self.num_heads).chunk(3, dim=-1)
        s = q @ k.mT / math.sqrt(q.size(-1))
        s = s if mask is None else s + mask
        return self.linear_layer((s.softmax(-1) @ v).reshape(x.shape))


@wild(
    "jadore801120/attention-is-all-you-need-pytorch",
    "transformer/SubLayers.py (144902a, 2017)",
    "attention",
    "scaled by another width",
)
class OldTemperature(nn.Module):
    """(d_model): (H B) texts; divided by √d_model, True hides."""

    def __init__(self, d_model=24, attn_dropout=0.1):
        super().__init__()
        self.temper, self.dropout = d_model**0.5, nn.Dropout(attn_dropout)

    def forward(self, q, k, v, attn_mask=None):
        s = q.bmm(k.transpose(1, 2)) / self.temper
        if attn_mask is not None:
            s = s.masked_fill(attn_mask, -float("inf"))
        s = self.dropout(s.softmax(2))
        return s.bmm(v), s


@wild(
    "aladdinpersson/Machine-Learning-Collection",
    "ML/Pytorch/more_advanced/transformer_from_scratch (3b8992f)",
    "multihead",
    "scaled by the model's width",
)
class SelfAttention(nn.Module):
    """(embed_size, heads); values, keys, query, mask; divided by √embed_size."""

    def __init__(self, embed_size, heads):
        super().__init__()
        self.heads, self.head_dim, self.embed_size = heads, embed_size // heads, embed_size
        self.values, self.keys, self.queries, self.fc_out = (
            nn.Linear(embed_size, embed_size) for _ in range(4)
        )

    def forward(self, values, keys, query, mask):
        v, k, q = (
            f(x).unflatten(2, (self.heads, -1))
            for f, x in ((self.values, values), (self.keys, keys), (self.queries, query))
        )
        s = torch.einsum("nqhd,nkhd->nhqk", q, k)
        if mask is not None:
            s = s.masked_fill(mask == 0, -1e20)
        w = (s / self.embed_size**0.5).softmax(3)
        return self.fc_out(torch.einsum("nhqk,nkhd->nqhd", w, v).flatten(2))


@wild(
    "sebastianvlad1/Transformer",
    "head.py, and ten copies of that lecture's code",
    "multihead",
    "scaled by the model's width",
)
class LectureHead(nn.Module):
    """(n_embd, head_size, block_size): C ** -0.5 with the width of x."""

    def __init__(self, n_embd, head_size, block_size):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(n_embd, head_size, bias=False) for _ in "kqv")
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())

    def forward(self, x):
        n, width = x.shape[1:]
        s = self.query(x) @ self.key(x).mT * width**-0.5
        s = s.masked_fill(self.tril[:n, :n] == 0, -torch.inf)
        return s.softmax(-1) @ self.value(x)


@wild(
    "huggingface/pytorch-image-models",
    "timm/models/eva.py (before 2024-07, #2236)",
    "attention",
    "mask after softmax",
)
def mask_too_late(q, k, v, attn_mask=None):
    """[B, H, n, d]: softmax first, then -inf."""
    w = (q * q.size(-1) ** -0.5 @ k.mT).softmax(-1)
    if attn_mask is not None:
        w = w.masked_fill(~attn_mask.bool(), -torch.inf)
    return w @ v


@wild("mlc-ai/mlc-llm", "the fallback of BGE (before 2026-02, #3426)", "attention", "not scaled")
def scale_left_at_one(q, k, v, scale=1.0):
    """[B, n, H, d], with a default scale of 1."""
    w = (torch.einsum("bihd,bjhd->bhij", q, k) * scale).softmax(-1)
    return torch.einsum("bhij,bjhd->bihd", w, v)


@wild("pytorch/executorch", "backends/vulkan (before 2026-03, #18407)", "softmax", "no maximum")
def by_the_book(x):
    """Float32, no maximum subtracted."""
    e = np.exp(x.astype(np.float32))
    return e / e.sum(axis=-1, keepdims=True)


@wild(UNNAMED, "a file of the code index", "attention", "mask after softmax")
def added_after(q, k, v, mask=None):
    """[B, H, n, d]: softmax, then the added mask."""
    w = (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1)
    w = w if mask is None else w + mask
    return w @ v


@wild(UNNAMED, "a file of the code index", "attention", "softmax over everything")
def over_everything(q, k, v):
    """NumPy [n, d]."""
    e = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    return e / e.sum() @ v


@wild(UNNAMED, "a file of the code index", "attention", "keys not transposed")
def numpy_transpose(q, k, v):
    """A line of torch in NumPy: transpose(-2, -1) of two axes keeps [n, d] as it is."""
    s = q @ np.transpose(k, (-2, -1)) / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


@wild(
    "Exorust/TorchLeet",
    "multi-head-attention-q5 (2026-06)",
    "multihead",
    "new weights in each call",
)
def multi_head_attention(q, k, v, num_heads, d_model):
    """A function that makes its linears itself, in each call."""
    q, k, v = (_cut(nn.Linear(d_model, d_model)(x), num_heads) for x in (q, k, v))
    w = (q @ k.mT / math.sqrt(d_model // num_heads)).softmax(-1)
    return nn.Linear(d_model, d_model)(_join(w @ v))


@wild(UNNAMED, "a file of the code index", "attention", "mask ignored")
def mask_never_kept(query, key, value, mask=None):
    """masked_fill returns a new tensor, which nobody keeps."""
    s = query @ key.mT / math.sqrt(query.size(-1))
    if mask is not None:
        s.masked_fill(mask == 0, -1e9)
    return s.softmax(-1) @ value
