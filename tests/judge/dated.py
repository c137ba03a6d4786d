"""The dated bugs of "It happened" that are about values of an attention, as functions of our own.

DATED holds (what the page's source says, kind, part of the name by which the judge must call it,
function). Bugs of other things (a linear attention, a search, a sampler, costs, state-space models,
addresses of 32 bits, updates of weights) are not among them.
"""

import math

import numpy as np
import torch
from torch import nn

DATED = []


def dated(source, kind, key):
    """Keep what stands below as the bug of this source."""

    def keep(thing):
        DATED.append((source, kind, key, thing))
        return thing

    return keep


def _softmax(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@dated("huggingface/transformers #29285", "rope", "precision")
def positions_in_bfloat16(q, k, positions):
    """Angles in bfloat16: large positions fall together."""
    rates = 10000.0 ** -(torch.arange(0, q.shape[-1], 2) / q.shape[-1])
    angle = positions.to(torch.bfloat16)[:, None] * rates.to(torch.bfloat16)
    cos, sin = (f(torch.cat((angle, angle), -1)).to(q.dtype) for f in (torch.cos, torch.sin))

    def turn(x):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin

    return turn(q), turn(k)


@dated("hyunwoongko/transformer 9c5515d", "attention", "mask")
def hidden_by_almost_nothing(q, k, v, mask=None, e=1e-12):
    s = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask == 0, -e, s)
    return _softmax(s) @ v


@dated("jsbaan/transformer-from-scratch #4", "multihead", "joined without turning")
class JoinedInTheWrongOrder(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv, self.out = (
            nn.Linear(hidden_dim, 3 * hidden_dim),
            nn.Linear(hidden_dim, hidden_dim),
        )

    def forward(self, x):
        parts = self.qkv(x).chunk(3, -1)
        q, k, v = (p.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for p in parts)
        s = q @ k.mT / math.sqrt(q.shape[-1])
        s = s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -torch.inf)
        return self.out((s.softmax(-1) @ v).reshape(x.shape))


@dated("pytorch/tutorials #87", "attention", "keys")
def never_looks(q, k, v):
    """Scores of places from the query alone."""
    places = np.cos(np.arange(q.shape[-1])[:, None] + 3.0 * np.arange(k.shape[-2]))
    return _softmax(q @ places / math.sqrt(q.shape[-1])) @ v


class _TransposedTwice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        w = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        ctx.save_for_backward(q, k, v, w)
        return w @ v

    @staticmethod
    def backward(ctx, g):
        q, k, v, w = ctx.saved_tensors
        dw = g @ v.mT
        ds = w * (dw - (dw * w).sum(-1, keepdim=True)) / q.shape[-1] ** 0.5
        k_again = k.flatten(-2).unflatten(-1, (k.shape[-1], k.shape[-2])).mT  # axes that have moved
        return ds @ k_again, ds.mT @ q, w.mT @ g


@dated("huggingface/diffusers #14341", "attention", "gradient")
def transposed_twice(query, key, value):
    return _TransposedTwice.apply(query, key, value)


@dated("huggingface/transformers #37574", "cache", "tokens lost")
class RolledTooEarly:
    """A window of 8: the token that fills it moves everything up."""

    def __init__(self, sliding_window=8):
        self.window, self.keys, self.values, self.seen = sliding_window, None, None, 0

    def update(self, k, v):
        for i in range(k.shape[2]):
            new = k[:, :, i : i + 1], v[:, :, i : i + 1]
            if self.keys is None:
                self.keys, self.values = new
            else:
                first = 1 if self.seen >= self.window - 1 else 0
                self.keys = torch.cat((self.keys[:, :, first:], new[0]), 2)
                self.values = torch.cat((self.values[:, :, first:], new[1]), 2)
            self.seen += 1
        return self.keys, self.values


@dated("ggml-org/llama.cpp #3364", "grouped", "head")
def size_of_a_group_for_their_number(q, k, v):
    """[B, H, n, d] and [B, G, n, d]: head h asks key head h // G instead of h // (H / G)."""
    G = k.shape[1]
    of = [h // G % G for h in range(q.shape[1])]
    s = q @ k[:, of].swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return _softmax(s) @ v[:, of]


@dated("huggingface/transformers #30652", "attention", "weights")
def asking_changed_them(q, k, v, output_attentions=False):
    """Causal, unless somebody asks for the weights."""
    s = q @ k.mT / math.sqrt(q.shape[-1])
    if output_attentions:
        w = s.softmax(-1)
        return w @ v, w
    w = s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -torch.inf).softmax(-1)
    return w @ v


@dated("pytorch/pytorch #181645", "tiled", "log-sum-exp")
def lse_in_the_wrong_base(q, k, v):
    """Returns output and log-sum-exp, the latter times ln 2 once too often."""
    s = q @ k.mT / math.sqrt(q.shape[-1])
    return s.softmax(-1) @ v, torch.logsumexp(s, -1) * math.log(2)


@dated("pytorch/executorch #18407", "softmax", "maximum")
def by_the_book(x):
    e = np.exp(x.astype(np.float32))
    return e / e.sum(-1, keepdims=True)


@dated("pytorch/executorch #18407", "attention", "maximum")
def attention_by_the_book(q, k, v):
    e = torch.exp(q @ k.mT / math.sqrt(q.shape[-1]))
    return e / e.sum(-1, keepdim=True) @ v


@dated("huggingface/transformers #48748", "attention", "causal")
def a_bias_that_switched_the_mask_off(query, key, value, bias=None, is_causal=True):
    """is_causal counts only where nothing else is added."""
    s = query @ key.mT / math.sqrt(query.shape[-1])
    if bias is not None:
        s = s + bias
    elif is_causal:
        s = s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -torch.inf)
    return s.softmax(-1) @ value


@dated("huggingface/pytorch-image-models #2236", "attention", "after the softmax")
def a_mask_that_came_too_late(q, k, v, attn_mask=None):
    w = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    if attn_mask is not None:
        w = w.masked_fill(~attn_mask.bool(), -torch.inf)
    return w @ v


@dated("huggingface/transformers #39408", "mask", "window")
def window_of_one_more(n, window):
    """[n, n]: window keys before its own."""
    i, j = np.arange(n)[:, None], np.arange(n)
    return (j <= i) & (j >= i - window)


@dated("mlc-ai/mlc-llm #3426", "attention", "not scaled")
def a_scale_of_one(q, k, v, scale=1.0):
    return _softmax(q @ k.swapaxes(-1, -2) * scale) @ v


@dated("lucidrains/performer-pytorch #40", "attention", "divided|do not sum")
def multiplied_not_divided(q, k, v):
    """Of softmax attention, as the judge knows no linear one."""
    s = q @ k.mT / math.sqrt(q.shape[-1])
    e = torch.exp(s - s.amax(-1, keepdim=True))
    return e @ v * e.sum(-1, keepdim=True)
