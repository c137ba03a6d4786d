"""The learner's test of the scale is graded: right tests pass, weak ones do not."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.exercises.scaling import check_scale_test
from attention_src.exercises.scaling.graded import SCALE_TEST

SHAPES = [(3, 5, 1), (3, 5, 2), (4, 7, 5), (4, 4, 5), (6, 3, 64), (2, 9, 200)]
WRONG = [one.function for one in SCALE_TEST.wrong]
RIGHT = [one.function for one in SCALE_TEST.right]


def pair(n_q, n_k, d_k, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_q, d_k)), rng.normal(size=(n_k, d_k))


def error(scores, shape):
    q, k = pair(*shape)
    return np.abs(scores(q, k) - q @ k.T / np.sqrt(shape[2])).max()


@pytest.mark.parametrize("wrong", WRONG)
def test_each_wrong_scale_is_as_visible_as_the_exercise_says(wrong):
    assert max(error(wrong, shape) for shape in SHAPES) > 0.02


@pytest.mark.parametrize("right", RIGHT)
def test_right_ones_differ_by_rounding_alone(right):
    assert max(error(right, shape) for shape in SHAPES) < 1e-5


def test_of(shapes=SHAPES, atol=1e-3, error=AssertionError, seeds=(0,)):
    def my_scale_test(scores):
        for shape in shapes:
            for seed in seeds:
                q, k = pair(*shape, seed)
                if np.abs(scores(q, k) - q @ k.T / np.sqrt(shape[2])).max() > atol:
                    raise error(shape)

    return my_scale_test


test_of.__test__ = False


def by_basis_vectors(scores):
    for d_k in (1, 2, 3, 5, 7, 64, 100, 200):
        q = np.eye(d_k)[:1] * d_k + 1
        k = np.concatenate([np.eye(d_k) * 2, np.eye(d_k)[:1] + 3])
        right = np.array([[(a * b).sum() for b in k] for a in q]) / d_k**0.5
        assert np.abs(scores(q, k) - right).max() < 1e-3 * np.abs(right).max()


def by_ratio(scores):
    rng = np.random.default_rng(0)
    for n_q, n_k, d_k in SHAPES:
        q, k = rng.normal(size=(n_q, d_k)), rng.normal(size=(n_k, d_k))
        ratio = (scores(q, k) * d_k**0.5) / (q @ k.T)
        assert np.allclose(ratio, 1, rtol=1e-3)


def by_widths_that_grow(scores):
    for d_k in range(1, 260):
        q, k = pair(2, 2 + d_k % 2, d_k)
        np.testing.assert_allclose(scores(q, k), q @ k.T * d_k**-0.5, atol=1e-4)


RIGHT_TESTS = {
    "shapes": test_of(),
    "larger tolerance": test_of(atol=5e-3),
    "many seeds": test_of(seeds=range(20)),
    "ratio": by_ratio,
    "many widths": by_widths_that_grow,
    "random widths": test_of(
        shapes=[(3, 4, d) for d in (1, 2, 3, 5, 6, 11, 64, 150, 256)] + [(5, 5, 7)]
    ),
}


def by_spread(scores):
    rng = np.random.default_rng(0)
    for d_k in (5, 64, 200):
        s = scores(rng.normal(size=(40, d_k)), rng.normal(size=(50, d_k)))
        assert 0.9 < s.std() < 1.1


def by_weights(scores):
    for shape in SHAPES:
        q, k = pair(*shape)
        e = [
            np.exp(x - x.max(-1, keepdims=True)) for x in (scores(q, k), q @ k.T / shape[2] ** 0.5)
        ]
        a, b = (x / x.sum(-1, keepdims=True) for x in e)
        assert np.allclose(a, b, atol=1e-4)


def by_order(scores):
    q, k = pair(3, 5, 10)
    assert np.array_equal(scores(q, k).argmax(1), (q @ k.T).argmax(1))


def exact(scores):
    for shape in SHAPES:
        q, k = pair(*shape)
        assert np.array_equal(scores(q, k), q @ k.T / np.sqrt(shape[2]))


def by(view):
    """A test that looks at the scores through some function alone."""

    def my_scale_test(scores):
        for shape in SHAPES:
            q, k = pair(*shape)
            assert np.allclose(view(scores(q, k)), view(q @ k.T / shape[2] ** 0.5), atol=1e-3)

    return my_scale_test


WEAK_TESTS = {
    "positive alone": (by_basis_vectors, "caught"),
    "sizes alone": (by(np.abs), "caught"),
    "sorted": (by(lambda s: np.sort(s, axis=None)), "caught"),
    "sum": (by(np.sum), "caught"),
    "mean": (by(np.mean), "caught"),
    "largest": (by(np.max), "caught"),
    "norm": (by(np.linalg.norm), "caught"),
    "first entry": (by(lambda s: s[0, 0]), "caught"),
    "one by one": (test_of([(1, 1, d) for d in (1, 2, 5, 64, 200)]), "caught"),
    "tolerance 0.1": (test_of(atol=0.1), "caught"),
    "never square": (test_of([shape for shape in SHAPES if shape[0] != shape[1]]), "caught"),
    "5 and 200": (test_of([(3, 4, 5), (4, 4, 200)]), "caught"),
    "2 and 200": (test_of([(3, 4, 2), (4, 4, 200)]), "caught"),
    "width 64 alone": (test_of([(6, 3, 64)]), "caught"),
    "squares": (test_of([(6, 3, 4), (5, 3, 16), (2, 7, 64), (2, 7, 256)]), "caught"),
    "square matrices": (test_of([(5, 5, 5), (64, 64, 64), (200, 200, 200)]), "caught"),
    "narrow alone": (test_of([(3, 5, 2), (4, 7, 5)]), "caught"),
    "wide alone": (test_of([(3, 5, 100), (4, 7, 200)]), "caught"),
    "no narrow one": (test_of([(3, 5, 10), (4, 7, 50), (4, 7, 200)]), "caught"),
    "loose": (test_of(atol=0.3), "caught"),
    "spread": (by_spread, "caught"),
    "weights": (by_weights, "caught"),
    "order": (by_order, "caught"),
    "powers of two": (test_of([(3, 5, 2**n) for n in range(9)]), "caught"),
    "exact": (exact, "it is right"),
    "tight": (test_of(atol=1e-12), "it is right"),
    "wrong error": (test_of(error=RuntimeError), ""),
    "always": (lambda scores: scores(*pair(2, 3, 4)) and None, ""),
    "never": (lambda scores: scores(*pair(2, 3, 4)).sum() and None, "caught"),
}


def test_the_solution_passes():
    names = run_exercise("scaling", "ex:scaling-test")
    assert check_scale_test(names["my_scale_test"]).status == "passed"


@pytest.mark.parametrize("name", RIGHT_TESTS)
def test_a_right_test_passes(name):
    assert check_scale_test(RIGHT_TESTS[name]).status == "passed"


@pytest.mark.parametrize("name", WEAK_TESTS)
def test_a_weak_test_is_told_so(name):
    assert_rejected(check_scale_test, *WEAK_TESTS[name])


def test_a_stub_is_not_started():
    def my_scale_test(scores):
        raise NotImplementedError

    assert check_scale_test(my_scale_test).status == "not started"
