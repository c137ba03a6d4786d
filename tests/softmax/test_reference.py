"""Softmax, its gradient, its online form and its entropy against definitions and each other."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attention_src.softmax import reference
from attention_src.softmax.reference import (
    entropy_bits,
    log_sum_exp,
    naive_softmax,
    online_max_and_sum,
    online_softmax,
    softmax,
    softmax_backward,
    softmax_jacobian,
)

SCORES = st.floats(-1e4, 1e4, allow_subnormal=False)
ROWS = hnp.arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(1, 13)), elements=SCORES)


def by_definition(row):
    """Softmax in Python's own floats, with exact sums."""
    e = [math.exp(x - max(row)) for x in row]
    return [x / math.fsum(e) for x in e]


@given(ROWS)
def test_equals_the_definition(x):
    np.testing.assert_allclose(softmax(x), [by_definition(row) for row in x], rtol=1e-13)


@given(ROWS, st.integers(-1000, 1000))
def test_a_shift_changes_nothing(x, shift):
    x = np.round(x)  # whole numbers: the shift itself rounds nothing
    np.testing.assert_array_equal(softmax(x + shift), softmax(x))


@given(ROWS, st.floats(0.01, 100))
def test_lies_on_the_simplex_and_keeps_order(x, temperature):
    p = softmax(x, temperature=temperature)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=-1), 1, rtol=1e-12)
    for scores, weights in zip(x, p, strict=True):
        assert (np.diff(weights[np.argsort(scores, kind="stable")]) >= 0).all()


@given(ROWS, st.floats(0.01, 100))
def test_temperature_divides_the_scores(x, temperature):
    np.testing.assert_allclose(
        softmax(x, temperature=temperature), softmax(x / temperature), rtol=1e-9, atol=1e-300
    )


def test_temperature_runs_from_hardmax_to_uniform():
    x = np.array([1.0, 3.0, 3.0, 2.0])
    np.testing.assert_allclose(softmax(x, temperature=1e-3), reference.hardmax(x), atol=1e-100)
    np.testing.assert_allclose(softmax(x, temperature=1e9), 0.25, rtol=1e-8)
    assert softmax(np.float32([1, 2]), temperature=1e-60).tolist() == [0, 1]


def test_axis():
    x = np.random.default_rng(0).normal(size=(3, 5, 7))
    for function in (softmax, naive_softmax, reference.sparsemax, reference.entmax15):
        for axis in (0, 1, 2, -1, -2, -3):
            p = function(x, axis=axis)
            np.testing.assert_allclose(p.sum(axis=axis), 1, rtol=1e-12)
            moved = np.moveaxis(function(np.moveaxis(x, axis, -1)), -1, axis)
            np.testing.assert_allclose(p, moved, rtol=1e-12)


def test_the_known_example():
    # The first example of the chapter; the numbers come from exact arithmetic.
    assert softmax([4.2, 3.8, 0.6, -0.9]).round(3).tolist() == [0.587, 0.393, 0.016, 0.004]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtype_and_one_rounding(dtype):
    x = np.random.default_rng(1).normal(size=(5, 97)).astype(dtype)
    p = softmax(x)
    assert p.dtype == dtype
    np.testing.assert_array_equal(p, softmax(x.astype(np.float64)).astype(dtype))


def test_integers_are_computed_in_float64():
    p = softmax([[1, 2, 3]])
    assert p.dtype == np.float64
    np.testing.assert_allclose(p, softmax([[1.0, 2.0, 3.0]]), rtol=0)


def test_the_naive_form_breaks_where_its_dtype_ends():
    with np.errstate(over="ignore", invalid="ignore"):
        assert np.isnan(naive_softmax(np.float16([12, 11]))[0])
        assert np.isnan(naive_softmax(np.float32([89, 11]))[0])
        assert np.isnan(naive_softmax([710.0, 11.0])[0])
        assert np.isnan(naive_softmax([-1e4, -1e4])).all()  # 0 / 0
    assert naive_softmax(np.float16([1, 2])).dtype == np.float16
    assert np.isfinite(softmax(np.float16([12, 11]))).all()


def test_fully_masked_and_empty_rows():
    x = np.array([[-np.inf, -np.inf], [-np.inf, 0.0]])
    assert softmax(x).tolist() == [[0, 0], [0, 1]]
    assert log_sum_exp(x).tolist() == [-np.inf, 0]
    assert softmax(np.zeros((3, 0))).shape == (3, 0)
    assert log_sum_exp(np.zeros((3, 0))).tolist() == [-np.inf] * 3


def test_nan_stays_in_its_row():
    x = np.array([[0.0, np.nan, 1.0], [0.0, 1.0, 2.0], [np.inf, 0.0, 0.0]])
    for function in (softmax, reference.sparsemax, reference.entmax15, reference.hardmax):
        p = function(x)
        assert np.isnan(p[0]).all(), function.__name__
        assert np.isfinite(p[1]).all(), function.__name__
    assert np.isnan(softmax(x)[2]).any()  # inf - inf
    assert np.isnan(entropy_bits(softmax(x[:1]))).all()


def test_an_infinite_score_takes_all():
    x = np.array([[np.inf, 1.0], [-1e308, np.inf], [np.inf, np.inf], [np.inf, -np.inf], [1.0, 2.0]])
    np.testing.assert_array_equal(log_sum_exp(x)[:4], [np.inf] * 4)
    assert log_sum_exp(x)[4] == log_sum_exp(x[4]) == pytest.approx(2.313262)
    assert np.isnan(log_sum_exp([np.inf, np.nan]))
    for function in (reference.sparsemax, reference.entmax15, reference.hardmax):
        for p in (function(x), function(x.T, axis=0).T):
            np.testing.assert_allclose(p[:4], [[1, 0], [0, 1], [0.5, 0.5], [1, 0]], rtol=1e-15)
            np.testing.assert_array_equal(p[4], function(x[4]))
        assert np.isnan(function([np.inf, np.nan])).all()


def test_inputs_are_left_as_they_are():
    x = np.array([3.0, 1.0, 2.0])
    for name in reference.__all__:
        function = getattr(reference, name)
        before = x.copy()
        if name.startswith("online"):
            function([x])
        elif name == "softmax_backward":
            function(x, x)
        else:
            function(softmax(x) if name == "entropy_bits" else x)
        np.testing.assert_array_equal(x, before)


@given(ROWS)
def test_log_sum_exp(x):
    expected = [max(row) + math.log(math.fsum(math.exp(v - max(row)) for v in row)) for row in x]
    np.testing.assert_allclose(log_sum_exp(x), expected, rtol=1e-12, atol=1e-12)


@given(ROWS, st.data())
def test_online_over_any_split(x, data):
    hidden = data.draw(hnp.arrays(bool, x.shape))
    x = np.where(hidden, -np.inf, x)
    cuts = data.draw(st.lists(st.integers(0, x.shape[-1]), max_size=5))
    blocks = np.split(x, sorted(cuts), axis=-1)  # empty blocks and hidden blocks are among them
    np.testing.assert_allclose(online_softmax(iter(blocks)), softmax(x), rtol=1e-12, atol=1e-300)
    m, l = online_max_and_sum(iter(blocks))
    np.testing.assert_array_equal(m[..., 0], x.max(axis=-1))
    with np.errstate(divide="ignore"):
        lse = np.where(l > 0, m, 0) + np.log(l)
    np.testing.assert_allclose(lse[..., 0], log_sum_exp(x), rtol=1e-12, atol=1e-12)


@given(ROWS)
def test_jacobian_is_the_derivative(x):
    x = x / 1e3  # not so sharp that every difference vanishes
    J = softmax_jacobian(softmax(x))
    h = 1e-5
    for j in range(x.shape[-1]):
        step = h * np.eye(x.shape[-1])[j]
        numeric = (softmax(x + step) - softmax(x - step)) / (2 * h)
        np.testing.assert_allclose(J[..., :, j], numeric, atol=1e-9)
    np.testing.assert_allclose(J.sum(axis=-1), 0, atol=1e-15)


@given(ROWS, st.integers(0, 2**32 - 1))
def test_backward_is_the_transposed_jacobian(x, seed):
    p = softmax(x / 1e3)
    dp = np.random.default_rng(seed).normal(size=p.shape)
    expected = np.einsum("rij,ri->rj", softmax_jacobian(p), dp)
    np.testing.assert_allclose(softmax_backward(p, dp), expected, atol=1e-14)


@given(ROWS)
def test_entropy_lies_between_one_hot_and_uniform(x):
    h = entropy_bits(softmax(x))
    assert (h >= 0).all() and (h <= np.log2(x.shape[-1]) + 1e-12).all()


def test_entropy_examples():
    assert entropy_bits([0, 1, 0]) == 0
    assert entropy_bits([[0.25] * 4, [0.5, 0.5, 0, 0]]).tolist() == [2, 1]
    assert entropy_bits(np.zeros((2, 3))).tolist() == [0, 0]  # fully masked rows
    assert round(float(entropy_bits(softmax([8, 7, 3, 1]))), 3) == 0.888
    np.testing.assert_allclose(entropy_bits([[0.5, 0.25], [0.5, 0.75]], axis=0)[0], 1)


BAD = [
    (lambda: softmax([1, 2], temperature=0), "temperature is 0.*hardmax"),
    (lambda: softmax([1, 2], temperature=-1), "temperature is -1"),
    (lambda: softmax([1, 2], temperature=math.inf), "temperature is inf.*uniform"),
    (lambda: softmax([1, 2], temperature=math.nan), "temperature is nan"),
    (lambda: softmax(3.0), "x is a single number"),
    (lambda: softmax(["a"]), "x has dtype <U1.*real numbers"),
    (lambda: softmax([True, False]), "x has dtype bool"),
    (lambda: softmax([1j]), "x has dtype complex"),
    (lambda: softmax([[1], [2, 3]]), "x has rows of different lengths"),
    (lambda: softmax([1, 2], axis=1), "axis 1 is out of bounds"),
    (lambda: online_softmax([]), "blocks is empty"),
    (lambda: online_softmax([[1.0], 2.0]), r"blocks\[1\] is a single number"),
    (lambda: online_softmax([np.ones((2, 1)), np.ones((3, 1))]), r"blocks\[1\] has rows \[3\]"),
    (lambda: softmax_jacobian(1.0), "p is a single number"),
    (lambda: softmax_backward([1.0], [1.0, 2.0]), r"dp has shape \[2\] but p has shape \[1\]"),
    (lambda: entropy_bits([4.2, 3.8]), r"p should hold weights.*softmax\(p\)"),
    (lambda: entropy_bits([1.5, -0.5]), "p should hold weights"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_torch_tensors_are_sent_to_the_layer(untyped):
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"x is a torch tensor.*layer instead of reference"):
        softmax(torch.ones(2))
