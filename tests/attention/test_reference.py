"""The oracle itself, against loops in exact sums, finite differences and torch."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_src.attention.reference import (
    attention,
    attention_backward,
    attention_lse,
    attention_weights,
)
from attention_src.testing import make_qkv

F = torch.nn.functional


def by_loops(q, k, v, visible, scale):
    """One head, entry by entry, with exact sums: o [n_q, d_v] and lse [n_q]."""
    o, lse = np.zeros((len(q), v.shape[-1])), np.full(len(q), -np.inf)
    for i in range(len(q)):
        keys = [j for j in range(len(k)) if visible[i][j]]
        s = [scale * math.fsum(q[i] * k[j]) for j in keys]
        if not keys:
            continue
        e = [math.exp(x - max(s)) for x in s]
        lse[i] = max(s) + math.log(math.fsum(e))
        for c in range(v.shape[-1]):
            o[i, c] = math.fsum(w * v[j, c] for w, j in zip(e, keys, strict=True)) / math.fsum(e)
    return o, lse


@given(
    n_q=st.integers(0, 7),
    n_k=st.integers(0, 7),
    d_k=st.integers(1, 5),
    d_v=st.integers(1, 5),
    causal=st.booleans(),
    masked=st.booleans(),
    scale=st.sampled_from([None, 0.0, 1.0, -0.7]),
    seed=st.integers(0, 2**32 - 1),
)
def test_equals_the_loops(n_q, n_k, d_k, d_v, causal, masked, scale, seed):
    q, k, v = (x[0, 0] for x in make_qkv(n_q, n_k, d_k, d_v, batch=1, n_heads=1, seed=seed))
    mask = np.random.default_rng(seed).random((n_q, n_k)) < 0.5 if masked else None
    visible = np.ones((n_q, n_k), dtype=bool) if mask is None else mask.copy()
    if causal:
        for i in range(n_q):
            visible[i, max(0, i + n_k - n_q + 1) :] = False
    expected_o, expected_lse = by_loops(q, k, v, visible, d_k**-0.5 if scale is None else scale)
    options = dict(mask=mask, causal=causal, scale=scale)
    np.testing.assert_allclose(attention(q, k, v, **options), expected_o, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(attention_lse(q, k, **options), expected_lse, rtol=1e-11, atol=1e-13)
    p = attention_weights(q, k, **options)
    np.testing.assert_array_equal(p > 0, visible)
    np.testing.assert_allclose(p @ v, expected_o, rtol=1e-11, atol=1e-13)


def test_agrees_with_torch():
    q, k, v = make_qkv(11, 11, 5, 7)
    mask = np.random.default_rng(0).random((2, 1, 11, 11)) < 0.5
    mask |= np.eye(11, dtype=bool)
    tensors = [torch.from_numpy(x) for x in (q, k, v)]
    expected = F.scaled_dot_product_attention(*tensors, attn_mask=torch.from_numpy(mask))
    np.testing.assert_allclose(attention(q, k, v, mask=mask), expected, rtol=1e-12)
    expected = F.scaled_dot_product_attention(*tensors, is_causal=True)  # square: same alignment
    np.testing.assert_allclose(attention(q, k, v, causal=True), expected, rtol=1e-12)


def test_leading_axes_broadcast():
    q, k, v = make_qkv(5, 7, batch=2, n_heads=3)
    one = attention(q[1, 2], k[1, 2], v[1, 2])
    np.testing.assert_allclose(attention(q, k, v)[1, 2], one, rtol=1e-13)
    shared = attention(q, k[:, :1], v[:, :1])  # one key/value head for all
    np.testing.assert_allclose(shared[:, 2], attention(q[:, 2], k[:, 0], v[:, 0]), rtol=1e-13)
    assert attention(q[0, 0], k, v).shape == (2, 3, 5, 5)
    mask = np.ones((2, 1, 1, 7), dtype=bool)
    mask[1, ..., 3:] = False
    p = attention_weights(q, k[:, :1], mask=mask)
    assert (p[1, ..., 3:] == 0).all() and (p[0] > 0).all()


def test_logits_of_1e4():
    q, k, v = make_qkv(5, 7, size=1e4)
    visible = np.ones((5, 7), dtype=bool)
    expected, _ = by_loops(q[0, 0], k[0, 0], v[0, 0], visible, 5**-0.5)
    np.testing.assert_allclose(attention(q, k, v)[0, 0], expected, rtol=1e-9)
    assert all(np.isfinite(g).all() for g in attention_backward(q, k, v, np.ones((2, 3, 5, 5))))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_narrow_dtypes_are_rounded_once(dtype):
    q, k, v = make_qkv(5, 7, dtype=dtype)
    do = np.ones((2, 3, 5, 5), dtype=dtype)
    wide = [x.astype(np.float64) for x in (q, k, v, do)]
    for narrow, exact in (
        (attention(q, k, v), attention(*wide[:3])),
        (attention_weights(q, k), attention_weights(*wide[:2])),
        (attention_lse(q, k), attention_lse(*wide[:2])),
        *zip(attention_backward(q, k, v, do), attention_backward(*wide), strict=True),
    ):
        assert narrow.dtype == dtype
        np.testing.assert_array_equal(narrow, exact.astype(dtype))


def test_array_likes_and_integers():
    o = attention([[1, 0]], [[1, 0], [0, 1]], [[2], [4]], mask=[[False, True]])
    assert o.dtype == np.float64 and o.tolist() == [[4.0]]


@given(
    n_q=st.integers(1, 5),
    n_k=st.integers(0, 5),
    causal=st.booleans(),
    scale=st.sampled_from([None, 0.3]),
    seed=st.integers(0, 2**32 - 1),
)
def test_backward_equals_finite_differences(n_q, n_k, causal, scale, seed):
    rng = np.random.default_rng(seed)
    q, k, v = make_qkv(n_q, n_k, 3, 2, batch=1, n_heads=2, seed=seed)
    mask = rng.random((1, 2, n_q, n_k)) < 0.7
    options = dict(mask=mask, causal=causal, scale=scale)
    do = rng.normal(size=(1, 2, n_q, 2))
    direction = [rng.normal(size=x.shape) for x in (q, k, v)]
    h = 1e-5

    def loss(step):
        moved = [x + step * dx for x, dx in zip((q, k, v), direction, strict=True)]
        return (attention(*moved, **options) * do).sum()

    grads = attention_backward(q, k, v, do, **options)
    slope = sum((g * dx).sum() for g, dx in zip(grads, direction, strict=True))
    assert slope == pytest.approx((loss(h) - loss(-h)) / (2 * h), rel=1e-6, abs=1e-8)


def test_each_gradient_equals_autograd():
    q, k, v = make_qkv(5, 7, 3, 2, n_heads=3)
    mask = np.random.default_rng(0).random((5, 7)) < 0.6
    mask[2] = False
    do = np.random.default_rng(1).normal(size=(2, 3, 5, 2))
    leaves = [torch.from_numpy(x).requires_grad_() for x in (q, k, v)]
    s = (leaves[0] @ leaves[1].mT / 3**0.5).masked_fill(~torch.from_numpy(mask), -torch.inf)
    rows = torch.from_numpy(mask.any(axis=-1))
    o = s[..., rows, :].softmax(dim=-1) @ leaves[2]
    (o * torch.from_numpy(do)[..., rows, :]).sum().backward()
    for gradient, leaf in zip(attention_backward(q, k, v, do, mask=mask), leaves, strict=True):
        np.testing.assert_allclose(gradient, leaf.grad, rtol=1e-11, atol=1e-14)
    assert (attention_backward(q, k, v, do, mask=mask)[0][..., 2, :] == 0).all()


def test_backward_sums_over_broadcast_axes():
    q, k, v = make_qkv(5, 7, 3, 2, n_heads=4, n_kv_heads=1)
    do = np.random.default_rng(0).normal(size=(2, 4, 5, 2))
    repeated = attention_backward(q, np.repeat(k, 4, 1), np.repeat(v, 4, 1), do)
    dq, dk, dv = attention_backward(q, k, v, do)
    assert (dq.shape, dk.shape, dv.shape) == (q.shape, k.shape, v.shape)
    np.testing.assert_allclose(dq, repeated[0], rtol=1e-12)
    np.testing.assert_allclose(dk, repeated[1].sum(axis=1, keepdims=True), rtol=1e-11)
    np.testing.assert_allclose(dv, repeated[2].sum(axis=1, keepdims=True), rtol=1e-11)
    alone = attention_backward(q[0, 0], k, v, np.broadcast_to(do[:, :1], (2, 1, 5, 2)))
    assert alone[0].shape == q[0, 0].shape
    whole = (np.broadcast_to(x[0], (2, 4, *x.shape[2:])) for x in (k, v))
    _, *repeated = attention_backward(q, *whole, do)
    _, *summed = attention_backward(q, k[0], v[0], do)  # one axis missing, one of size 1
    for actual, every in zip(summed, repeated, strict=True):
        np.testing.assert_allclose(actual, every.sum(axis=(0, 1))[None], rtol=1e-11)


Q, K, V = np.ones((2, 3, 5, 4)), np.ones((2, 3, 7, 4)), np.ones((2, 3, 7, 6))
BAD = [
    (lambda: attention(Q, K[..., :3], V), "k has d_k=3 but q has d_k=4: queries and keys meet"),
    (lambda: attention(Q, K, V[..., :5, :]), "v has n_k=5 but k has n_k=7"),
    (lambda: attention(Q[..., 0, 0, 0], K, V), r"q has shape \[2\]; .* \[..., n_q, d_k\]"),
    (lambda: attention(Q, K[:, :2], V[:, :2]), r"leading axes .*np.repeat"),
    (lambda: attention_weights(Q, K[:, :2]), "q and k have leading axes"),
    (lambda: attention(Q[..., :0], K[..., :0], V), "q has d_k=0"),
    (lambda: attention(Q, K, V, mask=np.zeros((5, 7))), "mask has dtype float64.*Pass mask == 0"),
    (lambda: attention(Q, K, V, mask=np.ones((5, 7), int)), "mask has dtype int64.*Pass mask == 1"),
    (lambda: attention(Q, K, V, mask=np.ones((7, 5), bool)), r"mask has shape \[7, 5\]"),
    (lambda: attention(Q, K, V, mask=np.ones((2, 7), bool)), r"mask\[:, None, None\]"),
    (lambda: attention(Q, K, V, mask=np.ones((9, 1, 1, 1, 7), bool)), "mask has shape"),
    (lambda: attention(Q, K, V, scale=math.nan), "scale is nan; it should be a finite number"),
    (lambda: attention(Q, K, V, scale="1"), "scale"),
    (lambda: attention(Q > 0, K, V), "q has dtype bool"),
    (lambda: attention(Q, K, [[1], [2, 3]]), "v has rows of different lengths"),
    (lambda: attention(torch.ones(1, 2), K, V), "q is a torch tensor"),
    (lambda: attention_backward(Q, K, V, Q), r"do has shape \[2, 3, 5, 4\]; .*\[2, 3, 5, 6\]"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()
