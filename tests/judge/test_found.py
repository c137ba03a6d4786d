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


def by_order(q, k, v):
    q, k, v = (np.reshape(x.ravel("K"), x.shape) for x in (q, k, v))  # as it lies in memory
    return softmax(scores(q, k)) @ v


def by_view(q, k, v):
    p = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return p @ v.view(-1).view(v.shape)


VIEWS = {"ignores strides": (by_order, "wrong"), "needs contiguous arrays": (by_view, "fragile")}


@pytest.mark.parametrize("key", VIEWS)
def test_views(key):
    f, verdict = VIEWS[key]
    report = judge(f)
    assert (report.verdict, report.findings[0].key) == (verdict, key), report


def test_what_a_nan_behind_a_mask_does_is_told():
    def f(q, k, v, mask=None, clean=lambda v: v):
        s = scores(q, k)
        return softmax(s if mask is None else np.where(mask, s, -1e30)) @ clean(v)

    told = judge(f).convention["NaN in a hidden value"]
    assert told.startswith("reaches")
    report = judge(lambda q, k, v, mask=None: f(q, k, v, mask, np.nan_to_num))
    assert report.convention["NaN in a hidden value"] == "stays hidden" and report.exit_code == 0


class KeepsItsMask:
    mask = None

    def __call__(self, q, k, v, mask=None):
        s = scores(q, k)
        self.mask = mask if mask is not None else self.mask
        fits = self.mask is not None and self.mask.shape[-2:] == s.shape[-2:]
        return softmax(np.where(self.mask, s, -1e30) if fits else s) @ v


class Counts:
    calls = 0

    def __call__(self, q, k, v):
        self.calls += 1
        return softmax(scores(q, k) * (1 + self.calls / 100)) @ v


@pytest.mark.parametrize("keeper", [KeepsItsMask, Counts])
def test_what_is_kept_between_calls(keeper):
    assert judge(keeper()).cause == "not the same twice"


def test_dropout_in_training_mode():
    drop = nn.Dropout(0.1)
    f = lambda q, k, v: drop((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)) @ v  # noqa: E731
    assert judge(f).cause == "random"
    drop.eval()
    assert judge(f).verdict == "right"


@pytest.mark.parametrize("lowest", [-torch.inf, -1e30])
def test_a_gradient_where_a_query_sees_nothing(lowest):
    def f(q, k, v, mask=None):
        s = q @ k.mT / q.shape[-1] ** 0.5
        return (s if mask is None else s + mask.clamp(min=lowest)).softmax(-1).nan_to_num() @ v

    keys = [finding.key for finding in judge(f).findings]
    assert keys == ["NaN in a gradient" if lowest == -torch.inf else "an empty row sees all"]


def test_a_mask_that_only_turns_the_causal_one_on():
    def f(q, k, v, mask=None):
        s = scores(q, k)
        past = np.tri(*s.shape[-2:], s.shape[-1] - s.shape[-2], dtype=bool)
        return softmax(s if mask is None else np.where(past, s, -np.inf)) @ v

    assert judge(f).cause == "mask only as a switch"


@pytest.mark.parametrize("above", [0, 16])
def test_fewer_bits_than_a_plain_one_would_lose(above):
    f = lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5 + above).softmax(-1) @ v  # noqa: E731
    assert {x.key for x in judge(f).findings} == ({"coarse in this dtype"} if above else set())


FEWER_AXES = {
    "softmax over the heads": lambda q, k, v: softmax_of_rows(scores(q, k)) @ v,
    "√ of the number of heads": lambda q, k, v: (
        softmax(q @ k.swapaxes(-1, -2) / q.shape[1] ** 0.5) @ v
    ),
    "right by luck": lambda q, k, v: softmax(scores(q, k)) @ v / (1 if q.ndim == 2 else 2),
}


def softmax_of_rows(s):
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("key", FEWER_AXES)
def test_what_is_right_for_matrices_is_never_wrong(key):
    report = judge(FEWER_AXES[key])
    assert report.verdict == "fragile" and report.findings[0].key == key, report
    assert report.convention["layout"] == "[n, d]"


WINDOWS = {
    None: lambda away: (away <= 0) & (away > -3),
    "own key hidden": lambda away: (away < 0) & (away > -3),
    "one key ahead": lambda away: (away <= 1) & (away > -3),
    "upside down": lambda away: (away >= 0) & (away < 3),
}


@pytest.mark.parametrize("cause", WINDOWS)
def test_windows(cause):
    def window_mask(n, window):
        return WINDOWS[cause](np.arange(n) - np.arange(n)[:, None])

    assert judge(window_mask, "mask").cause == cause


def test_padding_of_any_number_and_lengths():
    assert judge(lambda ids, pad_id=1: ids != pad_id, "mask").verdict == "right"
    more = judge(lambda ids, pad_id=1: ids > pad_id + 1, "mask")
    assert more.cause == "hides other than padding"
    for by, cause in ((0, None), (1, "one key more"), (-1, "one key less")):
        f = lambda lengths, n, by=by: np.arange(n) < lengths[:, None] + by  # noqa: E731
        assert judge(f, "mask").cause == cause


class StepByStep:
    scale = 0.5

    def __init__(self):
        self.keys, self.values = [], []

    def attend(self, query, key, value):
        self.keys.append(key)
        self.values.append(value)
        s = np.stack(self.keys) @ query * query.shape[-1] ** -self.scale
        return softmax(s) @ np.stack(self.values)


def test_a_cache_that_answers_each_token():
    assert judge(StepByStep, "cache").verdict == "right"
    unscaled = type("Unscaled", (StepByStep,), {"scale": 0})
    assert judge(unscaled, "cache").cause == "not scaled"
    lost = type("Lost", (StepByStep,), {"values": property(lambda self: [], lambda self, x: None)})
    assert judge(lost, "cache").verdict != "right"


def test_a_softmax_of_a_list():
    def f(row, top=max):
        e = [np.exp(x - top(row)) for x in row]
        return [x / sum(e) for x in e]

    assert judge(f, "softmax").verdict == "right"


class Head(nn.Module):
    def __init__(self, d_model, d_head):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d_model, d_head) for _ in range(3))

    def forward(self, x, dim):
        s = self.q(x) @ self.k(x).mT / self.q.out_features**0.5
        return s.softmax(dim) @ self.v(x)


class Heads(nn.Module):
    dim, times, idle = -1, 1, False

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.heads = nn.ModuleList(Head(d_model, d_model // n_heads) for _ in range(n_heads))
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x):
        used = [self.heads[0]] * len(self.heads) if self.idle else self.heads
        y = torch.cat([head(x, self.dim) for head in used], dim=-1)
        for _ in range(self.times):
            y = self.w_o(y)
        return y


HEADS = {"heads not used": {"idle": True}, "projected twice": {"times": 2}, None: {}}


@pytest.mark.parametrize("cause", HEADS)
def test_heads_in_a_list(cause):
    assert judge(type("Mine", (Heads,), HEADS[cause]), "multihead").cause == cause


def test_a_layer_that_is_right_for_matrices_alone_is_fragile():
    report = judge(type("Mine", (Heads,), {"dim": 1}), "multihead")
    assert report.verdict == "fragile" and report.findings[0].key == "softmax over the queries"


class FewKeys(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        self.d, self.group = d_model // n_heads, n_heads // n_kv_heads
        self.q, self.o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.k, self.v = (nn.Linear(d_model, self.d * n_kv_heads) for _ in range(2))

    def forward(self, x):
        q, k, v = (
            f(x).unflatten(-1, (-1, self.d)).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        k, v = (y.repeat(1, self.group, 1, 1) for y in (k, v))
        return self.o((scores_of(q, k).softmax(-1) @ v).transpose(1, 2).flatten(2))


def scores_of(q, k):
    return q @ k.mT / q.shape[-1] ** 0.5


def test_a_layer_of_fewer_key_heads_is_made_with_fewer():
    assert judge(FewKeys, "multihead").cause == "keys shared in turns"


@pytest.mark.parametrize("cause", [None, "sums of blocks not rescaled"])
def test_two_halves(cause):
    def f(q, k, v):
        o, l, tops = [], [], []
        for kk, vv in zip(np.array_split(k, 2), np.array_split(v, 2), strict=True):
            s = q @ kk.T / np.sqrt(q.shape[1])
            tops.append(s.max(axis=1, keepdims=True, initial=-1e30))
            o.append(np.exp(s - tops[-1]) @ vv)
            l.append(np.exp(s - tops[-1]).sum(axis=1, keepdims=True))
        by = np.exp(tops - np.maximum(*tops))
        return (by * o).sum(0) / ((by if cause is None else 1) * np.array(l)).sum(0)

    assert judge(f, "tiled").cause == cause
