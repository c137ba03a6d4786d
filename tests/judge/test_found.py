"""What was once called right, or wrong, in error."""

import numpy as np
import pytest
import torch
from torch import nn

from attention_src.judge import judge


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def scores(q, k):
    return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])


BIASES = {
    "mask subtracted": lambda s, bias: s - bias,
    "mask multiplied": lambda s, bias: s * bias,
    "mask not used": lambda s, bias: s,
    None: lambda s, bias: s + bias,
}


@pytest.mark.parametrize("cause", BIASES)
def test_a_bias_is_a_mask(cause):
    def f(q, k, v, bias=None):
        s = scores(q, k)
        return softmax(s if bias is None else BIASES[cause](s, bias)) @ v

    assert judge(f).cause == cause


HIDDEN = {"mask hides with a large number": 1e20, "mask too weak": -2.0, "mask wrong": -4.0}


@pytest.mark.parametrize("cause", HIDDEN)
def test_a_hidden_key_gets_no_weight(cause):
    def f(q, k, v, mask=None):
        s = scores(q, k)
        return softmax(s if mask is None else np.where(mask, s, HIDDEN[cause])) @ v

    assert judge(f).cause == cause


@pytest.mark.parametrize(("by", "cause"), [(0, None), (1, "one key more"), (-1, "one key less")])
def test_lengths_off_by_one(by, cause):
    def f(q, k, v, valid_lens=None):
        s = scores(q, k)
        if valid_lens is not None:
            s = np.where(np.arange(s.shape[-1]) < valid_lens[:, None, None, None] + by, s, -1e9)
        return softmax(s) @ v

    assert judge(f).cause == cause


def turned(x, theta=10000.0, sign=1):
    n, d = x.shape[-2:]
    angle = sign * np.arange(n)[:, None] * theta ** (-2 * np.arange(d // 2) / d)
    a, b = np.split(x, 2, axis=-1)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def test_both_of_queries_and_keys_are_turned_and_theta_is_no_table():
    assert judge(lambda x, theta=10000.0: turned(x, theta), "rope").verdict == "right"
    assert judge(lambda q, k: (turned(q), turned(k)), "rope").verdict == "right"
    for keys in (lambda k: k, lambda k: turned(k, sign=-1)):
        cause = judge(lambda q, k, keys=keys: (turned(q), keys(k)), "rope").cause
        assert cause == "queries and keys differ"


MATRICES = {None: "qkvo", "wrong projection": "qkko", "W_O not used": "qkv"}


@pytest.mark.parametrize("cause", MATRICES)
def test_matrices_that_are_arguments(cause):
    def f(x, W_q, W_k, W_v, W_o, n_heads):
        w = {"q": W_q, "k": W_k, "v": W_v, "o": W_o}
        q, k, v = (
            (x @ w[r]).reshape(len(x), n_heads, -1).swapaxes(0, 1) for r in MATRICES[cause][:3]
        )
        joined = (softmax(scores(q, k)) @ v).swapaxes(0, 1).reshape(x.shape)
        return joined @ W_o if "o" in MATRICES[cause] else joined

    assert judge(f, "multihead").cause == cause


class Cached(nn.Module):
    def __init__(self, d_model, n_heads, keep=True):
        super().__init__()
        self.h, self.keep = n_heads, keep
        self.w_q, self.w_k, self.w_v, self.w_o = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(4)
        )

    def forward(self, x, cache=None):
        q, k, v = (
            y(x).unflatten(-1, (self.h, -1)).transpose(1, 2) for y in (self.w_q, self.w_k, self.w_v)
        )
        if cache is not None and self.keep:
            k, v = (torch.cat(pair, dim=2) for pair in zip(cache, (k, v), strict=True))
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
        s = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf)
        return self.w_o((s.softmax(-1) @ v).transpose(1, 2).flatten(2)), (k, v)


class Forgetful(Cached):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads, keep=False)


def test_a_layer_that_hands_its_cache_back():
    assert judge(Cached, "cache").verdict == "right"
    assert judge(Forgetful, "cache").cause == "differs token by token"


def test_what_is_right_where_values_are_as_wide_as_keys_is_fragile():
    def f(q, k, v):
        return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(v.shape[-1])) @ v

    report = judge(f)
    assert report.verdict == "fragile" and report.findings[0].key == "√ of the values' width"
