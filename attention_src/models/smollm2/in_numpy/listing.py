"""SmolLM2's forward pass in NumPy, from token ids to logits: the whole of it, to be read.

    model = load(raw)  # in_numpy.weights: the bytes of the file
    storage = Storage.empty(model.config, capacity=100)
    forward(model, model.tokenizer.encode("The capital of France is"), storage)  # [5, 49152]

Each layer adds what attention and what a small network make of its input:

    x = x + attention(rms_norm(x)) W_o,  x = x + swiglu(rms_norm(x))
    logits = rms_norm(x) W_u
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from attention_src.models.smollm2.config import Config
from attention_src.models.smollm2.in_numpy.weights import Model

Array = np.ndarray


@dataclass
class Storage:
    """Keys and values of the first `length` tokens, [n_layers, 1, H_kv, capacity, d_head] each."""

    keys: Array
    values: Array
    length: int = 0

    @classmethod
    def empty(cls, c: Config, capacity: int) -> "Storage":
        """Storage without a token.

        Args:
            c: the model's sizes
            capacity: room for this many tokens
        Returns: a Storage
        """
        shape = (c.n_layers, 1, c.n_kv_heads, capacity, c.d_head)
        return cls(np.zeros(shape, np.float32), np.zeros(shape, np.float32))


def forward(
    model: Model, ids: Sequence[int], storage: Storage, parts: Any = None, *, last: bool = False
) -> Array:
    """What the model expects after each token.

    Args:
        model: from `weights.load`
        ids: [n]  token ids, which follow those that storage holds
        storage: keys and values so far; those of ids are added
        parts: with the functions below, such as a `learner.dispatch.Parts`; None = OURS
        last: True = of the last token only
    Returns: logits, float32 [n, n_vocabulary]; with last, n = 1
    """
    c, parts, start = model.config, parts or OURS, storage.length
    positions = np.arange(start, start + len(ids))
    visible = np.tri(len(ids), start + len(ids), start, dtype=bool)  # [n, start + n]
    x = model.embed(ids)[None]  # [1, n, d_model]: a batch of one text
    for l, layer in enumerate(model.layers):
        h = rms_norm(x, layer.attention_norm, c.epsilon)
        q, k, v = parts.project(h, layer.q, layer.k, layer.v)  # [1, n, H d], twice [1, n, H_kv d]
        q = parts.split_heads(q, c.n_heads)  # [1, H, n, d]
        k, v = parts.split_heads(k, c.n_kv_heads), parts.split_heads(v, c.n_kv_heads)
        q, k = parts.rotate(q, positions, c.rope_base), parts.rotate(k, positions, c.rope_base)
        keys, values = parts.append_and_read(storage.keys[l], storage.values[l], start, k, v)
        o = parts.grouped_attention(q, keys, values, visible)  # [1, H, n, d]
        if last and l == c.n_layers - 1:
            x, o = x[:, -1:], o[:, :, -1:]  # from here on only the last token is needed
        o = parts.merge_heads(o).astype(np.float32, copy=False)  # a part may give float64
        x = x + o @ layer.output
        h = rms_norm(x, layer.ffn_norm, c.epsilon)
        x = x + (silu(h @ layer.gate) * (h @ layer.up)) @ layer.down
    storage.length += len(ids)
    return (rms_norm(x, model.final_norm, c.epsilon) @ model.unembedding)[0]


def rms_norm(x: Array, gain: Array, epsilon: float) -> Array:
    """As `multihead.reference.rms_norm`, in float32."""
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(epsilon)) * gain


def silu(x: Array) -> Array:
    """As `torch.nn.functional.silu`: x where it is large, near 0 where it is negative."""
    with np.errstate(over="ignore"):  # 1 / (1 + inf) is 0, as it should be
        return x / (1 + np.exp(-x))


def project(x: Array, w_q: Array, w_k: Array, w_v: Array) -> tuple[Array, Array, Array]:
    """As `learner.defaults.project`: queries, keys and values of every token."""
    return x @ w_q, x @ w_k, x @ w_v


def split_heads(x: Array, n_heads: int) -> Array:
    """As `multihead.reference.split_heads`: [..., n, H d] -> [..., H, n, d]."""
    return x.reshape(*x.shape[:-1], n_heads, -1).swapaxes(-2, -3)


def merge_heads(x: Array) -> Array:
    """As `multihead.reference.merge_heads`: [..., H, n, d] -> [..., n, H d]."""
    return x.swapaxes(-2, -3).reshape(*x.shape[:-3], x.shape[-2], -1)


def rotate(x: Array, positions: Array, base: float) -> Array:
    """As `rope.reference.rotate`: each pair (i, i + d / 2) turned by its angle."""
    half = x.shape[-1] // 2
    angle = positions[:, None] * base ** (-np.arange(half) / half)  # [n, d / 2]
    cos, sin = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def append_and_read(
    keys: Array, values: Array, length: int, k: Array, v: Array
) -> tuple[Array, Array]:
    """As `learner.defaults.append_and_read`: the new ones behind the first `length`, then all."""
    end = length + k.shape[-2]
    keys[..., length:end, :], values[..., length:end, :] = k, v
    return keys[..., :end, :], values[..., :end, :]


def grouped_attention(q: Array, k: Array, v: Array, mask: Array) -> Array:
    """As `learner.dispatch.Parts.grouped_attention`: r query heads share one key/value head."""
    *batch, H, n, d = q.shape
    q = q.reshape(*batch, k.shape[-3], -1, n, d)  # [..., H_kv, r, n, d]
    s = q @ k[..., None, :, :].swapaxes(-1, -2) * np.float32(d**-0.5)  # [..., H_kv, r, n, n_k]
    return (softmax(np.where(mask, s, -np.inf)) @ v[..., None, :, :]).reshape(*batch, H, n, d)


def softmax(s: Array) -> Array:
    """As `softmax.reference.softmax`, for rows that see something."""
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


OURS = SimpleNamespace(
    project=project,
    split_heads=split_heads,
    rotate=rotate,
    append_and_read=append_and_read,
    grouped_attention=grouped_attention,
    merge_heads=merge_heads,
)
