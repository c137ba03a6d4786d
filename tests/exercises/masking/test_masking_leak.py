"""The learner's leak test is graded: right tests pass, wrong ones do not, and the leaks leak."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.exercises.masking import attentions, check_leak_test
from attention_src.exercises.masking.leak import LEAK_TEST

N = 40
WRONG = [implementation.function for implementation in LEAK_TEST.wrong]


def tokens(n=N, seed=0):
    return np.random.default_rng(seed).normal(size=(3, n, 4))


def changed_after(i, x, parts=(0, 1, 2), seed=1):
    """The same tokens up to i, and others after it; only some of q, k and v if `parts` says so."""
    x = x.copy()
    for part in parts:
        x[part, i + 1 :] = 2 * np.random.default_rng([seed, part]).normal(
            size=x[part, i + 1 :].shape
        )
    return x


@pytest.mark.parametrize("attention", WRONG)
def test_each_leak_is_as_large_as_the_exercise_says(attention):
    x = tokens()
    change = [abs(attention(*changed_after(i, x)) - attention(*x))[: i + 1] for i in range(N - 1)]
    cut = [abs(attention(*x[:, : i + 1]) - attention(*x)[: i + 1]) for i in range(N - 1)]
    assert max(rows.max() for rows in cut) > 1e-3
    by_length = attention is attentions.scaled_by_length  # which no change of numbers shows
    assert (max(rows.max() for rows in change) > 1e-3) != by_length


@pytest.mark.parametrize("right", [one.function for one in LEAK_TEST.right])
def test_right_attentions_move_by_rounding_at_most(right):
    x = tokens()
    for i in range(N - 1):
        after, before = right(*changed_after(i, x))[: i + 1], right(*x)[: i + 1]
        np.testing.assert_allclose(after, before, atol=1e-6)
        assert np.array_equal(after, before) or right is attentions.centred_and_back
        np.testing.assert_allclose(right(*x[:, : i + 1]), right(*x)[: i + 1], atol=1e-6)
    np.testing.assert_allclose(right(*x), attentions.by_table(*x), atol=1e-6)


def prefix_test(parts=(0, 1, 2), n=N, at=None, rows="upto", tolerance=1e-5, error=AssertionError):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_leak_test(attention):
        x = tokens(n)
        before = attention(*x)
        for i in range(n - 1) if at is None else at:
            after = attention(*changed_after(i, x, parts))
            kept = {"upto": slice(i + 1), "i": slice(i, i + 1), "after": slice(i + 1, None)}[rows]
            if abs(after - before)[kept].max(initial=0) > tolerance:
                raise error(f"output {i}")

    return my_leak_test


def by_cutting(attention, atol=1e-5):
    x = tokens()
    for n in range(1, N):
        np.testing.assert_allclose(attention(*x[:, :n]), attention(*x)[:n], atol=atol)


def one_token_at_a_time(attention):
    x = tokens()
    before = attention(*x)
    for j in range(1, N):
        for part in range(3):
            other = x.copy()
            other[part, j] = 5 - 3 * other[part, j]
            assert np.allclose(attention(*other)[:j], before[:j], atol=1e-5)


def against_a_loop(attention):
    q, k, v = tokens(37)
    o = attention(q, k, v)
    for i in range(37):
        e = np.exp(q[i] @ k[: i + 1].T / 2)
        assert np.allclose(o[i], e @ v[: i + 1] / e.sum(), atol=1e-5)


def unseeded(attention):
    x = np.random.normal(size=(3, 38, 5))
    before = attention(*x)
    for i in range(37):
        other = np.concatenate([x[:, : i + 1], np.random.normal(size=(3, 37 - i, 5))], axis=1)
        assert np.allclose(before[: i + 1], attention(*other)[: i + 1], atol=1e-5)


def whole_numbers(attention):
    x = np.random.default_rng(2).integers(-3, 4, size=(3, N, 4))
    for i in range(N - 1):
        other = x.copy()
        other[:, i + 1 :] = np.random.default_rng(i).integers(-3, 4, size=(3, N - 1 - i, 4))
        assert np.allclose(attention(*x)[: i + 1], attention(*other)[: i + 1], atol=1e-5)


def and_cut(test, atol=1e-5):
    """The same test, which then cuts texts too."""

    def my_leak_test(attention):
        test(attention)
        by_cutting(attention, atol)

    return my_leak_test


RIGHT_TESTS = [by_cutting, against_a_loop]
RIGHT_TESTS += map(
    and_cut,
    [prefix_test(), prefix_test(rows="i"), one_token_at_a_time, unseeded, whole_numbers],
)


@pytest.mark.parametrize("test", RIGHT_TESTS)
def test_right_tests_pass(test):
    assert check_leak_test(test).status == "passed"


def test_the_solution_passes_and_the_stub_is_not_started():
    solution = run_exercise("masking", "ex:masking-leak")["my_leak_test"]
    assert check_leak_test(solution).status == "passed"
    assert check_leak_test(prefix_test(at=[0], error=NotImplementedError)).status != "passed"

    def stub(attention):
        raise NotImplementedError

    assert check_leak_test(stub).status == "not started"


def sums_rows(attention):
    q, k, _ = tokens(5)
    assert np.allclose(attention(q, k, np.eye(5)).sum(axis=1), 1)


def looks_at_weights(attention):
    q, k, _ = tokens()
    assert not np.triu(attention(q, k, np.eye(N)), 1).any()


def same_array(attention):
    x = tokens()
    other = x
    other[:, 1:] = 0
    assert np.allclose(attention(*x)[0], attention(*other)[0])


def returns_a_verdict(attention):
    x = tokens()
    return bool(np.allclose(attention(*x)[0], attention(*changed_after(0, x))[0]))


def asserts_a_tuple(attention):
    x = tokens()
    assert [np.allclose(attention(*x)[0], attention(*changed_after(0, x))[0]), "it leaks"]


def refuses_all(attention):
    assert attention(*tokens()) is None


def exact_after_cutting(attention):
    x = tokens()
    for n in range(1, N):
        assert np.array_equal(attention(*x[:, :n]), attention(*x)[:n])


def wrong_shapes(attention):
    attention(tokens())


WRONG_TESTS = {
    "changes only": (prefix_test(), "caught 16 of 17"),
    "one token at a time": (one_token_at_a_time, "caught 16 of 17"),
    "values only": (prefix_test(parts=(2,)), "caught 13 of 17"),
    "keys only": (prefix_test(parts=(1,)), "caught 12 of 17"),
    "keys and values": (prefix_test(parts=(1, 2)), "caught 15 of 17"),
    "first output only": (prefix_test(at=[0]), "of 17"),
    "one in the middle": (prefix_test(at=[20]), "of 17"),
    "three of them": (prefix_test(at=[10, 20, 30], rows="i"), "of 17"),
    "eight tokens": (prefix_test(n=8), "caught 14 of 17"),
    "32 tokens": (prefix_test(n=32), "caught 15 of 17"),
    "loose": (prefix_test(tolerance=1), "of 17"),
    "half a unit": (and_cut(prefix_test(tolerance=0.5), 0.5), "of 17"),
    "to the last bit": (prefix_test(tolerance=0), "refuses a right implementation (centred"),
    "the last token alone": (prefix_test(at=[N - 2]), "caught 15 of 17"),
    "later outputs": (prefix_test(rows="after"), "refuses a right implementation (table)"),
    "another exception": (prefix_test(error=ValueError), "does not count"),
    "sums of rows": (sums_rows, "of 17"),
    "weights above the diagonal": (looks_at_weights, "of 17"),
    "the same array twice": (same_array, "caught 0 of 17"),
    "returns a verdict": (returns_a_verdict, "returned False"),
    "asserts a list": (asserts_a_tuple, "caught 0 of 17"),
    "refuses all": (refuses_all, "refuses a right implementation (table)"),
    "exact after cutting": (exact_after_cutting, "refuses a right implementation"),
    "wrong shapes": (wrong_shapes, "stumbles over a right implementation"),
    "calls it and forgets": (lambda attention: attention(*tokens()) is None, ""),
}


@pytest.mark.parametrize("name", WRONG_TESTS)
def test_wrong_tests_fail(name):
    assert_rejected(check_leak_test, *WRONG_TESTS[name])
