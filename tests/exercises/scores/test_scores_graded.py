"""The learner's own test of a score is graded; the ladder's rungs hold."""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.scores import check_lengths, check_score_test
from attention_src.exercises.scores.graded import SCORE_TEST
from attention_src.exercises.scores.ladder import LENGTHS


# The worked solution, in the words of the chapter.
def my_score_test(score):
    rng = np.random.default_rng(0)
    for n_q, n_k, d in ((2, 3, 5), (3, 1, 11), (4, 4, 7)):
        q, k = rng.normal(size=(n_q, d)), rng.normal(size=(n_k, d))
        s = score(q, k)
        assert s.shape == (n_q, n_k)
        for i in range(n_q):
            for j in range(n_k):
                assert abs(s[i, j] - sum(q[i] * k[j]) / d**0.5) < 1e-5


def test_of(sizes=((2, 3, 5), (3, 1, 11), (4, 4, 7)), compare=None, seed=1, expected=None):
    """A learner's test, right by default, wrong in the way that an argument says."""
    compare = compare or (lambda s, t: np.allclose(s, t, rtol=1e-5, atol=1e-5))
    expected = expected or (lambda q, k: np.einsum("qd,kd->qk", q, k) / q.shape[1] ** 0.5)

    def my_score_test(score):
        rng = np.random.default_rng(seed)
        for n_q, n_k, d in sizes:
            q, k = rng.normal(size=(n_q, d)), rng.normal(size=(n_k, d))
            s, t = score(q, k), expected(q, k)
            assert s.shape == t.shape
            assert compare(s, t)

    return my_score_test


test_of.__test__ = False


def many_sizes(score):
    rng = np.random.default_rng(5)
    for _ in range(20):
        n_q, n_k, d = rng.integers(1, 9, 3) + np.array([0, 0, 6])
        for n in (n_k, n_q, 1):
            q, k = rng.normal(size=(n_q, d)), rng.normal(size=(n, d))
            s, t = score(q, k), q @ k.T / np.sqrt(d)
            assert s.shape == t.shape
            np.testing.assert_allclose(s, t, atol=1e-5, rtol=1e-5)


def by_one_hot(score):
    """With one-hot keys each score is a component of the query."""
    for d, n_q in ((9, 4), (11, 11), (5, 7)):
        q = np.random.default_rng(d).normal(size=(n_q, d))
        k = 3 * np.eye(d)
        assert np.allclose(score(q, k) * d**0.5, 3 * q, atol=1e-4)


RIGHT = [
    my_score_test,
    test_of(),
    test_of(sizes=((3, 4, 12), (5, 5, 3), (1, 2, 3))),
    test_of(compare=lambda s, t: np.abs(s - t).max() < 2e-5, seed=3),
    many_sizes,
    test_of(expected=lambda q, k: np.array([[a @ b for b in k] for a in q]) / np.sqrt(len(q.T))),
]


def test_the_worked_solution():
    assert_worked("scores", check_score_test, my_score_test)


@pytest.mark.parametrize("right", RIGHT)
def test_right_tests_pass(right):
    assert check_score_test(right).status == "passed"


def symmetric_only(score):
    x, y = np.random.default_rng(0).normal(size=(2, 3, 9))
    assert np.allclose(score(x, y), score(y, x).T, atol=1e-5)


def returns_false(score):
    q, k = np.ones((2, 3)), np.ones((4, 3))
    return bool(np.allclose(score(q, k), 3**0.5) and False)


def stumbles(score):
    score(np.ones(3), np.ones(3))


def never_calls(score):
    assert 1 + 1 == 2


def refuses_everything(score):
    raise AssertionError("no")


def by_ranks(score):
    q, k = np.random.default_rng(0).normal(size=(2, 5, 9))
    assert (score(q, k).argmax(axis=1) == (q @ k.T).argmax(axis=1)).all()


WRONG = {
    "too strict": (test_of(compare=np.array_equal), "refuses a right"),
    "no float32": (
        test_of(compare=lambda s, t: np.abs(s - t).max() < 1e-12),
        "refuses a right",
    ),
    "no scale expected": (test_of(expected=lambda q, k: q @ k.T), "refuses a right"),
    "too lax": (test_of(compare=lambda s, t: np.abs(s - t).max() < 0.5), "caught"),
    "shape only": (test_of(compare=lambda s, t: True), "caught"),
    "ranks": (by_ranks, "caught"),
    "symmetry": (symmetric_only, "caught"),
    "d_k = 4 only": (test_of(sizes=((2, 3, 4), (3, 3, 4))), "caught"),
    "d_k = 64 only": (test_of(sizes=((2, 3, 64), (3, 3, 64))), "caught"),
    "never equal numbers": (test_of(sizes=((2, 3, 5), (3, 1, 11))), "caught 20 of 21"),
    "square only": (test_of(sizes=((9, 9, 9),)), "caught"),
    "narrow": (test_of(sizes=((2, 3, 5), (4, 4, 7), (1, 2, 3))), "caught 20 of 21"),
    "as many keys as numbers": (by_one_hot, ""),
    "one square shape": (test_of(sizes=((4, 4, 11),)), "caught 19 of 21"),
    "no single key": (test_of(sizes=((2, 3, 5), (4, 4, 11))), "caught 20 of 21"),
    "first row alone": (
        test_of(
            sizes=((2, 3, 5), (3, 1, 11), (4, 4, 7)),
            compare=lambda s, t: np.allclose(s[0], t[0], atol=1e-5),
        ),
        "caught 20 of 21",
    ),
    "one number": (test_of(sizes=((1, 1, 1),)), "caught"),
    "returns False": (returns_false, "returned False"),
    "stumbles": (stumbles, "stumbles"),
    "never calls": (never_calls, ""),
    "refuses all": (refuses_everything, ""),
    "first row": (test_of(compare=lambda s, t: np.allclose(s[0, 0], t[0, 0], atol=1e-5)), "caught"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tests_are_rejected(name):
    test, words = WRONG[name]
    result = check_score_test(test)
    assert result.status in ("wrong", "not started") and not result
    assert words in " ".join(result.message.split())


@pytest.mark.parametrize("wrong", SCORE_TEST.wrong, ids=lambda one: one.name)
def test_each_wrong_score_is_as_wrong_as_the_exercise_says(wrong):
    rng = np.random.default_rng(0)
    most = 0.0
    for n_q, n_k, d in ((3, 4, 11), (4, 4, 6), (2, 8, 16), (1, 5, 3)):
        q, k = rng.normal(size=(n_q, d)), rng.normal(size=(n_k, d))
        s, t = wrong.function(q, k), q @ k.T / np.sqrt(d)
        most = max(most, np.abs(s - t).max() if s.shape == t.shape else 1)
    assert most > 1e-3


@pytest.mark.parametrize("right", SCORE_TEST.right, ids=lambda one: one.name)
def test_right_scores_are_right_to_rounding(right):
    for d in (1, 5, 16):
        q, k = np.random.default_rng(d).normal(size=(2, 6, d))
        np.testing.assert_allclose(right.function(q, k), q @ k.T / np.sqrt(d), atol=5e-6)


def test_three_digits_are_enough():
    assert check_lengths(**{r.letter: float(f"{r.value():.3g}") for r in LENGTHS.rungs})


@pytest.mark.parametrize(
    ("letter", "near"),
    [*zip("aabbcdef", (1.395, 1.41, 0.93, 0.937, 4.04, 16.5, 2.31, -4.02), strict=True)],
)
def test_two_digits_are_too_few(letter, near):
    assert check_lengths(**{letter: near}).status == "wrong"


def test_a_right_answer_to_one_rung_is_unfinished():
    assert check_lengths(a=1.4).status == "unfinished"
    assert_rejected(lambda answer: check_lengths(e=answer), 3.0, "0 of 6")
