"""The learner's test of windows with sinks is graded: right tests pass, wrong ones do not."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.attention import masks
from attention_src.attention.reference import attention
from attention_src.exercises.longcontext import check_window_test
from attention_src.exercises.longcontext.graded import WINDOW_TEST

SIZES = ((3, 0), (3, 2), (1, 0), (5, 1), (40, 3))


def right(q, k, v, window, sinks):
    t, j = np.arange(len(q))[:, None], np.arange(len(q))
    return attention(q, k, v, mask=(j <= t) & ((t - j < window) | (j < sinks)))


def draw(n=14, d_k=5, d_v=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, d)) for d in (d_k, d_k, d_v)]


@pytest.mark.parametrize("wrong", WINDOW_TEST.wrong, ids=lambda one: one.name)
def test_each_wrong_one_is_wrong(wrong):
    off = [abs(wrong.function(*draw(), *s) - right(*draw(), *s)).max() for s in SIZES]
    assert max(off) > 1e-2


@pytest.mark.parametrize("one", WINDOW_TEST.right, ids=lambda one: one.name)
def test_right_ones_are_right(one):
    for s in SIZES:
        assert abs(one.function(*draw(), *s) - right(*draw(), *s)).max() < 5e-6


def a_test(sizes=SIZES, atol=1e-5, oracle=right, look=lambda o: o, **shape):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_window_test(attend):
        for window, sinks in sizes:
            q, k, v = draw(**shape)
            o = attend(q.copy(), k.copy(), v.copy(), window, sinks)
            expected = oracle(q, k, v, window, sinks)
            assert np.allclose(look(o), look(expected), rtol=0, atol=atol)

    return my_window_test


def by_probe(attend):
    """The identity as values: exact zeros where keys are hidden, and rows that sum to 1."""
    n = 17
    rng = np.random.default_rng(1)
    q, k = rng.normal(size=(2, n, 4))
    for window, sinks in [(1, 0), (4, 0), (4, 2), (6, 5)]:
        p = attend(q, k, np.eye(n), window, sinks)
        for t in range(n):
            seen = {j for j in range(t + 1) if t - j < window or j < sinks}
            assert {int(j) for j in np.flatnonzero(p[t])} == seen
        assert np.allclose(p.sum(axis=1), 1, atol=1e-5)
    assert np.allclose(attend(q, k, q, 4, 2), right(q, k, q, 4, 2), atol=1e-5)


def by_rows(attend):
    q, k, v = draw(n=20)
    for window, sinks in [(2, 0), (7, 3), (1, 1)]:
        o = attend(q, k, v, window, sinks)
        for t in range(20):
            seen = [j for j in range(t + 1) if t - j < window or j < sinks]
            e = np.exp(k[seen] @ q[t] / np.sqrt(5))
            assert abs(o[t] - e @ v[seen] / e.sum()).max() < 1e-5


def by_package(attend):
    for seed in range(4):
        q, k, v = draw(n=23, seed=seed)
        for window, sinks in [(4, 0), (4, 2), (9, 1)]:
            see = masks.window_mask(23, None, window, sinks)
            np.testing.assert_allclose(
                attend(q, k, v, window, sinks), attention(q, k, v, mask=see), atol=1e-5
            )


def unseeded(attend):
    q, k, v = draw(seed=None)
    for s in SIZES:
        assert abs(attend(q, k, v, *s) - right(q, k, v, *s)).max() < 1e-4


RIGHT = {
    "worked solution": None,
    "right": a_test(),
    "probe": by_probe,
    "rows": by_rows,
    "package": by_package,
    "unseeded": unseeded,
    "loose": a_test(atol=1e-3),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_tests_pass(name):
    given = RIGHT[name]
    if given is None:
        names = run_exercise("longcontext", "ex:longcontext-test", attention=attention, masks=masks)
        given = names["my_window_test"]
    assert check_window_test(given).status == "passed"


def raises(attend):
    attend(*draw(), 3, 1)
    raise AssertionError


def wide(q, k, v, window, sinks):
    return right(q, k, v, window + 1, sinks)


WRONG = {
    "looks at nothing": (lambda attend: attend(*draw(), 3, 1), "caught 0"),
    "refuses all": (raises, ""),
    "no sinks": (a_test(((3, 0), (5, 0))), "caught"),
    "one sink": (a_test(((3, 1), (5, 1))), "caught"),
    "one window, two sinks": (a_test(((3, 2),)), "caught"),
    "window of 1": (a_test(((1, 0),)), "caught"),
    "wider than the text": (a_test(((40, 2),)), "caught"),
    "narrow windows only": (a_test(((3, 0), (3, 2), (2, 1)), n=6), "caught"),
    "short text": (a_test(n=3), "caught"),
    "shape only": (a_test(look=np.shape), "caught 0"),
    "last row of one size": (a_test(((3, 0),), look=lambda o: o[-1]), "caught"),
    "first rows": (a_test(look=lambda o: o[:1]), "caught"),
    "the mean": (a_test(look=lambda o: 0 * o.mean()), "caught 0"),
    "far too loose": (a_test(atol=10), "caught 0"),
    "exact": (a_test(atol=0), ""),
    "one too wide": (a_test(oracle=wide), ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tests_are_rejected(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_window_test, answer, spoken_of)
