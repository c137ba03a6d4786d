"""Sparsemax, entmax-1.5, hardmax and sigmoid against an independent numeric solution."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attention_src.softmax.reference import (
    entmax15,
    hardmax,
    sigmoid_weights,
    softmax,
    sparsemax,
)

SCORES = st.one_of(
    st.floats(-3, 3, allow_subnormal=False), st.floats(-1e4, 1e4, allow_subnormal=False)
)
ROWS = hnp.arrays(np.float64, st.integers(1, 13), elements=SCORES)


def by_bisection(x, weight):
    """The weights whose sum is 1, by bisection on the threshold: no sorting, no support."""
    low, high = max(x) - 2, max(x)  # sum at least 1, sum 0
    for _ in range(200):
        middle = (low + high) / 2
        total = math.fsum(weight(v, middle) for v in x)
        low, high = (middle, high) if total >= 1 else (low, middle)
    return [weight(v, low) for v in x]


@given(ROWS)
def test_sparsemax_is_the_projection(x):
    expected = by_bisection(x, lambda v, tau: max(v - tau, 0))
    np.testing.assert_allclose(sparsemax(x), expected, atol=1e-11)


@given(ROWS)
def test_entmax_solves_its_equation(x):
    expected = by_bisection(x, lambda v, tau: max((v - tau) / 2, 0) ** 2)
    np.testing.assert_allclose(entmax15(x), expected, atol=1e-10)


@given(ROWS)
def test_sparsemax_is_nearer_than_any_corner_mixture(x):
    p = sparsemax(x)
    for other in (softmax(x), hardmax(x), np.full(len(x), 1 / len(x))):
        assert np.linalg.norm(x - p) <= np.linalg.norm(x - other) * (1 + 1e-12)


@pytest.mark.parametrize("rule", [sparsemax, entmax15, hardmax])
@given(x=ROWS, shift=st.integers(-1000, 1000))
def test_simplex_and_shift(rule, x, shift):
    p = rule(x)
    assert (p >= 0).all()
    assert p.sum() == pytest.approx(1, abs=1e-12)
    x = np.round(x)  # whole numbers: the shift itself rounds nothing
    np.testing.assert_array_equal(rule(x + shift), rule(x))


@pytest.mark.parametrize("rule", [softmax, sparsemax, entmax15, hardmax, sigmoid_weights])
def test_hidden_scores_get_exactly_zero(rule):
    x = np.array([[1.0, -np.inf, 0.5], [-np.inf] * 3])
    p = rule(x)
    assert p[0, 1] == 0
    assert (p[1] == 0).all()
    visible = rule(np.array([1.0, 0.5]))
    np.testing.assert_allclose(p[0, [0, 2]], visible, rtol=1e-14)


def test_known_examples():
    # The chapter corrects a printed table with these numbers.
    p = sparsemax(np.log([0.52, 0.27, 0.15, 0.06]))
    assert p.round(3).tolist() == [0.828, 0.172, 0, 0]
    # x = (0.4, 0): z = (0.2, 0), tau = -0.6: weights 0.64 and 0.36, by hand.
    assert entmax15([4.2, 3.8, 0.6, -0.9]).round(12).tolist() == [0.64, 0.36, 0, 0]


def test_huge_scores_lose_nothing():
    np.testing.assert_allclose(sparsemax([1e4, 1e4 - 0.5]), [0.75, 0.25], rtol=1e-12)
    np.testing.assert_allclose(entmax15([1e8, 1e8 - 0.4]), entmax15([0.4, 0]), rtol=1e-7)


def test_hardmax_shares_ties():
    assert hardmax([1, 3, 3]).tolist() == [0, 0.5, 0.5]
    assert hardmax([[1, 2], [4, 3]], axis=0).tolist() == [[0, 0], [1, 1]]


@given(ROWS)
def test_sigmoid(x):
    p = sigmoid_weights(x)
    np.testing.assert_allclose(p, 0.5 * (1 + np.tanh(x / 2)), atol=1e-15)
    np.testing.assert_allclose(p + sigmoid_weights(-x), 1, rtol=1e-15)


def test_sigmoid_weighs_each_key_on_its_own():
    assert sigmoid_weights([0.0, 100.0])[0] == sigmoid_weights([0.0, -100.0])[0] == 0.5


@pytest.mark.parametrize("rule", [sparsemax, entmax15, hardmax, sigmoid_weights])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_dtypes_and_empty_rows(rule, dtype):
    expected = np.float64 if dtype == np.int64 else dtype
    assert rule(np.array([[1, 2, 3]], dtype=dtype)).dtype == expected
    assert rule(np.zeros((3, 0), dtype=dtype)).shape == (3, 0)


@pytest.mark.parametrize("rule", [sparsemax, entmax15, hardmax])
def test_bad_input(untyped, rule):
    with pytest.raises(ValueError, match="x is a single number"):
        rule(1.0)
    with pytest.raises(ValueError, match="x has dtype bool"):
        rule([True])
    with pytest.raises(ValueError, match="out of bounds"):
        rule([1.0], axis=2)
