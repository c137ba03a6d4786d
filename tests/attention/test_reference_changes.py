"""The oracle with its scores changed, against loops in exact sums and finite differences."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_src.attention.bias import Alibi, alibi_slopes
from attention_src.attention.reference import (
    attention,
    attention_backward,
    attention_lse,
    attention_weights,
)
from attention_src.testing import make_qkv


def by_loops(q, k, v, visible, bias, *, scale, softcap, sink):
    """One head, entry by entry, with exact sums: o [n_q, d_v] and lse [n_q]."""
    o, lse = np.zeros((len(q), v.shape[-1])), np.full(len(q), -np.inf)
    for i in range(len(q)):
        scores = {}
        for j in range(len(k)):
            s = scale * math.fsum(q[i] * k[j])
            s = softcap * math.tanh(s / softcap) if softcap else s
            if visible[i][j] and bias[i][j] > -np.inf:
                scores[j] = s + bias[i][j]
        terms = [*scores.values(), *([] if sink in (None, -np.inf) else [sink])]
        if not terms:
            continue
        most = max(terms)
        total = math.fsum(math.exp(s - most) for s in terms)
        lse[i] = most + math.log(total)
        for c in range(v.shape[-1]):
            o[i, c] = math.fsum(math.exp(s - most) * v[j, c] for j, s in scores.items()) / total
    return o, lse


@st.composite
def cases(draw):
    """Inputs of two heads, every option of attention, and the bias as a matrix of each head."""
    n_q, n_k, seed = draw(st.integers(0, 6)), draw(st.integers(0, 6)), draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    kind = draw(st.sampled_from([None, "alibi", "heads", "keys", "one"]))
    shape = dict(heads=(2, n_q, n_k), keys=(n_k,), one=(1, 1, 1)).get(kind)
    bias = Alibi(alibi_slopes(2)) if kind == "alibi" else None
    if shape is not None:
        bias = np.where(rng.random(shape) < 0.2, -np.inf, rng.normal(size=shape))
    options = dict(
        bias=bias,
        mask=rng.random((n_q, n_k)) < 0.7 if draw(st.booleans()) else None,
        causal=draw(st.booleans()),
        scale=draw(st.sampled_from([0.0, 1.0, -0.7])),
        softcap=draw(st.sampled_from([None, 0.5, 30.0])),
        sink_logits=draw(st.sampled_from([None, [-1.0, 2.0], [-np.inf, 0.0]])),
    )
    return make_qkv(n_q, n_k, 3, 2, batch=1, n_heads=2, seed=seed), options


@given(cases())
def test_equals_the_loops(case):
    (q, k, v), options = case
    n_q, n_k = q.shape[2], k.shape[2]
    visible = np.ones((n_q, n_k), bool) if options["mask"] is None else options["mask"].copy()
    if options["causal"]:
        for i in range(n_q):
            visible[i, max(0, i + n_k - n_q + 1) :] = False
    bias = options["bias"]
    if isinstance(bias, Alibi):
        i, j = np.arange(n_q)[:, None], np.arange(n_k)
        bias = np.array([1 / 16, 1 / 256])[:, None, None] * -abs(i + n_k - n_q - j)
    bias = np.broadcast_to(0.0 if bias is None else bias, (2, n_q, n_k))
    o, lse = attention(q, k, v, **options), attention_lse(q, k, **options)
    p = attention_weights(q, k, **options)
    for h in range(2):
        sink = None if options["sink_logits"] is None else options["sink_logits"][h]
        changes = dict(scale=options["scale"], softcap=options["softcap"], sink=sink)
        right = by_loops(q[0, h], k[0, h], v[0, h], visible, bias[h], **changes)
        for actual, expected in zip((o[0, h], lse[0, h]), right, strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(p[0, h] @ v[0, h], right[0], rtol=1e-11, atol=1e-13)
        np.testing.assert_array_equal(p[0, h] > 0, visible & (bias[h] > -np.inf))


@given(cases())
def test_backward_equals_finite_differences(case):
    (q, k, v), options = case
    rng = np.random.default_rng(0)
    do = rng.normal(size=(1, 2, q.shape[2], 2))
    direction = [rng.normal(size=x.shape) for x in (q, k, v)]
    h = 1e-5

    def loss(step):
        moved = [x + step * dx for x, dx in zip((q, k, v), direction, strict=True)]
        return (attention(*moved, **options) * do).sum()

    gradients = attention_backward(q, k, v, do, **options)
    slope = sum((g * dx).sum() for g, dx in zip(gradients, direction, strict=True))
    assert slope == pytest.approx((loss(h) - loss(-h)) / (2 * h), rel=1e-6, abs=1e-7)


def test_a_softcap_bounds_logits_of_1e4():
    q, k, v = make_qkv(5, 7, size=1e4)
    raw = q @ k.swapaxes(-1, -2) * 5**-0.5
    assert abs(raw).max() > 1e4
    p = attention_weights(q, k, softcap=2.0)
    expected = np.exp(2 * np.sign(raw))  # tanh of such numbers is 1
    large = (abs(raw) > 100).all(axis=-1)
    assert large.sum() > 10
    np.testing.assert_allclose(p[large], (expected / expected.sum(-1, keepdims=True))[large])
    gradients = attention_backward(q, k, v, np.ones((2, 3, 5, 5)), softcap=2.0)
    assert all(np.isfinite(g).all() for g in gradients)
    assert abs(gradients[0][large]).max() < 1e-12, "a score at its bound does not move"


def test_a_sink_is_a_key_without_a_value():
    q, k, v = make_qkv(5, 7)
    sinks = np.array([-2.0, 0.0, 3.0])
    # One more key: its score is the sink, its value 0.
    bias = np.zeros((3, 5, 8))
    bias[..., 7] = sinks[:, None]
    K, V = (np.concatenate([x, np.zeros((2, 3, 1, 5))], axis=2) for x in (k, v))
    expected = attention(q, K, V, bias=bias)
    np.testing.assert_allclose(attention(q, k, v, sink_logits=sinks), expected, rtol=1e-12)
    lse = attention_lse(q, K, bias=bias)
    np.testing.assert_allclose(attention_lse(q, k, sink_logits=sinks), lse, rtol=1e-12)
    # No key at all: the sink takes everything.
    empty = dict(sink_logits=sinks, mask=np.zeros((5, 7), bool))
    assert not attention(q, k, v, **empty).any()
    assert (attention_lse(q, k, **empty) == sinks[:, None]).all()
    assert not any(g.any() for g in attention_backward(q, k, v, np.ones((2, 3, 5, 5)), **empty))


Q, K, V = np.ones((2, 3, 5, 4)), np.ones((2, 3, 7, 4)), np.ones((2, 3, 7, 6))
BAD = [
    (dict(bias=np.ones((5, 7), bool)), "bias has dtype bool"),
    (dict(bias=np.ones((7, 5))), r"bias has shape \[7, 5\], which does not broadcast to .*\[2, 3,"),
    (dict(bias=np.ones((1, 2, 3, 5, 7))), r"bias has shape \[1, 2, 3, 5, 7\]"),
    (dict(bias=Alibi([0.5])), r"bias has slopes \[1\] but q has H=3 heads"),
    (dict(mask=np.zeros((5, 7)) + 0.5), r"mask has dtype float64.*bias="),
    (dict(softcap=0), "softcap is 0; it should be a finite number above 0"),
    (dict(softcap=-1.0), "softcap is -1.0"),
    (dict(softcap=math.inf), "softcap is inf; .* or None for no bound"),
    (dict(softcap="1"), "softcap is '1'"),
    (dict(sink_logits=np.ones(2)), r"sink_logits has shape \[2\]; it should be \[H\] = \[3\]"),
    (dict(sink_logits=0.0), r"sink_logits has shape \[\]"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_input(untyped, options, message):
    for call in (
        lambda: attention(Q, K, V, **options),
        lambda: attention_weights(Q, K, **options),
        lambda: attention_lse(Q, K, **options),
        lambda: attention_backward(Q, K, V, np.ones((2, 3, 5, 6)), **options),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_one_head_without_an_axis_has_no_slopes_and_no_sinks(untyped):
    for options, message in (
        (dict(bias=Alibi([0.5])), "but q has no axis for heads"),
        (dict(sink_logits=np.ones(1)), "sink_logits is given but the scores have shape"),
    ):
        with pytest.raises(ValueError, match=message):
            attention(Q[0, 0], K[0, 0], V[0, 0], **options)
