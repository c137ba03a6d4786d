"""Rotations: pairs of halves or of neighbours, tables or complex numbers."""

import numpy as np
import torch
from torch import nn

from wild import RIGHT, wild


def _half(x):
    """(a, b) to (-b, a), of halves."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat([b.neg(), a], dim=-1)


@wild("huggingface/transformers", "models/llama/modeling_llama.py", "rope")
def apply_rotary_pos_emb(q, k, cos, sin, position_ids=None, unsqueeze_dim=1):
    """Tables [B, n, d] get an axis of heads inside."""
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return cos * q + sin * _half(q), cos * k + sin * _half(k)


@wild("huggingface/transformers", "models/gptj/modeling_gptj.py", "rope")
def apply_to_neighbours(tensor, sin, cos):
    """The sine first; tables [B, n, d / 2] are doubled; [B, n, H, d]."""
    sin, cos = (t[:, :, None].repeat_interleave(2, dim=3) for t in (sin, cos))
    other = torch.stack((tensor[..., 1::2].neg(), tensor[..., ::2]), dim=-1).flatten(-2)
    return cos * tensor + sin * other


@wild("Lightning-AI/litgpt", "litgpt/model.py", "rope")
def apply_rope(x, cos, sin):
    """[B, H, n, d] and tables [n, d] or [B, n, d]."""
    if cos.dim() == 3:
        cos, sin = cos[:, None], sin[:, None]
    return (cos * x + sin * _half(x)).to(x.dtype)


@wild("karpathy/nanochat", "nanochat/gpt.py", "rope")
def turned_the_other_way(x, cos, sin):
    """[B, n, H, d], tables [1, n, 1, d / 2]; by minus the angle."""
    assert x.ndim == 4
    a, b = torch.tensor_split(x, 2, dim=3)
    return torch.cat((cos * a + sin * b, cos * b - sin * a), dim=3)


@wild("meta-llama/llama", "llama/model.py", "rope")
def apply_rotary_emb(xq, xk, freqs_cis):
    """Complex factors [n, d / 2]; [B, n, H, d]; neighbours."""
    factor = freqs_cis[None, :, None]
    turned = (
        torch.view_as_complex(x.float().unflatten(-1, (-1, 2)).contiguous()) * factor
        for x in (xq, xk)
    )
    q, k = (torch.view_as_real(z).flatten(-2) for z in turned)
    return q.to(xq), k.to(xk)


@wild("likejazz/llama3.np", "llama3.py", "rope")
def rotary_in_numpy(xq, xk, freqs_cos, freqs_sin):
    """NumPy, [B, n, H, d], tables [n, d / 2], neighbours."""
    cos, sin = freqs_cos[None, :, None], freqs_sin[None, :, None]

    def turn(x):
        pairs = x.reshape(*x.shape[:-1], -1, 2)
        a, b = pairs[..., 0], pairs[..., 1]
        return np.stack((cos * a - sin * b, cos * b + sin * a), axis=-1).reshape(x.shape)

    return turn(xq), turn(xk)


@wild("stanford-cs336/assignment1-basics (solutions)", "cs336_basics/model.py", "rope")
class RotaryPositionalEmbedding(nn.Module):
    """(theta, d_k, max_seq_len)(x, token_positions); neighbours."""

    def __init__(self, theta: float, d_k: int, max_seq_len: int, device=None):
        super().__init__()
        powers = torch.arange(d_k // 2, device=device) * 2.0 / d_k
        table = torch.arange(max_seq_len, device=device)[:, None] * theta**-powers
        self.register_buffer("table", torch.polar(torch.ones_like(table), table), persistent=False)

    def forward(self, x, token_positions):
        z = torch.complex(x[..., 0::2], x[..., 1::2]) * self.table[token_positions]
        return torch.stack((z.real, z.imag), dim=-1).reshape(x.shape)


@wild(
    "labmlai/annotated_deep_learning_paper_implementations",
    "labml_nn/transformers/rope/__init__.py",
    "rope",
)
class RotaryOfHalves(nn.Module):
    """(d, base); [n, B, H, d], positions by place, a table that is kept."""

    def __init__(self, d: int, base: int = 10_000):
        super().__init__()
        self.base, self.d = base, d

    def forward(self, x):
        n = x.shape[0]
        rates = self.base ** -(torch.arange(0, self.d, 2).to(x) / self.d)
        angle = torch.outer(torch.arange(n).to(x), rates).repeat(1, 2)[:, None, None]
        return x * angle.cos() + _half(x) * angle.sin()


@wild("rasbt/LLMs-from-scratch", "ch05/07_gpt_to_llama", "rope")
def compute_rope(x, cos, sin):
    """[B, H, n, d], tables [context, d] cut inside."""
    n, _d = x.shape[-2:]
    return (x * cos[None, None, :n] + _half(x) * sin[None, None, :n]).to(dtype=x.dtype)


@wild("skyzh/tiny-llm", "src/tiny_llm/positional_encoding.py", "rope")
class RoPE:
    """(dims, seq_len, base, traditional)(x, offset); NumPy here; [B, n, H, d]."""

    def __init__(self, dims, seq_len, base=10000, traditional=False):
        self.traditional = traditional
        angle = np.outer(np.arange(seq_len), base ** -(np.arange(0, dims, 2) / dims))
        self.cos, self.sin = np.cos(angle), np.sin(angle)

    def __call__(self, x, offset=None):
        n = x.shape[1]
        rows = slice(0, n) if offset is None else offset
        cos, sin = self.cos[rows][None, :, None], self.sin[rows][None, :, None]
        if self.traditional:
            a, b = x[..., ::2], x[..., 1::2]
            return np.stack((a * cos - b * sin, a * sin + b * cos), -1).reshape(x.shape)
        a, b = np.split(x, 2, axis=-1)
        return np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)


@wild("huggingface/transformers", "models/llama/modeling_llama.py", "cache", expected=RIGHT)
class DynamicCache:
    """update(key_states, value_states, layer_idx): all so far."""

    def __init__(self):
        self.layers = {}

    def update(self, key_states, value_states, layer_idx, cache_kwargs=None):
        if layer_idx in self.layers:
            before = self.layers[layer_idx]
            key_states, value_states = (
                torch.cat(pair, -2) for pair in zip(before, (key_states, value_states), strict=True)
            )
        self.layers[layer_idx] = key_states, value_states
        return key_states, value_states

    def get_seq_length(self, layer_idx=0):
        return self.layers[layer_idx][0].shape[-2] if layer_idx in self.layers else 0


@wild("hkproj/pytorch-paligemma (and eljandoubi/PaliGemma)", "modeling_gemma.py", "cache")
class ListCache:
    """Two lists by layer."""

    def __init__(self) -> None:
        self.key_cache, self.value_cache = [], []

    def num_items(self) -> int:
        return self.key_cache[0].shape[-2] if self.key_cache else 0

    def update(self, key_states, value_states, layer_idx: int):
        if layer_idx == len(self.key_cache):
            self.key_cache.append(key_states), self.value_cache.append(value_states)
        else:
            for store, new in ((self.key_cache, key_states), (self.value_cache, value_states)):
                store[layer_idx] = torch.cat((store[layer_idx], new), dim=-2)
        return self.key_cache[layer_idx], self.value_cache[layer_idx]


@wild("Lightning-AI/litgpt", "litgpt/model.py", "cache")
class KVCache(nn.Module):
    """(k_shape, v_shape); (input_pos, k, v) gives the whole room."""

    def __init__(self, k_shape, v_shape, device=None, dtype=None):
        super().__init__()
        self.register_buffer(
            "k", torch.zeros(k_shape, device=device, dtype=dtype), persistent=False
        )
        self.register_buffer(
            "v", torch.zeros(v_shape, device=device, dtype=dtype), persistent=False
        )

    def forward(self, input_pos, k, v):
        for store, new in ((self.k, k), (self.v, v)):
            store.to(new.dtype).index_copy_(2, input_pos, new)
        return self.k, self.v


@wild("skyzh/tiny-llm", "src/tiny_llm/kv_cache.py", "cache")
class TinyKvFullCache:
    """update_and_fetch(key, value): keys, values, and more."""

    def __init__(self):
        self.key_values, self.offset = None, 0

    def update_and_fetch(self, key, value, mask_length=None, mask=None):
        new = (key, value)
        if self.key_values is not None:
            new = tuple(np.concatenate(two, 2) for two in zip(self.key_values, new, strict=True))
        self.key_values, self.offset = new, self.offset + key.shape[2]
        return *new, self.offset, mask
