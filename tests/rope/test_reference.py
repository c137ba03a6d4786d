"""Rotary positions in NumPy against their definition; scores depend on distances only."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_src.rope.reference import (
    frequencies,
    half_split_order,
    rotate,
    rotate_backward,
    sinusoids,
)
from attention_src.rope.scaling import NTK, Frequencies, Llama3, PositionInterpolation, YaRN

SCALINGS = (
    None,
    PositionInterpolation(4.0),
    NTK(4.0),
    Llama3(4.0, 64),
    Frequencies([1.0, 0.3, 0.7, 0.0, 0.01], attention_factor=1.25),
    YaRN(4.0, 64),
    YaRN(2.0, 128, 8.0, 2.0, 1.3),
)
PAIRINGS = pytest.mark.parametrize("interleaved", [False, True])


def by_complex_numbers(x, positions, *, base=10000.0, interleaved=False):
    """Each pair as one complex number, multiplied by exp(i angle): Su et al., section 3.2.1."""
    d = x.shape[-1]
    y = np.empty_like(x)
    for i in range(d // 2):
        a, b = (2 * i, 2 * i + 1) if interleaved else (i, i + d // 2)
        z = (x[..., a] + 1j * x[..., b]) * np.exp(1j * positions * base ** (-2 * i / d))
        y[..., a], y[..., b] = z.real, z.imag
    return y


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@PAIRINGS
@pytest.mark.parametrize("d", [2, 6, 16, 34])
def test_pairs_are_complex_numbers(d, interleaved):
    x, positions = random(2, 3, 7, d), np.array([0, 1, 2, 5, 0.25, -3, 131072])
    for base in (10000.0, 50.0):
        expected = by_complex_numbers(x, positions, base=base, interleaved=interleaved)
        actual = rotate(x, positions, base=base, interleaved=interleaved)
        # One rounding of a frequency is 1e-16 of it; 131072 positions make 1e-11 of that.
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-10)


def test_by_hand():
    # A quarter turn: (1, 0) becomes (0, 1) and (0, 1) becomes (-1, 0).
    y = rotate(np.eye(2), [math.pi / 2, math.pi / 2])
    np.testing.assert_allclose(y, [[0, 1], [-1, 0]], atol=1e-15)
    assert frequencies(4).tolist() == [1.0, 0.01]
    # Component 0 is paired with component 2, or with its neighbour 1.
    assert np.flatnonzero(rotate([[1.0, 0, 0, 0]], [1])).tolist() == [0, 2]
    assert np.flatnonzero(rotate([[1.0, 0, 0, 0]], [1], interleaved=True)).tolist() == [0, 1]
    # Position 0 is the identity.
    x = random(1, 8)
    assert np.array_equal(rotate(x, [0]), x)


@given(
    interleaved=st.booleans(),
    scaling=st.sampled_from(SCALINGS),
    m=st.integers(0, 5000),
    n=st.integers(0, 5000),
)
def test_scores_depend_on_distance_only(interleaved, scaling, m, n):
    options = dict(interleaved=interleaved, scaling=scaling)
    q, k = random(1, 10, seed=1), random(1, 10, seed=2)
    a = scaling.amplitude if scaling else 1.0

    def score(m, n):
        return (rotate(q, [m], **options) @ rotate(k, [n], **options).T).item() / a**2

    # (R_m q)·(R_n k) = q^T R_{n-m} k
    relative = (q @ rotate(k, [n - m], **options).T).item() / a
    assert math.isclose(score(m, n), relative, abs_tol=1e-9)
    assert math.isclose(score(m, n), score(m + 1000, n + 1000), abs_tol=1e-9)


@PAIRINGS
@pytest.mark.parametrize("scaling", SCALINGS, ids=str)
def test_lengths_are_kept_but_for_the_amplitude(interleaved, scaling):
    x = random(2, 9, 10)
    y = rotate(x, np.arange(9) * 1000.5, interleaved=interleaved, scaling=scaling)
    a = scaling.amplitude if scaling else 1.0
    np.testing.assert_allclose(
        np.linalg.norm(y, axis=-1), a * np.linalg.norm(x, axis=-1), rtol=1e-13
    )


@PAIRINGS
@pytest.mark.parametrize("scaling", SCALINGS, ids=str)
def test_backward_is_the_transpose(interleaved, scaling):
    # rotate is linear, so dy · rotate(x) = rotate_backward(dy) · x is all there is to check.
    options = dict(interleaved=interleaved, scaling=scaling)
    x, dy, positions = random(3, 7, 10), random(3, 7, 10, seed=1), np.arange(7) * 3.5
    left = (dy * rotate(x, positions, **options)).sum(axis=-1)
    right = (rotate_backward(dy, positions, **options) * x).sum(axis=-1)
    np.testing.assert_allclose(left, right, rtol=1e-12)
    a = scaling.amplitude if scaling else 1.0
    there_and_back = rotate_backward(rotate(x, positions, **options), positions, **options)
    np.testing.assert_allclose(there_and_back, a**2 * x, rtol=1e-12)


@PAIRINGS
def test_the_identity_shows_the_matrix_and_its_exact_zeros(interleaved):
    d = 12
    R = rotate(np.eye(d), np.full(d, 5.0), interleaved=interleaved).T  # columns are R e_i
    pair = np.arange(d) // 2 if interleaved else np.arange(d) % (d // 2)
    assert np.array_equal(R != 0, pair[:, None] == pair[None, :])
    np.testing.assert_allclose(R @ R.T, np.eye(d), atol=1e-15)
    assert math.isclose(np.linalg.det(R), 1.0)


@pytest.mark.parametrize("d", [2, 8, 18])
def test_a_permutation_leads_from_one_pairing_to_the_other(d):
    x, positions, order = random(5, d), np.arange(5), half_split_order(d)
    assert sorted(order.tolist()) == list(range(d))
    interleaved = rotate(x, positions, interleaved=True)
    assert np.array_equal(interleaved[:, order], rotate(x[:, order], positions))
    back = np.argsort(order)
    assert np.array_equal(interleaved, rotate(x[:, order], positions)[:, back])
    assert half_split_order(6).tolist() == [0, 2, 4, 1, 3, 5]
    if d > 2:
        assert not np.allclose(interleaved, rotate(x, positions))


def test_large_and_fractional_positions_are_exact():
    # d = 2 has the frequency 1, so the angle is the position, and libm knows its cosine.
    for m in (0.5, 2049, 131072, 1e6, 1e6 + 0.125):
        y = rotate([[1.0, 0.0]], [m])[0]
        np.testing.assert_allclose(y, [math.cos(m), math.sin(m)], rtol=1e-15)
    x = random(1, 64)
    halfway = rotate(rotate(x, [0.5e6]), [0.5e6])
    np.testing.assert_allclose(rotate(x, [1e6]), halfway, rtol=0, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64], ids=str)
def test_computed_in_float64_and_rounded_once(dtype):
    x = (4 * random(5, 8)).astype(dtype)
    exact = rotate(x.astype(np.float64), np.arange(5) + 100_000)
    y = rotate(x, np.arange(5) + 100_000)
    assert y.dtype == (np.float64 if dtype == np.int64 else dtype)
    assert np.array_equal(y, exact.astype(y.dtype))
    assert np.array_equal(rotate_backward(x, -np.arange(5)), rotate(x, np.arange(5)))


def test_positions_broadcast():
    x = random(2, 3, 5, 4)
    each = np.array([[0, 1, 2, 3, 4], [7, 3, 1, 0, 2]])
    y = rotate(x, each[:, None])
    for b in range(2):
        assert np.array_equal(y[b], rotate(x[b], each[b]))
    assert rotate(np.zeros((2, 0, 4)), np.zeros(0)).shape == (2, 0, 4)


def test_sinusoids():
    e = sinusoids(np.arange(50), 8)
    for pos in (0, 1, 49):
        for i in range(4):
            angle = pos / 10000 ** (2 * i / 8)
            assert math.isclose(e[pos, 2 * i], math.sin(angle), abs_tol=1e-15)
            assert math.isclose(e[pos, 2 * i + 1], math.cos(angle), abs_tol=1e-15)
    # A shift of positions is a rotation of every pair: where rotary positions come from.
    swapped = e[:, [1, 0, 3, 2, 5, 4, 7, 6]]  # cos before sin
    np.testing.assert_allclose(
        rotate(swapped[:1].repeat(50, 0), np.arange(50), interleaved=True), swapped, atol=1e-14
    )
    assert sinusoids([[1.5]], 2, base=3.0).tolist() == [[[math.sin(1.5), math.cos(1.5)]]]


X = np.ones((3, 4))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.ones((3, 5)), range(3)), {}, r"d is 5; it should be even"),
        ((np.ones((3, 0)), range(3)), {}, r"d is 0; it should be at least 2"),
        ((np.ones(4), [0]), {}, r"x has shape \[4\]; it should be \[\.\.\., n, d\]"),
        ((X, range(4)), {}, r"positions has shape \[4\] but x has shape \[3, 4\]"),
        ((X, [0]), {}, r"positions has shape \[1\] but x has shape \[3, 4\]"),
        ((X, np.zeros((2, 3))), {}, r"positions has shape \[2, 3\].*broadcast to \[3\]"),
        ((X, 7), {}, r"positions is 7.*a row of numbers"),
        ((X, [0, 1, math.nan]), {}, r"positions holds a NaN"),
        ((X, np.arange(3, dtype=np.float16)), {}, r"positions has dtype float16.*2048 from 2049"),
        ((X, ["a"] * 3), {}, r"positions has dtype <U1; it should hold real numbers"),
        ((X * 1j, range(3)), {}, r"x has dtype complex128"),
        ((X, range(3)), dict(base=1.0), r"base is 1\.0; it should be a finite number above 1"),
        ((X, range(3)), dict(base="x"), r"base is 'x'"),
        ((X, range(3)), dict(base=math.inf), r"base is inf"),
        ((X, range(3)), dict(scaling=4.0), r"scaling is 4\.0; .*PositionInterpolation\(4\.0\)"),
        ((X, range(3)), dict(scaling=NTK), r"scaling is <class"),
    ],
)
def test_refusals(untyped, arguments, options, message):
    with pytest.raises(ValueError, match=message):
        rotate(*arguments, **options)
    with pytest.raises(ValueError, match=message.replace("x has", "dy has")):
        rotate_backward(*arguments, **options)


def test_refusals_of_the_rest(untyped):
    with pytest.raises(ValueError, match="d is 7; it should be even"):
        half_split_order(7)
    with pytest.raises(ValueError, match=r"d is 2\.0; it should be a whole number"):
        frequencies(2.0)
    with pytest.raises(ValueError, match="d is 3"):
        sinusoids(range(3), 3)
