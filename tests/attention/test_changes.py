"""The layer with its scores changed: bias, softcap, learned sinks; and autocast."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_src.attention import reference
from attention_src.attention.bias import Alibi, alibi_slopes
from attention_src.attention.layer import (
    attention,
    attention_lse,
    attention_scores,
    attention_weights,
)
from attention_src.attention.masks import padding_mask
from attention_src.testing import make_qkv

from .test_gates import DTYPES, IMPLS, exact, inputs, repeat_heads, results


def given_options(draw, H, n_q, n_k, seed):
    """Every option that changes scores, as NumPy arrays."""
    rng = np.random.default_rng(seed)
    bias = draw(st.sampled_from([None, "alibi", (2, 1, 1, n_k), (H, n_q, n_k), (H, 1, 1), (n_k,)]))
    if bias == "alibi":
        bias = Alibi(alibi_slopes(H))
    elif bias is not None:
        bias = np.where(rng.random(bias) < 0.2, -np.inf, rng.normal(size=bias))
    return dict(
        bias=bias,
        mask=draw(st.sampled_from([None, padding_mask([n_k, n_k // 2], n_k)])),
        causal=draw(st.booleans()),
        scale=draw(st.sampled_from([None, 0.0, -0.3])),
        softcap=draw(st.sampled_from([None, 0.8, 20.0])),
        sink_logits=draw(st.sampled_from([None, rng.normal(size=H)])),
    )


@pytest.mark.slow
@given(st.data())
def test_every_impl_is_the_reference(data):
    draw = data.draw
    n_q, n_k, n_kv_heads, group = (draw(st.integers(a, b)) for a, b in [(1, 9)] * 2 + [(1, 2)] * 2)
    dtype, seed = draw(st.sampled_from(DTYPES)), draw(st.integers(0, 2**16))
    H = n_kv_heads * group
    arguments = inputs((n_q, n_k, 3, 2, H, n_kv_heads), dtype, seed=seed)
    options = given_options(draw, H, n_q, n_k, seed)
    right = exact(*arguments, **options)
    able = options["softcap"] is None and options["sink_logits"] is None
    tensors = dict(options)
    if options["sink_logits"] is not None:
        tensors["sink_logits"] = torch.from_numpy(options["sink_logits"])
    for impl in IMPLS if able else ["dense"]:
        actual = results(attention, *arguments, impl=impl, **tensors)
        for a, e in zip(actual, right, strict=True):
            assert a.dtype == dtype
            bound = 30 * torch.finfo(dtype).eps
            np.testing.assert_allclose(a.double(), e, rtol=bound, atol=bound * 8)
    q, k, *_ = arguments
    (K,) = repeat_heads(q, k.double().numpy())
    Q, bound = q.double().numpy(), dict(rtol=1e-4, atol=1e-5)
    for ours, theirs in (
        (attention_weights, reference.attention_weights),
        (attention_lse, reference.attention_lse),
    ):
        np.testing.assert_allclose(ours(q, k, **tensors), theirs(Q, K, **options), **bound)


def test_scores_entry_by_entry():
    q, k, _ = make_qkv(3, 5, n_heads=2, dtype=torch.float64)
    changes = dict(scale=2.0, softcap=1.5, bias=Alibi([0.5, 0.25]))
    s = attention_scores(q, k, causal=True, **changes)
    for b, h, i, j in np.ndindex(2, 2, 3, 5):
        bounded = 1.5 * np.tanh(2.0 * (q[b, h, i] @ k[b, h, j]).item() / 1.5)
        expected = bounded - [0.5, 0.25][h] * abs(i + 2 - j) if j <= i + 2 else -np.inf
        assert s[b, h, i, j].item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("impl", IMPLS)
def test_gradcheck(impl):
    q, k, v = make_qkv(3, 5, 2, 1, n_heads=2, n_kv_heads=1, dtype=torch.float64)
    for shape in ((2, 1, 3, 5), (2, 1, 1)):
        bias, sinks = torch.randn(shape).double(), torch.randn(2).double()
        leaves = [x.requires_grad_() for x in (q, k, v, bias, sinks)]

        def function(q, k, v, bias, sinks):
            changes = dict(softcap=0.8, sink_logits=sinks) if impl == "dense" else {}
            return attention(q, k, v, bias=bias, causal=True, impl=impl, **changes)

        used = leaves if impl == "dense" else leaves[:4]
        assert torch.autograd.gradcheck(lambda *x: function(*x, *leaves[len(x) :]), used)  # noqa: B023


def test_auto_is_dense_where_torchs_function_cannot():
    arguments = make_qkv(5, 7, dtype=torch.float32)
    for options in (dict(softcap=1.0), dict(sink_logits=torch.zeros(3))):
        dense = attention(*arguments, impl="dense", **options)
        assert torch.equal(attention(*arguments, **options), dense)
        with pytest.raises(ValueError, match=f'impl is "sdpa", which has no {next(iter(options))}'):
            attention(*arguments, impl="sdpa", **options)
    bias = torch.randn(5, 7)
    torch.testing.assert_close(
        attention(*arguments, bias=bias),
        attention(*arguments, bias=bias, impl="sdpa"),
        rtol=0,
        atol=0,
    )


def test_autocast_changes_no_bit():
    q, k, v = make_qkv(17, 19, dtype=torch.float32)
    changes = dict(bias=torch.randn(3, 17, 19), softcap=2.0, sink_logits=torch.randn(3))
    for function in (
        lambda: attention(q, k, v, **changes),
        lambda: attention(q, k, v, impl="sdpa"),
        lambda: attention(q=q, k=k, v=v, impl="dense", causal=True),
        lambda: attention_weights(q, k, **changes),
        lambda: attention_lse(q, k, **changes),
        lambda: attention_scores(q, k, causal=True),
    ):
        expected = function()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            actual = function()
        assert actual.dtype == torch.float32 and torch.equal(actual, expected)


Q, K, V = (torch.ones(2, 6, 5, 4), torch.ones(2, 3, 7, 4), torch.ones(2, 3, 7, 8))
BAD = [
    (dict(bias=torch.ones(5, 7, dtype=torch.bool)), "bias is torch.bool;.*To hide keys pass mask="),
    (dict(bias=1.0), "bias is float; it should hold floating-point numbers"),
    (dict(bias=torch.ones(3, 5, 7)), r"bias has shape \[3, 5, 7\].*\[2, 6, 5, 7\]"),
    (dict(bias=Alibi(torch.ones(3))), r"bias has slopes \[3\] but q has H=6 heads"),
    (dict(mask=torch.randn(5, 7)), "mask has dtype torch.float32.*bias="),
    (dict(softcap=0.0), "softcap is 0.0; it should be a finite number above 0"),
    (dict(softcap=float("nan")), "softcap is nan"),
    (dict(sink_logits=torch.ones(3)), r"sink_logits has shape \[3\]; it should be \[H\] = \[6\]"),
    (dict(sink_logits=np.ones(6)), "sink_logits is a ndarray; it should be a torch tensor"),
    (dict(sink_logits=torch.ones(6).long()), "sink_logits has dtype torch.int64"),
    (dict(sink_logits=torch.ones(6, device="meta")), "sink_logits is torch.float32 on meta"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_input(untyped, options, message):
    with pytest.raises(ValueError, match=message):
        attention(Q, K, V, **options)
