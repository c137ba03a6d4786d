"""Layers of lectures and libraries, with a projection each."""

import math

import torch
from torch import nn

from wild import UNNAMED, wild
from wild.axes import _cut, _hidden_future, _join


@wild("rasbt/LLMs-from-scratch", "ch03/01_main-chapter-code/ch03.ipynb", "multihead")
class MultiHeadAttention(nn.Module):
    """(d_in, d_out, context_length, dropout, num_heads); causal by itself; hidden, then scaled."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query, self.W_key, self.W_value = (
            nn.Linear(d_in, d_out, bias=qkv_bias) for _ in "qkv"
        )
        self.out_proj, self.dropout = nn.Linear(d_out, d_out), nn.Dropout(dropout)
        self.register_buffer("mask", _hidden_future(context_length, context_length))

    def forward(self, x):
        n = x.shape[1]
        q, k, v = (_cut(f(x), self.num_heads) for f in (self.W_query, self.W_key, self.W_value))
        s = (q @ k.mT).masked_fill(self.mask[:n, :n], -torch.inf)
        return self.out_proj(_join(self.dropout((s / self.head_dim**0.5).softmax(-1)) @ v))


@wild("rasbt/LLMs-from-scratch", "ch03/01_main-chapter-code/ch03.ipynb", "multihead")
class SelfAttention_v1(nn.Module):
    """(d_in, d_out); one head, [n, D], parameters instead of linears, not causal."""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (
            nn.Parameter(torch.rand(d_in, d_out)) for _ in "qkv"
        )

    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return (q @ k.T / k.shape[-1] ** 0.5).softmax(-1) @ v


@wild("karpathy/ng-video-lecture", "gpt.py", "multihead")
class Heads(nn.Module):
    """A list of heads with tril of the whole context; sizes come from globals."""

    def __init__(self, num_heads, head_size):
        super().__init__()
        self.heads = nn.ModuleList(OneHead(head_size) for _ in range(num_heads))
        self.proj, self.dropout = nn.Linear(head_size * num_heads, n_embd), nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.proj(torch.cat([h(x) for h in self.heads], -1)))


n_embd, block_size, dropout = 24, 32, 0.0


class OneHead(nn.Module):
    def __init__(self, head_size):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(n_embd, head_size, bias=False) for _ in "kqv")
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())

    def forward(self, x):
        n = x.size(1)
        k, q, v = self.key(x), self.query(x), self.value(x)
        s = (q @ k.mT * k.size(-1) ** -0.5).masked_fill(self.tril[:n, :n] == 0, -torch.inf)
        return s.softmax(-1) @ v


@wild("openai/whisper", "whisper/model.py", "multihead")
class FourthRoots(nn.Module):
    """(n_state, n_head); q and k get a fourth root each; added mask; scores returned."""

    def __init__(self, n_state: int, n_head: int):
        super().__init__()
        self.n_head = n_head
        self.query, self.value, self.out = (nn.Linear(n_state, n_state) for _ in range(3))
        self.key = nn.Linear(n_state, n_state, bias=False)

    def forward(self, x, xa=None, mask=None, kv_cache=None):
        given = x if xa is None else xa
        q, k, v = (
            _cut(self.query(x), self.n_head),
            _cut(self.key(given), self.n_head),
            _cut(self.value(given), self.n_head),
        )
        root = q.size(-1) ** -0.25
        s = (q * root) @ (k * root).mT
        if mask is not None:
            s = s + mask[: x.size(1), : x.size(1)]
        s = s.float()
        return self.out(_join(s.softmax(-1).to(q.dtype) @ v)), s.detach()


@wild("xmu-xiaoma666/External-Attention-pytorch", "model/attention/SelfAttention.py", "multihead")
class OfFourSizes(nn.Module):
    """(d_model, d_k, d_v, h); True hides; weights to multiply besides."""

    def __init__(self, d_model, d_k, d_v, h, dropout=0.1):
        super().__init__()
        self.fc_q, self.fc_k = nn.Linear(d_model, h * d_k), nn.Linear(d_model, h * d_k)
        self.fc_v, self.fc_o = nn.Linear(d_model, h * d_v), nn.Linear(h * d_v, d_model)
        self.dropout, self.h, self.d_k = nn.Dropout(dropout), h, d_k

    def forward(self, queries, keys, values, attention_mask=None, attention_weights=None):
        q, k, v = (
            _cut(self.fc_q(queries), self.h),
            _cut(self.fc_k(keys), self.h),
            _cut(self.fc_v(values), self.h),
        )
        s = q @ k.mT / math.sqrt(self.d_k)
        if attention_weights is not None:
            s = s * attention_weights
        if attention_mask is not None:
            s = s.masked_fill(attention_mask, -torch.inf)
        return self.fc_o(_join(self.dropout(s.softmax(-1)) @ v))


@wild("huggingface/transformers", "models/bert/modeling_bert.py (of 2020)", "multihead")
class BertSelfAttention(nn.Module):
    """A config; x and an added mask [B, 1, 1, n]; no last projection; a tuple."""

    def __init__(self, config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.query, self.key, self.value = (
            nn.Linear(config.hidden_size, config.hidden_size) for _ in "qkv"
        )
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def forward(self, hidden_states, attention_mask=None, output_attentions=False):
        q, k, v = (_cut(f(hidden_states), self.heads) for f in (self.query, self.key, self.value))
        s = q @ k.mT / math.sqrt(q.size(-1))
        if attention_mask is not None:
            s = s + attention_mask
        w = self.dropout(s.softmax(-1))
        return (_join(w @ v), w) if output_attentions else (_join(w @ v),)


@wild("karpathy/minGPT", "mingpt/model.py (of 2020)", "multihead")
class ThreeLinears(nn.Module):
    """A config with n_embd, n_head, block_size, two dropouts; key, query, value; causal."""

    def __init__(self, config):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(config.n_embd, config.n_embd) for _ in "kqv")
        self.attn_drop, self.resid_drop = (
            nn.Dropout(config.attn_pdrop),
            nn.Dropout(config.resid_pdrop),
        )
        self.proj, self.n_head = nn.Linear(config.n_embd, config.n_embd), config.n_head
        seen = torch.ones(config.block_size, config.block_size).tril()
        self.register_buffer("mask", seen[None, None])

    def forward(self, x, layer_past=None):
        n = x.size(1)
        k, q, v = (_cut(f(x), self.n_head) for f in (self.key, self.query, self.value))
        s = q @ k.mT * (1 / math.sqrt(k.size(-1)))
        s = s.masked_fill(self.mask[:, :, :n, :n] == 0, -1e10)
        return self.resid_drop(self.proj(_join(self.attn_drop(s.softmax(-1)) @ v)))


@wild(UNNAMED, "a file of the code index", "multihead")
def with_four_weights(x, Wq, Wk, Wv, Wo, num_heads, mask=None):
    """A function of x and four matrices, torch, [B, n, D]."""
    q, k, v = (_cut(x @ w, num_heads) for w in (Wq, Wk, Wv))
    s = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        s = s.masked_fill(mask == 0, float("-inf"))
    return _join(s.softmax(-1) @ v) @ Wo
