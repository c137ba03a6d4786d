"""The gates catch what they should: planted bugs, each with the gate that sees it."""

import numpy as np
import pytest
import torch

from attention_src.attention import reference
from attention_src.attention.layer import attention
from attention_src.attention.masks import causal_mask, window_mask
from attention_src.testing import (
    assert_sharp,
    assert_within_budget,
    make_qkv,
    probe_mask,
)


def planted(bug):
    """Causal attention in NumPy with one bug."""

    def attend(q, k, v):
        n_q, n_k = q.shape[-2], k.shape[-2]
        scale = q.shape[-1] ** -0.5
        visible = causal_mask(n_q, n_k)
        if bug == "one key dropped":
            visible[n_q // 2, 0] = False
        if bug == "the last row loses its own key":
            visible[-1, -1] = False
        if bug == "top-left":
            visible = np.tri(n_q, n_k, dtype=bool)
        if bug == "one key too many":
            visible = np.tri(n_q, n_k, n_k - n_q + 1, dtype=bool)
        if bug == "scale off by 0.3 %":
            scale *= 1.003
        s = np.where(visible, scale * (q @ k.swapaxes(-1, -2)), -np.inf)
        if bug == "-1e9 is rounded away":
            s = np.where(visible, s, -10)
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
        if bug == "not normalised":
            p = e
        return p @ v

    return attend


def test_the_probe_passes_what_is_right():
    for n_q, n_k in ((5, 5), (5, 11), (1, 7)):
        p = probe_mask(planted("none"), causal_mask(n_q, n_k))
        q, k, _ = make_qkv(n_q, n_k, 16, batch=1, n_heads=1)
        expected = reference.attention_weights(q, k, causal=True)[0, 0]
        np.testing.assert_allclose(p, expected, rtol=1e-12)
    probe_mask(lambda q, k, v: np.zeros((1, 1, 3, 5)), np.zeros((3, 5), dtype=bool))


PROBED = {
    "one key dropped": "visible but without weight",
    "the last row loses its own key": "visible but without weight",
    "top-left": "visible but without weight",
    "one key too many": "hidden but with weight",
    "-1e9 is rounded away": "hidden but with weight",
    "not normalised": "sum to",
}


@pytest.mark.parametrize(("bug", "message"), PROBED.items())
def test_the_probe_catches(bug, message):
    with pytest.raises(AssertionError, match=message):
        probe_mask(planted(bug), causal_mask(61, 97))


def test_the_probe_catches_nan_and_leaks_by_a_window():
    with pytest.raises(AssertionError, match="weight"):
        probe_mask(lambda q, k, v: planted("none")(q, k, v) * np.nan, causal_mask(3))
    with pytest.raises(AssertionError, match="hidden but with weight"):
        probe_mask(planted("none"), window_mask(9, 9, 3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, np.float16])
def test_the_probe_in_every_dtype(dtype):
    if dtype is np.float16:
        probe_mask(
            lambda *x: reference.attention(*x, causal=True), causal_mask(63, 65), dtype=dtype
        )
    else:
        probe_mask(lambda *x: attention(*x, causal=True), causal_mask(63, 65), dtype=dtype)


def half_precision_pair():
    """q, k, v in float16, the exact answer, and a plain implementation's."""
    q, k, v = make_qkv(67, 1031, 64, batch=1, n_heads=2, dtype=np.float16)
    exact = reference.attention(*(x.astype(np.float64) for x in (q, k, v)))
    s = (q @ k.swapaxes(-1, -2)) * np.float16(0.125)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return (q, k, v), exact, (e / e.sum(axis=-1, keepdims=True)) @ v


def test_the_budget_catches_what_a_tolerance_misses():
    inputs, exact, plain = half_precision_pair()
    assert_within_budget(plain, exact, plain)
    assert_within_budget(exact.astype(np.float16), exact, plain)
    wide = [x.astype(np.float64) for x in inputs]
    for factor in (1.003, 0.995):  # the scale is off by a little
        wrong = reference.attention(*wide, scale=0.125 * factor)
        assert np.abs(wrong - exact).max() < 1e-2, "a usual tolerance lets this pass"
        with pytest.raises(AssertionError, match="exceeds the budget"):
            assert_within_budget(wrong.astype(np.float16), exact, plain)


def test_the_sharp_gate_catches_a_slightly_wrong_scale():
    q, k, v = make_qkv(61, 97, 16, dtype=np.float32)
    exact = reference.attention(*(x.astype(np.float64) for x in (q, k, v)), causal=True)
    assert_sharp(planted("none")(q, k, v), exact)
    with pytest.raises(AssertionError, match="exceeds"):
        assert_sharp(planted("scale off by 0.3 %")(q, k, v), exact)


def test_infinities_and_nan_must_agree():
    exact = np.array([1.0, -np.inf])
    assert_sharp(np.array([1.0, -np.inf]), exact)
    assert_within_budget(np.array([1.0, -np.inf]), exact, np.array([1.0, -np.inf]))
    for wrong in ([1.0, -1e30], [1.0, np.inf], [1.0, np.nan], [np.nan, -np.inf], [np.inf, -np.inf]):
        with pytest.raises(AssertionError):
            assert_sharp(np.array(wrong), exact)
        with pytest.raises(AssertionError):
            assert_within_budget(np.array(wrong), exact, np.array([1.1, -np.inf]))
    with pytest.raises(AssertionError, match=r"o: NaN at \(0,\)"):
        assert_sharp(np.array([np.nan, -np.inf]), exact)
    nothing = np.full(2, -np.inf)
    assert_sharp(nothing, nothing)
    assert_sharp(np.zeros((0, 3)), np.zeros((0, 3)))


def test_the_budget_reads_the_dtype_of_what_is_tested():
    exact = np.array([1.0])
    for dtype, eps in ((torch.bfloat16, 2**-7), (torch.float16, 2**-10), (torch.float32, 2**-23)):
        one = torch.ones(1, dtype=dtype)
        assert_within_budget(one, exact * (1 + eps / 2), one)
        with pytest.raises(AssertionError, match="exceeds the budget"):
            assert_within_budget(one * (1 + eps), exact, one)


def test_make_qkv():
    q, k, v = make_qkv(5, 7, 11, 13, batch=2, n_heads=6, n_kv_heads=3)
    assert (q.shape, k.shape, v.shape) == ((2, 6, 5, 11), (2, 3, 7, 11), (2, 3, 7, 13))
    tensors = make_qkv(5, 7, 11, 13, n_heads=6, n_kv_heads=3, dtype=torch.bfloat16)
    for array, tensor in zip((q, k, v), tensors, strict=True):
        assert tensor.dtype == torch.bfloat16
        assert torch.equal(tensor, torch.from_numpy(array).bfloat16())
    assert make_qkv(3)[2].shape == (2, 3, 3, 5)
    np.testing.assert_array_equal(make_qkv(size=8.0)[0], 8 * make_qkv()[0])


BAD = [
    (lambda: make_qkv(-1), "n_q is -1"),
    (lambda: make_qkv(n_heads=4, n_kv_heads=3), "does not divide"),
    (lambda: make_qkv(dtype=np.int32), "dtype is int32; it should be floating point"),
    (lambda: make_qkv(dtype=torch.int32), "dtype is torch.int32; it should be floating point"),
    (lambda: assert_sharp(np.ones(2), np.ones(3)), "o: shapes differ"),
    (lambda: assert_sharp(np.ones(2, np.float16), np.ones(2)), "the sharp gate is for float32"),
    (
        lambda: assert_within_budget(np.ones(1), np.ones(1), np.full(1, np.inf)),
        "plain o is not finite; a budget drawn from it would allow anything",
    ),
    (lambda: assert_within_budget(np.ones(2), np.ones(2), np.ones(3)), "shapes differ"),
    (lambda: probe_mask(planted("none"), np.ones((2, 2))), "visible has dtype float64"),
    (lambda: probe_mask(planted("none"), np.ones(2, bool)), r"visible has shape \[2\]"),
    (lambda: probe_mask(lambda q, k, v: q, np.ones((2, 2), bool)), "o has shape"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()
