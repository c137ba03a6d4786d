"""Layers with one projection for queries, keys and values, and layers of grouped heads."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from wild import wild
from wild.axes import _cut, _hidden_future, _join


@wild("karpathy/nanoGPT", "model.py", "multihead")
class CausalSelfAttention(nn.Module):
    """A config; q ∣ k ∣ v fused; SDPA with is_causal."""

    def __init__(self, config):
        super().__init__()
        width = config.n_embd
        self.c_attn = nn.Linear(width, 3 * width, bias=config.bias)
        self.c_proj = nn.Linear(width, width, bias=config.bias)
        self.resid_dropout, self.n_head, self.dropout = (
            nn.Dropout(config.dropout),
            config.n_head,
            config.dropout,
        )

    def forward(self, x):
        q, k, v = (_cut(y, self.n_head) for y in self.c_attn(x).chunk(3, dim=-1))
        p = self.dropout if self.training else 0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        return self.resid_dropout(self.c_proj(_join(y)))


@wild("karpathy/minGPT", "mingpt/model.py", "multihead")
class WithABuffer(nn.Module):
    """The same by hand, with a buffer of the whole context called bias."""

    def __init__(self, config):
        super().__init__()
        self.c_attn, self.c_proj = (
            nn.Linear(config.n_embd, 3 * config.n_embd),
            nn.Linear(config.n_embd, config.n_embd),
        )
        self.attn_dropout, self.resid_dropout = (
            nn.Dropout(config.attn_pdrop),
            nn.Dropout(config.resid_pdrop),
        )
        self.register_buffer("bias", torch.ones(1, 1, config.block_size, config.block_size).tril())
        self.n_head, self.n_embd = config.n_head, config.n_embd

    def forward(self, x):
        n = x.size(1)
        q, k, v = (_cut(y, self.n_head) for y in self.c_attn(x).split(self.n_embd, 2))
        s = q @ k.mT / math.sqrt(k.size(-1))
        s = s.masked_fill(self.bias[..., :n, :n] == 0, float("-inf"))
        return self.resid_dropout(self.c_proj(_join(self.attn_dropout(s.softmax(-1)) @ v)))


@wild("lucidrains/vit-pytorch", "vit_pytorch/vit.py", "multihead")
class Attention(nn.Module):
    """(dim, heads, dim_head, dropout); a norm before; heads may be wider than dim; not causal."""

    def __init__(self, dim, heads=8, dim_head=64, dropout=0.0):
        super().__init__()
        self.heads, self.scale = heads, dim_head**-0.5
        self.norm, self.attend, self.dropout = (
            nn.LayerNorm(dim),
            nn.Softmax(dim=-1),
            nn.Dropout(dropout),
        )
        self.to_qkv = nn.Linear(dim, 3 * heads * dim_head, bias=False)
        self.to_out = nn.Sequential(nn.Linear(heads * dim_head, dim), nn.Dropout(dropout))

    def forward(self, x):
        q, k, v = (_cut(y, self.heads) for y in self.to_qkv(self.norm(x)).chunk(3, -1))
        return self.to_out(_join(self.dropout(self.attend(q @ k.mT * self.scale)) @ v))


@wild("huggingface/pytorch-image-models", "timm/layers/attention.py", "multihead")
class OfImages(nn.Module):
    """(dim, num_heads, qkv_bias, …); q, k and v by a permutation of five axes."""

    def __init__(self, dim, num_heads=8, qkv_bias=False, attn_drop=0.0, proj_drop=0.0):
        super().__init__()
        self.num_heads, self.scale = num_heads, (dim // num_heads) ** -0.5
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=qkv_bias), nn.Linear(dim, dim)
        self.attn_drop, self.proj_drop = nn.Dropout(attn_drop), nn.Dropout(proj_drop)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        weights = self.attn_drop((q * self.scale @ k.transpose(-2, -1)).softmax(dim=-1))
        return self.proj_drop(self.proj((weights @ v).transpose(1, 2).reshape(B, N, C)))


@wild("ajhalthor/Transformer-Neural-Network", "transformer.py (after f0963db)", "multihead")
class PerHead(nn.Module):
    """(d_model, num_heads); fused head by head: q, k, v of head 0, then of head 1; added mask."""

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
        return self.linear_layer(_join(s.softmax(-1) @ v))


@wild("huggingface/transformers", "models/gpt_neox/modeling_gpt_neox.py", "attention")
def gpt_neox_eager(
    module, query, key, value, attention_mask, scaling, dropout=0.0, head_mask=None, **kwargs
):
    """The scale must be given; answers as [B, n, H, d]."""
    s = torch.einsum("bhid,bhjd->bhij", query, key) * scaling
    s = s if attention_mask is None else s + attention_mask[:, :, :, : key.shape[2]]
    w = F.dropout(s.softmax(-1), dropout, training=module.training)
    return torch.einsum("bhij,bhjd->bihd", w, value), w


@wild("ryansenn/byteGPT", "self_attention.py (stored version)", "multihead", "not scaled")
class NotScaled(nn.Module):
    """(n_embed, n_heads, block_size): the scores are not divided."""

    def __init__(self, n_embed, n_heads, block_size):
        super().__init__()
        self.n_heads = n_heads
        self.query, self.key, self.value, self.out = (nn.Linear(n_embed, n_embed) for _ in range(4))
        self.register_buffer("hidden", _hidden_future(block_size, block_size))

    def forward(self, x):
        q, k, v = (_cut(f(x), self.n_heads) for f in (self.query, self.key, self.value))
        s = (q @ k.mT).masked_fill(self.hidden[: x.size(1), : x.size(1)], -torch.inf)
        return self.out(_join(s.softmax(-1) @ v))


@wild(
    "jsbaan/transformer-from-scratch",
    "multi_head_attention.py (before 2026-03)",
    "multihead",
    "heads joined without turning",
)
class JoinedWithoutTurning(nn.Module):
    """(hidden_dim, num_heads); a fused projection, and heads that are joined as they lie."""

    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv_proj, self.o_proj = (
            nn.Linear(hidden_dim, 3 * hidden_dim),
            nn.Linear(hidden_dim, hidden_dim),
        )

    def forward(self, x):
        q, k, v = _cut(self.qkv_proj(x), self.num_heads).chunk(3, -1)
        s = (q @ k.mT / math.sqrt(q.size(-1))).masked_fill(
            _hidden_future(x.size(1), x.size(1)), -torch.inf
        )
        return self.o_proj((s.softmax(-1) @ v).reshape(x.shape))
