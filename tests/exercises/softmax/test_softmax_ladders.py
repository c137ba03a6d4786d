"""The two ladders, and the learner's own test of softmax, which is graded."""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.softmax import (
    check_log_sum_exp,
    check_softmax_test,
    check_why_exponential,
    ladders,
)
from attention_src.exercises.softmax.graded import SOFTMAX_TEST
from attention_src.softmax import reference


@pytest.mark.parametrize("ladder", [ladders.WHY_EXPONENTIAL, ladders.LOG_SUM_EXP])
def test_the_digits_that_the_statement_asks_for_are_enough(ladder):
    rounded = {rung.letter: float(f"{rung.value():.3g}") for rung in ladder.rungs}
    if ladder is ladders.LOG_SUM_EXP:
        rounded["c"] = round(float(ladder.rungs[2].value()), 1)  # "and one after"
        assert rounded["c"] == 1004.7
    assert ladder.run(**rounded)


NEAR = {
    check_why_exponential: [("a", 9.04), ("c", 1.74), ("d", 2.07), ("d", 2.09)],
    check_log_sum_exp: [
        *[("c", x) for x in (1000, 1004, 1005, 1004.2, 1004.6, 1004.8)],
        ("d", 11.96),
        *[("f", x) for x in (-999, -1000.693, -1001, -1004.7)],
    ],
}


@pytest.mark.parametrize("check", NEAR)
def test_near_misses_are_refused(check):
    for letter, answer in NEAR[check]:
        assert check(**{letter: answer}).status == "wrong", (letter, answer)


def my_softmax_test(softmax):
    row = np.log([1.0, 2.0, 5.0])  # its weights can be worked out by hand
    x = np.array([row + 1000, row[::-1], row - 1000])
    before = x.copy()
    expected = np.array([[1, 2, 5], [5, 2, 1], [1, 2, 5]]) / 8
    np.testing.assert_allclose(softmax(x), expected, rtol=1e-4)
    assert np.array_equal(x, before), "it changed its input"
    far = softmax(np.array([[1e4, -1e4, -1e4]]))
    np.testing.assert_allclose(far, [[1, 0, 0]], atol=1e-6)


def test_the_worked_test_catches_all():
    assert_worked("softmax", check_softmax_test, my_softmax_test)


def small_row(softmax):
    np.testing.assert_allclose(softmax(np.log([1.0, 2.0, 5.0])), [0.125, 0.25, 0.625], rtol=1e-4)


def sums_to_one(softmax):
    assert np.allclose(softmax(np.random.default_rng().normal(size=(3, 5))).sum(-1), 1)


def against_the_reference(softmax):
    x = np.random.default_rng().normal([[1e3], [0], [-1e3]], size=(3, 5))
    before = x.copy()
    np.testing.assert_allclose(softmax(x), reference.softmax(before), rtol=1e-4, atol=1e-12)
    assert (x == before).all()
    far = np.array([0.0, 1e4])
    np.testing.assert_allclose(softmax(far), [0, 1], atol=1e-9)


def to_the_last_bit(softmax):
    x = np.array([[0.1, 2.0], [3.0, 4.0]])
    assert np.array_equal(softmax(x), reference.softmax(x))


def returns_a_verdict(softmax):
    return bool(np.allclose(softmax(np.zeros(4)), 0.25))


def hangs_on_nan(softmax):
    while np.isnan(softmax(np.array([1e4, 0.0]))).any():
        pass


def test_a_test_of_another_style_passes():
    assert check_softmax_test(against_the_reference)


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (small_row, "caught 2 of 8"),  # as the solution says: six pass it
        (sums_to_one, "caught 3 of 8"),
        (to_the_last_bit, "It refuses a right implementation"),
        (returns_a_verdict, "returned False. Nobody looks at what a test returns"),
        (lambda softmax: softmax([0.0]).nosuch, "It stumbles over a right implementation"),
        (lambda softmax: softmax(np.zeros(2)) and None, "It stumbles over a right"),
    ],
)
def test_weak_and_wrong_tests_are_told_what_they_miss(test, words):
    assert_rejected(check_softmax_test, test, words)


def test_a_test_that_hangs_is_stopped(monkeypatch):
    monkeypatch.setattr(SOFTMAX_TEST, "seconds", 0.2)
    result = check_softmax_test(hangs_on_nan)
    assert result.status == "too slow"
    assert "too slow to judge here, on a wrong implementation" in result.message
    assert "Your test had not ended after 0.2 seconds" in result.message
