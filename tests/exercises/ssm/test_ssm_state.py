"""The learner's test of a scan's state is graded: right tests pass, wrong ones do not."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.exercises.ssm import check_state_test
from attention_src.exercises.ssm.graded import STATE_TEST
from attention_src.exercises.ssm.scans import scanning
from attention_src.ssm.reference import selective_scan


def draw(n=10, d=3, N=4, seed=0, pad=True, start=1.0, low=0.1, high=2.0):
    rng = np.random.default_rng(seed)
    x, dt = rng.normal(size=(n, d)), rng.uniform(low, high, (n, d))
    A, h = -rng.uniform(0.2, 2, (d, N)), start * rng.normal(size=(d, N))
    B, C = rng.normal(size=(2, n, N))
    if pad:
        dt[n // 2] = 0
    return x, dt, A, B, C, h


@pytest.mark.parametrize("one", STATE_TEST.right, ids=lambda one: one.name)
def test_right_ones_are_right(one):
    for n in (1, 2, 10, 13):
        for got, want in zip(one.function(*draw(n)), scanning()(*draw(n)), strict=True):
            assert abs(got - want).max() < 1e-5


@pytest.mark.parametrize("one", STATE_TEST.wrong, ids=lambda one: one.name)
def test_each_wrong_one_is_wrong(one):
    pairs = zip(one.function(*draw()), scanning()(*draw()), strict=True)
    assert max(abs(got - want).max() for got, want in pairs) > 1e-2


RIGHT_SCAN = scanning()


def a_test(oracle=RIGHT_SCAN, atol=1e-4, look=lambda y, h: (y, h), **how):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_state_test(scan):
        args = draw(**how)
        got, want = (look(*f(*(a.copy() for a in args))) for f in (scan, oracle))
        for a, b in zip(got, want, strict=True):
            assert np.allclose(a, b, rtol=0, atol=atol)

    return my_state_test


def by_the_package(scan):
    x, dt, A, B, C, h = draw(n=12)
    want = selective_scan(x, dt, A, B, C, initial_state=h, return_state=True)
    assert all(
        np.allclose(*pair, atol=1e-4) for pair in zip(scan(x, dt, A, B, C, h), want, strict=True)
    )


def by_hand(scan):
    """Token by token, in plain Python."""
    x, dt, A, B, C, h = draw(n=9)
    y, last = scan(x, dt, A, B, C, h)
    (d, N), state = A.shape, h.tolist()
    for t in range(len(x)):
        for c in range(d):
            for i in range(N):
                fresh = dt[t, c] * x[t, c] * B[t, i]
                state[c][i] = np.exp(dt[t, c] * A[c, i]) * state[c][i] + fresh
            assert abs(y[t, c] - sum(state[c][i] * C[t, i] for i in range(N))) < 1e-4
    assert np.allclose(last, state, atol=1e-4)


def many_draws(scan):
    for seed in range(5):
        a_test(seed=seed, n=8 + seed, d=2)(scan)


def in_norms(scan):
    args = draw(n=11)
    for a, b in zip(scan(*args), scanning()(*args), strict=True):
        assert np.linalg.norm(a - b) <= 1e-4 * np.linalg.norm(b)


RIGHT = {
    "oracle": a_test(),
    "tolerant": a_test(atol=1e-3),
    "package": by_the_package,
    "by hand": by_hand,
    "many draws": many_draws,
    "norms": in_norms,
    "many channels": a_test(d=6, N=3, n=20),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_tests_pass(name):
    assert check_state_test(RIGHT[name]).status == "passed"


def test_the_worked_solution_passes():
    names = run_exercise("ssm", "ex:ssm-test", selective_scan=selective_scan)
    assert check_state_test(names["my_state_test"]).status == "passed"


def never(scan):
    scan(*draw())


def in_parts_only(scan):
    """Two calls against one: wrong rules that go on consistently pass."""
    x, dt, A, B, C, h = draw()
    whole, last = scan(x, dt, A, B, C, h)
    first, middle = scan(x[:4], dt[:4], A, B[:4], C[:4], h)
    second, end = scan(x[4:], dt[4:], A, B[4:], C[4:], middle)
    assert np.allclose(whole, np.concatenate([first, second]), atol=1e-4)
    assert np.allclose(last, end, atol=1e-4)


def returns_false(scan):
    return all(np.allclose(*pair) for pair in zip(scan(*draw()), scanning()(*draw()), strict=True))


def crashes(scan):
    raise KeyError(len(scan(*draw())))


def shapes_only(scan):
    y, h = scan(*draw())
    assert y.shape == (10, 3) and h.shape == (3, 4)


def finite_only(scan):
    assert all(np.isfinite(part).all() for part in scan(*draw()))


WRONG = {
    "never asserts": (never, "caught 0"),
    "in parts only": (in_parts_only, "caught"),
    "returns False": (returns_false, "assert"),
    "crashes": (crashes, "stumbles"),
    "shapes only": (shapes_only, "caught 0"),
    "finite only": (finite_only, "caught 0"),
    "outputs only": (a_test(look=lambda y, h: (y,)), "caught"),
    "state only": (a_test(look=lambda y, h: (h,)), "caught"),
    "last output only": (a_test(look=lambda y, h: (y[-1:], h), n=1, pad=False), "caught"),
    "no padding": (a_test(pad=False), "caught"),
    "from zero": (a_test(start=0.0), "caught"),
    "short": (a_test(n=3, pad=False), "caught"),
    "one number of state": (a_test(N=1), "caught"),
    "one channel": (a_test(d=1), "caught"),
    "steps of 0 and 1": (a_test(low=1.0, high=1.0), "caught"),
    "small steps": (a_test(low=1e-5, high=2e-5, atol=1e-3), "caught"),
    "too strict": (a_test(atol=1e-12), "float32"),
    "wrong oracle": (a_test(scanning(read="old")), "refuses"),
    "too tolerant": (a_test(atol=100.0), "caught 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tests_are_rejected(name):
    test, words = WRONG[name]
    assert_rejected(check_state_test, test, words)
