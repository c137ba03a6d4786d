"""The learner's test of attention is graded: right tests pass, wrong ones do not."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.attention import reference
from attention_src.exercises.equation import attentions, check_attention_test
from attention_src.exercises.equation.graded import ATTENTION_TEST

SIZES = {
    "different": ((5, 7), (20, 7), (20, 3)),
    "square": ((6, 7), (6, 7), (6, 3)),
    "cube": ((4, 4, 4),) * 3,
}


def draw(name, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=size) for size in SIZES[name]]


def large(seed=0):
    q, k, v = draw("cube", seed)
    return q * np.array([1000, 1, 300, 50])[:, None], k, v


def off(attention, q, k, v):
    o = attention(q.copy(), k.copy(), v.copy())
    right = reference.attention(q, k, v)
    return np.inf if np.shape(o) != right.shape else np.nan_to_num(abs(o - right), nan=9).max()


@pytest.mark.parametrize("wrong", [one.function for one in ATTENTION_TEST.wrong])
def test_each_wrong_one_shows_as_the_exercise_says(wrong):
    found = [off(wrong, *draw(name)) for name in SIZES] + [off(wrong, *large())]
    q, k, v = draw("square")
    before = q.copy()
    wrong(q, k, v)
    assert max(found) > 1e-3 or not np.array_equal(q, before)


@pytest.mark.parametrize("right", [one.function for one in ATTENTION_TEST.right])
def test_right_ones_differ_by_rounding_at_most(right):
    for seed in range(20):
        assert max(off(right, *draw(name, seed)) for name in SIZES) < 5e-6
        assert off(right, *large(seed)) < 5e-3


def slow(q, k, v):
    return reference.attention(q, k, v)


def a_test(names=tuple(SIZES), big=True, atol=1e-5, big_atol=1e-2, oracle=slow):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_attention_test(attention):
        for name in names:
            q, k, v = draw(name)
            kept = q.copy()
            assert np.allclose(attention(q, k, v), oracle(kept, k, v), rtol=0, atol=atol), name
            assert np.array_equal(q, kept)
        if big:
            q, k, v = large()
            assert np.allclose(attention(q, k, v), oracle(q, k, v), rtol=0, atol=big_atol)

    return my_attention_test


def in_loops(q, k, v):
    o = np.zeros((*q.shape[:-1], v.shape[-1]))
    for i in np.ndindex(q.shape[:-1]):
        s = [q[i] @ key / len(q[i]) ** 0.5 for key in k[i[:-1]]]
        e = [np.exp(x - max(s)) for x in s]
        o[i] = sum(x * value for x, value in zip(e, v[i[:-1]], strict=True)) / sum(e)
    return o


def probes(attention):
    """With the identity as values the output is the weights."""
    for n in (6, 20):
        q, k, _ = draw("different", n)
        q, k = q[: min(n, 5)], k[:n]
        before = q.copy()
        p = attention(q, k, np.eye(n))
        s = before @ k.T / np.sqrt(7)
        assert np.allclose(p, np.exp(s) / np.exp(s).sum(1, keepdims=True), atol=1e-5)
        assert (q == before).all()
    a_test(("square", "cube"))(attention)


def unseeded(attention):
    for sizes in SIZES.values():
        q, k, v = (np.random.normal(size=size) for size in sizes)
        q0 = q.copy()
        np.testing.assert_allclose(attention(q, k, v), slow(q0, k, v), atol=1e-5)
        np.testing.assert_array_equal(q, q0)
    q, k, v = large(int(np.random.randint(1000)))
    np.testing.assert_allclose(attention(q, k, v), slow(q, k, v), atol=1e-2)


def many_seeds(attention):
    for seed in range(5):
        for name in SIZES:
            q, k, v = draw(name, seed)
            given = [q.copy(), k.copy(), v.copy()]
            assert abs(attention(*given) - slow(q, k, v)).max() < 1e-5
            assert all(np.array_equal(a, b) for a, b in zip(given, (q, k, v), strict=True))
        q, k, v = large(seed)
        assert abs(attention(q, k, v) - slow(q, k, v)).max() < 0.01


def locked(attention):
    """Hands over arrays that nobody may write to."""
    for name in SIZES:
        q, k, v = draw(name)
        q.flags.writeable = False
        try:
            o = attention(q, k, v)
        except ValueError:
            raise AssertionError("it writes to q") from None
        assert abs(o - slow(q, k, v)).max() < 1e-5
    a_test(())(attention)


def finite_when_large(attention):
    a_test(big=False)(attention)
    assert np.isfinite(attention(*large())).all()


RIGHT_TESTS = [a_test(), a_test(oracle=in_loops), probes, unseeded, many_seeds, finite_when_large]
RIGHT_TESTS.append(locked)


@pytest.mark.parametrize("test", RIGHT_TESTS)
def test_right_tests_pass(test):
    np.random.seed(0)  # for the one that seeds nothing: of 1,000 draws, 25 do not overflow
    assert check_attention_test(test).status == "passed"


def test_the_solution_passes_and_the_stub_is_not_started():
    solution = run_exercise("equation", "ex:equation-test")["my_attention_test"]
    assert check_attention_test(solution).status == "passed"

    def stub(attention):
        raise NotImplementedError

    assert check_attention_test(stub).status == "not started"
    assert check_attention_test(lambda attention: a_test()(slow)).status == "not started"


def sums_to_1(attention):
    q, k, _ = draw("different")
    assert np.allclose(attention(q, k, np.eye(20)).sum(axis=1), 1, atol=1e-5)


def right_shape(attention):
    q, k, v = draw("different")
    assert attention(q, k, v).shape == (5, 3)


def a_verdict(attention):
    return bool(np.allclose(attention(*draw("cube")), slow(*draw("cube")), atol=1e-5))


def in_the_hull(attention):
    q, k, v = draw("different")
    o = attention(q, k, v)
    assert (o <= v.max(axis=0) + 1e-5).all() and (o >= v.min(axis=0) - 1e-5).all()


WRONG_TESTS = {
    "different sizes only": (a_test(("different",), big=False), "of 18"),
    "square only": (a_test(("square",), big=False), "of 18"),
    "cube only": (a_test(("cube",), big=False), "of 18"),
    "no cube": (a_test(("different", "square"), big=False), "caught 14 of 18"),
    "no square": (a_test(("different", "cube"), big=False), "of 18"),
    "no large numbers": (a_test(big=False), "caught 16 of 18"),
    "loose": (a_test(atol=1, big_atol=1), "of 18"),
    "to the last bit": (a_test(atol=0), "refuses a right implementation"),
    "too sharp when large": (a_test(big_atol=1e-12), "refuses a right implementation"),
    "sums": (sums_to_1, "of 18"),
    "shapes": (right_shape, "of 18"),
    "a verdict": (a_verdict, "returned False"),
    "hull": (in_the_hull, "of 18"),
    "an oracle not scaled": (a_test(oracle=attentions.not_scaled), "refuses a right"),
    "an oracle with .T": (a_test(oracle=attentions.keys_by_t), "refuses a right"),
    "refuses all": (lambda attention: a_test()(lambda *x: attention(*x) + 1), "refuses a right"),
    "another exception": (lambda attention: attention(1, 2, 3), "stumbles over"),
}


@pytest.mark.parametrize("name", WRONG_TESTS)
def test_wrong_tests_fail(name):
    assert_rejected(check_attention_test, *WRONG_TESTS[name])


def test_the_open_exercise_s_solution_runs():
    names = run_exercise("equation", "ex:equation-half", attention=reference.attention)
    parts = names["my_two_parts"](n=6, d=8, n_heads=2)
    assert parts["attention"]().shape == (2, 6, 4)
    assert [x.shape for x in parts["rest"]()] == [(4, 6, 8), (6, 8)]
