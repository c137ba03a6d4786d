"""The NumPy references against their definitions, and against what is known by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_src.linear.reference import (
    delta_rule,
    gated_delta_rule,
    gated_linear_attention,
    linear_attention,
)
from attention_src.linear.reference_delta import solve
from attention_src.linear.reference_parts import features
from linear.cases import FORMS, HEADS, MECHANISMS, PER_MECHANISM, definition, inputs, on_arrays


@pytest.mark.parametrize("name", MECHANISMS)
@PER_MECHANISM
@given(
    n=st.integers(0, 23),
    d_k=st.integers(1, 6),
    d_v=st.integers(1, 6),
    form=st.sampled_from(["parallel", "recurrent", "chunkwise"]),
    chunk=st.integers(1, 30),
    cut=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_form_is_the_definition(name, n, d_k, d_v, form, chunk, cut, seed):
    """Also when the sequence comes in two parts, with the state handed over."""
    tensors = inputs(name, n, d_k, d_v, seed=seed)
    arguments = [x.numpy() for x in tensors]
    options = dict(form=form, chunk=chunk)
    right = definition(name, *tensors).numpy()
    close = dict(rtol=1e-9, atol=1e-10 * max(1, np.abs(right).max(initial=0)))
    np.testing.assert_allclose(on_arrays(name)(*arguments, **options), right, **close)
    if name != "bidirectional":
        at = round(cut * n)
        first, second = [x[:, :, :at] for x in arguments], [x[:, :, at:] for x in arguments]
        o_1, state = on_arrays(name)(*first, return_state=True, **options)
        o_2, end = on_arrays(name)(*second, initial_state=state, return_state=True, **options)
        np.testing.assert_allclose(np.concatenate([o_1, o_2], axis=2), right, **close)
        once = on_arrays(name)(*arguments, return_state=True, form="recurrent")[1]
        np.testing.assert_allclose(end, once, rtol=1e-9, atol=1e-10 * max(1, np.abs(once).max()))


def test_a_case_by_hand():
    # Identity features, γ = 1/2: at position 1 the weights are 3·1·1/2 and 3·2.
    q, k, v = np.array([[1.0], [3.0]]), np.array([[1.0], [2.0]]), np.array([[10.0], [20.0]])
    o = linear_attention(q, k, v, feature_map=None, normalize=False, decay=0.5)
    assert o.tolist() == [[10.0], [3 * 0.5 * 10 + 6 * 20]]
    o = linear_attention(q, k, v, feature_map=None, decay=0.5)
    assert o.tolist() == [[10.0], [135 / 7.5]]
    # β = 1/2 replaces half of the value, β = 1 all of it.
    key, values = np.ones((2, 1)), np.array([[4.0], [10.0]])
    assert delta_rule(key, key, values, np.array([0.5, 1.0])).tolist() == [[2.0], [10.0]]
    half = np.log(np.array([1.0, 0.5]))
    o = gated_delta_rule(key, key, values, np.array([0.5, 0.5]), half)
    assert o.tolist() == [[2.0], [1.0 + 0.5 * (10 - 1.0)]]
    o = gated_linear_attention(key, key, values, half[:, None])
    assert o.tolist() == [[4.0], [2.0 + 10.0]]


def test_the_delta_rule_recalls_what_linear_attention_blurs():
    """Orthonormal keys, each written twice: with β = 1 only the second value is left."""
    keys = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    k = np.concatenate([keys, keys])
    v = np.random.default_rng(1).standard_normal((10, 3))
    _, state = delta_rule(k, k, v, np.ones(10), return_state=True)
    np.testing.assert_allclose(keys @ state, v[5:], atol=1e-14)
    _, state = linear_attention(
        k, k, v, feature_map=None, normalize=False, return_state=True, form="recurrent"
    )
    np.testing.assert_allclose(keys @ state, v[:5] + v[5:], atol=1e-14)


def test_feature_maps():
    x = np.array([[-2.0, 0.0, 3.0]])
    assert features(x, None) is x
    np.testing.assert_allclose(features(x, "elu"), [[np.exp(-2), 1, 4]], rtol=1e-15)
    assert features(x, "relu").tolist() == [[0, 0, 3]]
    y = np.array([[0.5, -1.0, 2.0]])
    s = (x * y).sum()
    w = features(x, "taylor") @ features(y, "taylor").T
    np.testing.assert_allclose(w, [[1 + s + s**2 / 2]], rtol=1e-14)


def test_taylor_approaches_softmax_for_small_scores():
    from attention_src.attention.reference import attention

    q, k, v = (0.05 * x.numpy() for x in inputs("taylor", 19, 5, 3))
    wanted = attention(q, k, v, causal=True, scale=1.0)
    actual = linear_attention(q, k, v, feature_map="taylor")
    # exp(s) is 1 + s + s²/2 and a rest of about s³/6; the rests of two weights may add.
    rest = np.abs(q @ k.swapaxes(-1, -2)).max() ** 3 / 3
    assert 0 < np.abs(actual - wanted).max() < rest * np.abs(v).max() < 1e-6


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_row_without_weight_is_zero(form):
    q, k, v = (x.numpy() for x in inputs("relu", 9, 3, 2))
    q[:, :, 4] = -1
    for options in (dict(), dict(causal=False), dict(decay=0.5)):
        o = linear_attention(q, k, v, feature_map="relu", **options, **form)
        assert (o[:, :, 4] == 0).all() and np.isfinite(o).all()


@pytest.mark.parametrize("name", MECHANISMS)
def test_dtypes_and_leading_axes(name):
    arguments = [x.numpy() for x in inputs(name, 7, 3, 2)]
    run = on_arrays(name)
    expected, state = run(*arguments, return_state=True)
    assert expected.dtype == state.dtype == np.float64
    halves = [x.astype(np.float16) for x in arguments]
    o, state = run(*halves, return_state=True)
    assert o.dtype == np.float16 and state.dtype == np.float64
    np.testing.assert_array_equal(
        o, run(*(x.astype(np.float64) for x in halves)).astype(np.float16)
    )
    if "decay" not in MECHANISMS[name][1]:
        alone = run(*(x[1, 2] for x in arguments))
        np.testing.assert_allclose(alone, expected[1, 2], rtol=1e-12, atol=1e-14)
    if len(arguments) == 3:
        q, k, v = arguments
        shared = run(q, k[:, :1], v[:1])
        repeated = run(q, np.repeat(k[:, :1], HEADS, 1), np.repeat(v[:1], 2, 0))
        np.testing.assert_allclose(shared, repeated, rtol=1e-12, atol=1e-14)


def test_whole_numbers_are_answered_in_float64():
    x = np.arange(6).reshape(3, 2)
    o = linear_attention(x, x, x, feature_map="relu")
    assert o.dtype == np.float64
    np.testing.assert_array_equal(o, linear_attention(x * 1.0, x, x, feature_map="relu"))


def test_non_causal_takes_any_number_of_keys():
    q, k, v = inputs("elu", 5, 3, 2)[0].numpy(), *(x.numpy() for x in inputs("elu", 8, 3, 2)[1:])
    every = [linear_attention(q, k, v, causal=False, **form) for form in FORMS]
    for o in every:
        np.testing.assert_allclose(o, every[0], rtol=1e-12)
    for form in FORMS:
        _, state = linear_attention(
            q, k[:, :, :3], v[:, :, :3], causal=False, return_state=True, **form
        )
        o = linear_attention(q, k[:, :, 3:], v[:, :, 3:], causal=False, initial_state=state, **form)
        np.testing.assert_allclose(o, every[0], rtol=1e-12)
    assert (linear_attention(q, k[:, :, :0], v[:, :, :0], causal=False) == 0).all()


def test_solve():
    rng = np.random.default_rng(0)
    lower, b = rng.standard_normal((2, 9, 9)), rng.standard_normal((2, 9, 4))
    before = b.copy()
    np.testing.assert_allclose(
        solve(lower, b), np.linalg.solve(np.eye(9) + np.tril(lower, -1), b), rtol=1e-9
    )
    np.testing.assert_array_equal(b, before)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_small_weights_count_as_much_as_large_ones(form):
    """Keys of −40 have features of 4e-18; dividing by a sum as small still works."""
    q, k, v = (x.numpy() for x in inputs("elu", 9, 3, 2))
    k = -np.abs(k)
    expected = linear_attention(q, k, v, **form)
    np.testing.assert_allclose(linear_attention(q, k - 40, v, **form), expected, rtol=1e-9)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("n", [63, 64, 65])
def test_sizes_around_a_chunk(name, n):
    tensors = inputs(name, n, 5, 3)
    right = definition(name, *tensors).numpy()
    o = on_arrays(name)(*(x.numpy() for x in tensors))
    np.testing.assert_allclose(o, right, rtol=1e-9, atol=1e-11 * np.abs(right).max())
