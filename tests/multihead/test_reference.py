"""Concat form and fused form are equal, and equal to torch's own module."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from attention_src.attention.masks import causal_mask, padding_mask
from attention_src.multihead.reference import (
    merge_heads,
    multihead_attention,
    multihead_attention_by_head,
    rms_norm,
    split_heads,
)


def matrices(d_model, n_heads, n_kv_heads, d_k, d_v, d_context=None, seed=0):
    rng = np.random.default_rng(seed)
    d_context = d_model if d_context is None else d_context
    shapes = [
        (d_model, n_heads * d_k),
        (d_context, n_kv_heads * d_k),
        (d_context, n_kv_heads * d_v),
        (n_heads * d_v, d_model),
    ]
    return [rng.normal(size=shape) / np.sqrt(shape[0]) for shape in shapes]


@given(
    n_q=st.integers(0, 5),
    n_k=st.integers(0, 5),
    heads=st.sampled_from([(1, 1), (3, 3), (6, 2), (5, 1)]),
    d_k=st.integers(1, 4),
    d_v=st.integers(1, 4),
    causal=st.booleans(),
    kind=st.sampled_from(["none", "shared", "per head", "per sequence"]),
    lead=st.sampled_from([(2,), (3, 2)]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_two_forms_are_equal(n_q, n_k, heads, d_k, d_v, causal, kind, lead, seed):
    H, H_kv = heads
    rng = np.random.default_rng(seed)
    weights = matrices(7, H, H_kv, d_k, d_v, d_context=11, seed=seed)
    x, context = rng.normal(size=(*lead, n_q, 7)), rng.normal(size=(*lead, n_k, 11))
    shape = {"shared": (1, n_q, n_k), "per head": (H, n_q, n_k), "per sequence": (*lead, 1, 1, n_k)}
    mask = None if kind == "none" else rng.random(shape[kind]) < 0.6
    options = dict(n_heads=H, n_kv_heads=H_kv, context=context, mask=mask, causal=causal)
    fused = multihead_attention(x, *weights, **options)
    assert fused.shape == x.shape
    concat = multihead_attention_by_head(x, *weights, **options)
    np.testing.assert_allclose(fused, concat, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("form", [multihead_attention, multihead_attention_by_head])
def test_agrees_with_torchs_module(form):
    d_model, H = 12, 4
    weights = matrices(d_model, H, H, 3, 3)
    module = torch.nn.MultiheadAttention(d_model, H, bias=False, batch_first=True).double()
    stacked = np.concatenate([w.T for w in weights[:3]])  # torch stores W^T, q over k over v
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.from_numpy(stacked))
        module.out_proj.weight.copy_(torch.from_numpy(weights[3].T))
    x = np.random.default_rng(1).normal(size=(2, 5, d_model))
    t = torch.from_numpy(x)
    for mask in (None, causal_mask(5)):
        hidden = None if mask is None else torch.from_numpy(~mask)  # its True = hidden
        expected = module(t, t, t, attn_mask=hidden, need_weights=False)[0].detach()
        actual = form(x, *weights, n_heads=H, mask=mask)
        np.testing.assert_allclose(actual, expected, rtol=1e-11)
    padded = module(t, t, t, key_padding_mask=torch.tensor([[False] * 5, [False] * 2 + [True] * 3]))
    actual = form(x, *weights, n_heads=H, mask=padding_mask([5, 2], 5))
    np.testing.assert_allclose(actual, padded[0].detach(), rtol=1e-11)


@given(st.integers(1, 4), st.integers(0, 4), st.integers(1, 4))
def test_split_and_merge(n_heads, n, d):
    x = np.arange(2.0 * n * n_heads * d).reshape(2, n, n_heads * d)
    heads = split_heads(x, n_heads)
    assert heads.shape == (2, n_heads, n, d)
    for h in range(n_heads):
        np.testing.assert_array_equal(heads[:, h], x[..., h * d : (h + 1) * d])
    np.testing.assert_array_equal(merge_heads(heads), x)


def test_the_result_has_the_dtype_of_x():
    weights = matrices(6, 2, 1, 3, 2)
    for form in (multihead_attention, multihead_attention_by_head):
        x = np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32)
        assert form(x, *weights, n_heads=2, n_kv_heads=1).dtype == np.float32
        # Rounded once, at the end.
        exact = form(x.astype(np.float64), *weights, n_heads=2, n_kv_heads=1)
        np.testing.assert_array_equal(
            form(x, *weights, n_heads=2, n_kv_heads=1), exact.astype(np.float32)
        )


X = np.ones((2, 5, 6))
W = matrices(6, 2, 1, 3, 2)
BAD = [
    (dict(n_heads=4, n_kv_heads=3), "H_kv=3 heads, which does not divide the H=4"),
    (dict(n_heads=4, n_kv_heads=1), "w_q has 6 columns, which do not divide into 4 heads"),
    (dict(n_heads=2), "w_k has 3 columns, which do not divide into 2"),
    (dict(n_heads=1), "w_o has 4 rows; it should have H . d_v = 1 . 2 = 2"),
    (dict(n_heads=0), "n_heads is 0"),
    (dict(n_heads=2, n_kv_heads=1, context=np.ones((2, 5, 7))), "w_k has shape .* context"),
    (dict(n_heads=2, n_kv_heads=1, mask=np.ones((5, 5))), "mask has dtype float64"),
    (dict(n_heads=2, n_kv_heads=1, mask=np.ones((3, 5, 5), bool)), "mask has shape"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
@pytest.mark.parametrize("form", [multihead_attention, multihead_attention_by_head])
def test_bad_input(untyped, form, options, message):
    with pytest.raises(ValueError, match=message):
        form(X, *W, **options)


def test_bad_shapes(untyped):
    with pytest.raises(ValueError, match=r"w_v has shape \[2\]; it should have two axes"):
        multihead_attention(X, W[0], W[1], np.ones(2), W[3], n_heads=2, n_kv_heads=1)
    with pytest.raises(ValueError, match=r"w_q has shape .* but x has shape \[6\]"):
        multihead_attention(np.ones(6), *W, n_heads=2, n_kv_heads=1)
    with pytest.raises(ValueError, match=r"x has shape \[2, 5\]"):
        split_heads(np.ones((2, 5)), 3)
    with pytest.raises(ValueError, match=r"x has shape \[2, 5\]; it should be \[..., H, n, d\]"):
        merge_heads(np.ones((2, 5)))


def test_rms_norm_is_torchs():
    rng = np.random.default_rng(0)
    x, gain = rng.normal(size=(2, 3, 5)), rng.normal(size=5)
    expected = F.rms_norm(torch.tensor(x), (5,), torch.tensor(gain), 0.1)
    np.testing.assert_allclose(rms_norm(x, gain, eps=0.1), expected, rtol=1e-12)
    y = rms_norm(x, np.ones(5), eps=0.0)
    np.testing.assert_allclose((y**2).mean(axis=-1), 1, rtol=1e-12)


@pytest.mark.parametrize("whole", [False, True])
def test_gains_normalise_heads_or_the_whole_width(whole):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 5, 7)), matrices(7, 6, 2, 3, 2)
    gains = dict(
        q_gain=rng.normal(size=18 if whole else 3), k_gain=rng.normal(size=6 if whole else 3)
    )
    options = dict(n_heads=6, n_kv_heads=2, causal=True, eps=0.0, **gains)
    y = multihead_attention(x, *w, **options)
    for factors, same in (([3.0, 3.0], True), ([2.0, 5.0], not whole)):  # one for each key head
        longer = w[1] * np.repeat(factors, 3)
        z = multihead_attention(x, w[0], longer, *w[2:], **options)
        assert np.allclose(z, y, rtol=1e-9, atol=1e-12) == same


@pytest.mark.parametrize("gain", [np.ones(4), np.ones((2, 3)), 1.0])
def test_a_gain_that_does_not_fit(untyped, gain):
    w = matrices(7, 6, 2, 3, 2)
    with pytest.raises(
        ValueError, match=r"k_gain has shape .*\[3\] for each head, or \[6\] for all"
    ):
        multihead_attention(np.ones((5, 7)), *w, n_heads=6, n_kv_heads=2, k_gain=gain)
    with pytest.raises(ValueError, match="gain should be"):
        rms_norm(np.ones((5, 5)), gain)
    with pytest.raises(ValueError, match="eps is -1"):
        rms_norm(np.ones(3), np.ones(3), eps=-1)
