"""Masks against their definitions in loops; composition, broadcasting, dtypes, all pairs."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attention_src.attention.masks import (
    causal_mask,
    combine,
    document_mask,
    padding_mask,
    prefix_mask,
    to_additive,
    window_mask,
)
from attention_src.attention.reference import attention, attention_weights
from attention_src.testing import make_qkv

SIZES = st.integers(0, 9)


def table(n_q, n_k, rule):
    """The mask that a rule visible(i, j) makes, entry by entry."""
    return np.array([[rule(i, j) for j in range(n_k)] for i in range(n_q)], dtype=bool).reshape(
        n_q, n_k
    )


@given(SIZES, SIZES)
def test_causal(n_q, n_k):
    expected = table(n_q, n_k, lambda i, j: j <= i + n_k - n_q)
    np.testing.assert_array_equal(causal_mask(n_q, n_k), expected)
    np.testing.assert_array_equal(causal_mask(n_q), np.tri(n_q, dtype=bool))


@given(SIZES, SIZES, st.integers(1, 11), st.integers(0, 11))
def test_window(n_q, n_k, window, sinks):
    def rule(i, j):
        t = i + n_k - n_q
        return j in range(max(0, t - window + 1), t + 1) or (j < sinks and j <= t)

    np.testing.assert_array_equal(window_mask(n_q, n_k, window, sinks), table(n_q, n_k, rule))


@given(SIZES, SIZES)
def test_a_wide_window_is_causal(n_q, n_k):
    np.testing.assert_array_equal(window_mask(n_q, n_k, n_k + n_q + 1), causal_mask(n_q, n_k))
    np.testing.assert_array_equal(window_mask(n_q, n_k, 1, sinks=n_k), causal_mask(n_q, n_k))


@given(SIZES, st.data())
def test_prefix(n, data):
    prefix = data.draw(st.integers(0, n))
    expected = table(n, n, lambda i, j: j <= i or j < prefix)
    np.testing.assert_array_equal(prefix_mask(n, prefix), expected)


@given(SIZES, st.data())
def test_padding(n_k, data):
    lengths = data.draw(st.lists(st.integers(0, n_k), max_size=4))
    mask = padding_mask(lengths, n_k)
    assert mask.shape == (len(lengths), 1, 1, n_k)
    for b, length in enumerate(lengths):
        assert mask[b, 0, 0].tolist() == [True] * length + [False] * (n_k - length)


@given(st.lists(st.integers(-2, 2), max_size=7))
def test_documents(ids):
    n = len(ids)
    expected = table(n, n, lambda i, j: ids[i] == ids[j])
    np.testing.assert_array_equal(document_mask(ids), expected)
    batch = document_mask([ids, ids[::-1]])
    assert batch.shape == (2, 1, n, n)
    np.testing.assert_array_equal(batch[1, 0], expected[::-1, ::-1])


def masks_of(n):
    """One of each kind, for n tokens in a batch of 2."""
    ids = np.arange(n) // 3
    return {
        "causal": causal_mask(n),
        "window": window_mask(n, n, 3, sinks=1),
        "prefix": prefix_mask(n, 2),
        "padding": padding_mask([n, n - 2], n),
        "documents": document_mask(ids),
        "packed batch": document_mask(np.stack([ids, ids[::-1]])),
    }


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(masks_of(7), 2)))
def test_every_pair_composes(a, b):
    x, y = masks_of(7)[a], masks_of(7)[b]
    q, k, _ = make_qkv(7, batch=2, n_heads=3)
    both = combine(x, y)
    p = attention_weights(q, k, mask=both)
    visible = np.broadcast_to(x, p.shape) & np.broadcast_to(y, p.shape)
    np.testing.assert_array_equal(p > 0, visible)
    np.testing.assert_allclose(p.sum(axis=-1), visible.any(axis=-1), rtol=1e-12)
    np.testing.assert_array_equal(combine(y, x), both)
    tensors = combine(torch.from_numpy(x), torch.from_numpy(y))
    np.testing.assert_array_equal(tensors.numpy(), both)


@given(
    hnp.mutually_broadcastable_shapes(num_shapes=3, min_dims=0, max_dims=4, max_side=4),
    st.integers(0, 2**32 - 1),
)
def test_combine_broadcasts_as_numpy_does(shapes, seed):
    rng = np.random.default_rng(seed)
    a, b, c = (rng.random(shape) < 0.6 for shape in shapes.input_shapes)
    expected = np.logical_and.reduce(np.broadcast_arrays(a, b, c))
    np.testing.assert_array_equal(combine(a, None, b, c), expected)
    np.testing.assert_array_equal(combine(combine(a, b), c), combine(a, combine(b, c)))


def test_combine_of_nothing():
    assert combine() is None
    assert combine(None, None) is None


@given(
    hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, max_side=7)),
    st.sampled_from([np.float16, np.float32, np.float64]),
)
def test_to_additive(mask, dtype):
    additive = to_additive(mask, dtype)
    assert additive.dtype == dtype and additive.shape == mask.shape
    np.testing.assert_array_equal(additive == 0, mask)
    np.testing.assert_array_equal(additive == -np.inf, ~mask)
    q, k, _ = make_qkv(*mask.shape, batch=1, n_heads=1)
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + additive
    rows = mask.any(axis=-1)
    e = np.exp(s[..., rows, :])
    expected = e / e.sum(axis=-1, keepdims=True)
    p = attention_weights(q, k, mask=mask)
    np.testing.assert_allclose(p[..., rows, :], expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_to_additive_of_tensors(dtype):
    mask = torch.from_numpy(causal_mask(3))
    additive = to_additive(mask, dtype)
    assert additive.dtype == dtype
    assert torch.equal(additive == 0, mask) and torch.equal(additive == -torch.inf, ~mask)
    # What it is for: torch's own function gives the same with either.
    q, k, v = make_qkv(3, dtype=dtype)
    sdpa = torch.nn.functional.scaled_dot_product_attention
    torch.testing.assert_close(sdpa(q, k, v, attn_mask=additive), sdpa(q, k, v, attn_mask=mask))


@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_hiding_equals_removing(n, seed):
    rng = np.random.default_rng(seed)
    q, k, v = make_qkv(n, batch=1, n_heads=1, seed=seed)
    keep = rng.random(n) < 0.5
    hidden = attention(q, k, v, mask=np.broadcast_to(keep, (n, n)))
    removed = attention(q, k[..., keep, :], v[..., keep, :])
    np.testing.assert_allclose(hidden, removed, rtol=1e-12, atol=1e-15)


BAD = [
    (lambda: causal_mask(-1), "n_q is -1; it should be at least 0"),
    (lambda: causal_mask(2.0), "n_q is 2.0; it should be a whole number"),
    (lambda: causal_mask(True), "n_q is True; it should be a whole number"),
    (lambda: causal_mask(2, -3), "n_k is -3"),
    (lambda: window_mask(3, 3, 0), "window is 0; it should be at least 1"),
    (lambda: window_mask(3, 3, 1, sinks=-1), "sinks is -1"),
    (lambda: prefix_mask(3, 4), "prefix is 4; it should be at most n=3"),
    (lambda: prefix_mask(3, -1), "prefix is -1"),
    (lambda: padding_mask([4], 3), "lengths is .*between 0 and n_k=3"),
    (lambda: padding_mask([-1], 3), "between 0 and n_k=3"),
    (lambda: padding_mask([1.0], 3), "lengths has dtype float64"),
    (lambda: padding_mask([[1]], 3), r"lengths has shape \[1, 1\]; it should be \[B\]"),
    (lambda: padding_mask([True], 3), "lengths has dtype bool"),
    (lambda: document_mask([0.5]), "document_ids has dtype float64"),
    (lambda: document_mask(3), r"document_ids has shape \[\]"),
    (lambda: combine([True], [0.0]), r"masks\[1\] has dtype float64.*Pass masks\[1\] == 0"),
    (lambda: combine([1]), r"masks\[0\] has dtype int64.*True = may attend"),
    (lambda: combine(np.ones(2, bool), np.ones(3, bool)), r"masks\[1\] has shape \[3\]"),
    (lambda: to_additive([1.0], np.float32), "mask has dtype float64"),
    (lambda: to_additive([True], np.int32), "dtype is int32; it should be a floating"),
    (lambda: to_additive([True], torch.float32), "dtype is torch.float32 but mask is NumPy"),
    (lambda: to_additive(torch.tensor([True]), torch.int32), "dtype is torch.int32"),
    (lambda: to_additive(torch.tensor([True]), np.float32), "floating dtype of torch"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()
