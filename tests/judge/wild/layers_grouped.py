"""Layers of grouped heads."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from wild import VARIANT, wild
from wild.axes import _cut, _join


def _turn(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


@wild("rasbt/LLMs-from-scratch", "ch05/07_gpt_to_llama (Llama 3)", "grouped")
class GroupedQueryAttention(nn.Module):
    """(d_in, d_out, num_heads, num_kv_groups); True hides; cos and sin [n, d]."""

    def __init__(self, d_in, d_out, num_heads, num_kv_groups, dtype=None):
        super().__init__()
        self.num_heads, self.num_kv_groups, self.head_dim = (
            num_heads,
            num_kv_groups,
            d_out // num_heads,
        )
        inner = num_kv_groups * self.head_dim
        self.W_key, self.W_value = (nn.Linear(d_in, inner, bias=False, dtype=dtype) for _ in "kv")
        self.W_query = nn.Linear(d_in, d_out, bias=False, dtype=dtype)
        self.out_proj = nn.Linear(d_out, d_out, bias=False, dtype=dtype)

    def forward(self, x, mask, cos, sin):
        n = x.shape[1]
        q, k, v = (
            _cut(self.W_query(x), self.num_heads),
            _cut(self.W_key(x), self.num_kv_groups),
            _cut(self.W_value(x), self.num_kv_groups),
        )
        q, k = _turn(q, cos[:n], sin[:n]), _turn(k, cos[:n], sin[:n])
        k, v = (y.repeat_interleave(self.num_heads // self.num_kv_groups, dim=1) for y in (k, v))
        s = (q @ k.mT).masked_fill(mask[:n, :n], -torch.inf)
        return self.out_proj(_join((s / self.head_dim**0.5).softmax(-1) @ v))


class _Grouped(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.h, self.g, self.d = (
            config.n_head,
            config.n_query_groups,
            config.n_embd // config.n_head,
        )
        self.config = config
        self.qkv = nn.Linear(config.n_embd, (self.h + 2 * self.g) * self.d, bias=config.bias)
        self.proj = nn.Linear(self.h * self.d, config.n_embd, bias=config.bias)


@wild("Lightning-AI/litgpt", "litgpt/model.py", "grouped")
class OfLitgpt(_Grouped):
    """A config and the number of the block; fused q ∣ k ∣ v of two widths; cos, sin; True = may."""

    def __init__(self, config, block_idx):
        super().__init__(config)
        self.block_idx = block_idx

    def forward(self, x, cos, sin, mask=None, input_pos=None, input_pos_maxp1=None):
        q, k, v = self.qkv(x).split((self.h * self.d, self.g * self.d, self.g * self.d), -1)
        q, k, v = _cut(q, self.h), _cut(k, self.g), _cut(v, self.g)
        q, k = _turn(q, cos, sin), _turn(k, cos, sin)
        k, v = (y.repeat_interleave(self.h // self.g, dim=1) for y in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        return self.proj(_join(y))


@wild("karpathy/nanochat", "nanochat/gpt.py (2025)", "grouped", VARIANT)
class OfNanochat(nn.Module):
    """A config and the number of the layer; rotated the other way, then q and k are normed."""

    def __init__(self, config, layer_idx):
        super().__init__()
        self.n_head, self.n_kv_head = config.n_head, config.n_kv_head
        d = config.n_embd // config.n_head
        self.c_q = nn.Linear(config.n_embd, self.n_head * d, bias=False)
        self.c_k, self.c_v = (
            nn.Linear(config.n_embd, self.n_kv_head * d, bias=False) for _ in "kv"
        )
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=False)

    def forward(self, x, cos_sin, kv_cache):
        q, k, v = (self.c_q(x), self.c_k(x), self.c_v(x))
        q, k, v = (
            q.unflatten(2, (self.n_head, -1)),
            *(y.unflatten(2, (self.n_kv_head, -1)) for y in (k, v)),
        )
        q, k = (F.rms_norm(_back(y, *cos_sin), (y.size(-1),)) for y in (q, k))
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.c_proj(_join(y))


def _back(x, cos, sin):
    a, b = x.chunk(2, 3)
    return torch.cat((a * cos + b * sin, b * cos - a * sin), 3)


@wild("huggingface/transformers", "models/llama/modeling_llama.py (of 2023)", "grouped")
class LlamaAttention(nn.Module):
    """A config; q_proj to o_proj; position_embeddings; added mask; a tuple."""

    def __init__(self, config, layer_idx=None):
        super().__init__()
        self.h, self.g = config.num_attention_heads, config.num_key_value_heads
        self.head_dim = config.hidden_size // self.h
        self.q_proj = nn.Linear(config.hidden_size, self.h * self.head_dim, bias=False)
        self.k_proj, self.v_proj = (
            nn.Linear(config.hidden_size, self.g * self.head_dim, bias=False) for _ in "kv"
        )
        self.o_proj = nn.Linear(self.h * self.head_dim, config.hidden_size, bias=False)

    def forward(self, hidden_states, position_embeddings, attention_mask=None, past_key_value=None):
        q, k, v = (
            _cut(self.q_proj(hidden_states), self.h),
            _cut(self.k_proj(hidden_states), self.g),
            _cut(self.v_proj(hidden_states), self.g),
        )
        q, k = (_turn(y, *position_embeddings) for y in (q, k))
        k, v = (y.repeat_interleave(self.h // self.g, 1) for y in (k, v))
        s = q @ k.mT / math.sqrt(self.head_dim)
        if attention_mask is not None:
            s = s + attention_mask[..., : k.size(2)]
        w = F.softmax(s, dim=-1, dtype=torch.float32).to(q.dtype)
        return self.o_proj(_join(w @ v)), w
