"""Layers of torch: cores, projections, what is made in each call."""

import pytest

from attention_src.judge import judge, judge_source

torch = pytest.importorskip("torch")

LAYER = """
import math
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.h, self.d = num_heads, d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, query, key, value):
        B, n, D = query.shape
        cut = lambda x: x.view(B, -1, self.h, self.d).transpose(1, 2)
        q, k, v = cut(self.W_q(query)), cut(self.W_k(key)), cut(self.W_v(value))
        s = q @ k.mT / math.sqrt(self.d)
        o = (s.softmax(-1) @ v).transpose(1, 2).reshape(B, n, D)
        return self.W_o(o)
"""
CASES = {
    "W_O not used": ("self.W_o(o)", "o"),
    "wrong input": ("W_v(value)", "W_v(key)"),
    "keys for values": ("self.W_v(value)", "self.W_k(value)"),
    "queries for keys": ("self.W_k(key)", "self.W_q(key)"),
    "heads joined without turning": (".transpose(1, 2).reshape(B, n, D)", ".reshape(B, n, D)"),
    "√ of the model's width": ("sqrt(self.d)", "sqrt(D)"),
    "a projection not used": ("self.W_v(value)", "value"),
    "random": ("s.softmax(-1)", "nn.functional.dropout(s.softmax(-1), 0.1)"),
}


def test_a_right_layer():
    report = judge_source(LAYER)
    assert report.verdict == "right" and report.kind == "multihead", report


@pytest.mark.parametrize("cause", CASES)
def test_a_mistake_is_named(cause):
    old, new = CASES[cause]
    assert judge_source(LAYER.replace(old, new)).cause == cause


def test_exchanged_names():
    text = LAYER.replace("W_q(query)", "W_?(query)").replace("W_k(key)", "W_q(key)")
    assert judge_source(text.replace("W_?", "W_k")).cause == "queries and keys swapped"


def test_new_weights_in_each_call():
    made = "nn.Linear(D, D, dtype=query.dtype)(query)"
    report = judge_source(LAYER.replace("self.W_q(query)", made))
    assert report.verdict == "not judged" and "new weights" in report.why, report


CAUSAL = """
import torch.nn.functional as F
from torch import nn

class CausalSelfAttention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.n_head = config.n_head
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)

    def forward(self, x, cos_sin, kv_cache):
        B, n, D = x.shape
        k, q, v = self.c_attn(x).split(D, dim=2)
        q, k, v = (y.view(B, n, self.n_head, -1).transpose(1, 2) for y in (q, k, v))
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(o.transpose(1, 2).reshape(B, n, D))
"""


def test_a_fused_projection_in_any_order():
    report = judge_source(CAUSAL)
    assert report.verdict == "right" and "hides the future" in report.convention["by itself"]
    leaking = CAUSAL.replace("B, n, D = x.shape", "B, n, D = x.shape; x = x - x.mean(1, True)")
    assert judge_source(leaking).cause == "other leak"


def test_the_first_tokens_alone_give_what_they_give_in_a_longer_text():
    of_all = CAUSAL.replace("B, n, D = x.shape", "B, n, D = x.shape; x = x * n")
    assert judge_source(of_all).cause == "a cut text differs"


def test_a_projection_that_stands_idle_beside_those_in_use():
    made = "self.W_v = nn.Linear(d_model, d_model)"
    text = LAYER.replace(made, f"{made}; self.values = nn.Linear(d_model, d_model)")
    report = judge_source(text.replace("self.W_v(value)", "self.values(value)"))
    assert report.cause == "a projection not used" and "W_v is made" in str(report)


def test_torch_itself_is_right():
    report = judge(torch.nn.functional.scaled_dot_product_attention)
    assert report.exit_code == 0 and report.convention["with more keys than queries"].startswith(
        "the first"
    )


class Backwards(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        p = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        ctx.save_for_backward(q, k, v, p)
        return p @ v

    @staticmethod
    def backward(ctx, do):
        q, k, v, p = ctx.saved_tensors
        dp = do @ v.mT
        ds = p * (dp - dp.mean(-1, keepdim=True)) / q.shape[-1] ** 0.5  # not weighted by p
        return ds @ k, ds.mT @ q, p.mT @ do


def test_gradients():
    assert judge(Backwards).cause == "gradient"
