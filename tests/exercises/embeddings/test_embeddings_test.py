"""The ladder on what a dot product learns, and the graded test of cosines."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.exercises.embeddings import check_cosine_test, check_dot
from attention_src.exercises.embeddings.tested import COSINE_TEST

# --- the ladder --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rung", "answer", "words"),
    [
        ("a", 0.15, "multiply, don't add"),
        ("a", 0.02, "share of the real pairs"),
        ("a", 0.0025, "don't halve it"),
        ("b", 4, "learns its logarithm"),
        ("b", 2, "in bits"),
        ("b", -1.386, "Turn the ratio round"),
        ("b", 0.8, "the probability that the pair is real"),
        ("b", np.log(0.02), "What would chance give"),
        ("c", np.log(4) / 5, "inside the logarithm"),
        ("c", np.log(20), "push down, not up"),
        ("c", np.log(4), "five times as large"),
        ("c", 0, "goes below"),
        ("d", 0.0075, "Its sign"),
        ("d", -0.015, "sigma(0) is a half"),
        ("d", -0.00375, "No further half"),
        ("d", 0.025 * np.log(2), "This is the loss itself"),
        ("e", np.log(4), "Divide by both norms."),
        ("e", np.log(4) / 2, "not by one"),
        ("e", 1, "not 4"),
    ],
)
def test_a_wrong_rung_gets_its_reply(rung, answer, words):
    assert_rejected(lambda value: check_dot(**{rung: value}), answer, words)


# --- a test of cosines -------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [one.function for one in COSINE_TEST.wrong])
def test_each_wrong_one_is_as_wrong_as_the_exercise_says(wrong):
    right, rng, worst = COSINE_TEST.right[2].function, np.random.default_rng(0), 0.0
    for n, m, d in [(3, 5, 7), (4, 4, 40)]:
        x, y = rng.normal(size=(n, d)) / 50, rng.normal(size=(m, d)) * 2
        kept = x.copy(), y.copy()
        answer = wrong(x, y)
        if answer.shape != (n, m):
            worst = 1.0
        else:
            worst = max(worst, np.abs(answer - right(*kept)).max(), np.abs(x - kept[0]).max())
    assert worst > 0.01


@pytest.mark.parametrize("right", [one.function for one in COSINE_TEST.right])
def test_right_ones_agree(right):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(6, 50)) * 10, rng.normal(size=(9, 50)) / 50
    np.testing.assert_allclose(right(x, y), COSINE_TEST.right[2].function(x, y), atol=3e-6)


def sample(n=3, m=5, d=40, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    return x * rng.choice([0.005, 1, 9], (n, 1)), y * rng.choice([0.005, 1, 9], (m, 1))


def table(x, y):
    return (x @ y.T) / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))


def comparing(atol=1e-5, **sizes):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_cosine_test(cosines):
        x, y = sample(**sizes)
        kept = x.copy(), y.copy()
        answer = np.asarray(cosines(x, y))
        assert answer.shape == (len(x), len(y))
        assert np.allclose(answer, table(*kept), atol=atol, rtol=0)
        assert np.array_equal(x, kept[0]) and np.array_equal(y, kept[1])

    return my_cosine_test


def twice(cosines):
    """Without a copy: what is changed in place shows in the second call of another pair."""
    comparing()(cosines)
    comparing(seed=3)(cosines)


def with_assert_allclose(cosines):
    x, y = sample()
    before = x.sum(), y.sum()
    right = table(x, y)
    np.testing.assert_allclose(cosines(x, y), right, atol=1e-5)
    assert (x.sum(), y.sum()) == before


def read_only(cosines):
    x, y = sample(4, 6)
    before = np.concatenate([x, y])
    answer = cosines(x, y)
    assert answer.shape == (4, 6)
    for (i, j), value in np.ndenumerate(answer):
        a, b = before[i], before[4 + j]
        assert abs(value - a @ b / np.sqrt(a @ a) / np.sqrt(b @ b)) < 1e-4
    assert np.array_equal(before, np.concatenate([x, y]))


def many_sizes(cosines):
    for seed, d in enumerate([2, 3, 41]):
        comparing(n=2 + seed, m=7, d=d, seed=seed)(cosines)


def by_properties(cosines):
    x, y = sample(n=4, m=6)
    x[0] = np.arange(40.0) + 1
    kept = x.copy(), y.copy()
    s = np.asarray(cosines(x, y))
    assert s.shape == (4, 6)
    assert np.array_equal(x, kept[0]) and np.array_equal(y, kept[1])
    assert np.allclose(np.diag(np.asarray(cosines(kept[0], kept[0].copy()))), 1, atol=1e-5)
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(40, 40)))[0]
    assert np.allclose(np.asarray(cosines(kept[0] @ turn, kept[1] @ turn)), s, atol=1e-5)
    flipped = np.asarray(cosines(-kept[0], kept[1].copy()))
    assert np.allclose(flipped, -s, atol=1e-5)
    a, b = np.array([[1.0, 0.0]]), np.array([[3.0, 4.0]])
    assert np.allclose(np.asarray(cosines(a, b)), 0.6, atol=1e-5)


RIGHT_TESTS = [
    comparing(),
    comparing(atol=1e-3),
    twice,
    with_assert_allclose,
    read_only,
    many_sizes,
    by_properties,
]


@pytest.mark.parametrize("test", RIGHT_TESTS)
def test_right_tests_pass(test):
    assert check_cosine_test(test).status == "passed"


def test_the_solution_passes_and_the_stub_is_not_started():
    solution = run_exercise("embeddings", "ex:embeddings-test")["my_cosine_test"]
    assert check_cosine_test(solution).status == "passed"

    def stub(cosines):
        raise NotImplementedError

    assert check_cosine_test(stub).status == "not started"


def with_itself(cosines):
    x, _ = sample()
    assert np.allclose(np.diag(np.asarray(cosines(x, x.copy()))), 1, atol=1e-5)


def unit_rows_only(cosines):
    x, y = (t / np.linalg.norm(t, axis=1, keepdims=True) for t in sample())
    assert np.allclose(cosines(x, y), x @ y.T, atol=1e-5)


def square_and_same(cosines):
    x, _ = sample()
    assert np.allclose(cosines(x, x.copy()), table(x, x), atol=1e-5)


def in_range(cosines):
    assert np.abs(cosines(*sample())).max() <= 1 + 1e-5


def compares_after(cosines):
    x, y = sample()
    answer = cosines(x, y)
    assert answer.shape == (3, 5) and np.allclose(answer, table(x, y), atol=1e-5)


def positive_numbers(cosines):
    x, y = (np.abs(t) for t in sample())
    assert np.allclose(np.asarray(cosines(x.copy(), y.copy())), table(x, y), atol=1e-5)


def long_rows(cosines):
    x, y = (t / np.linalg.norm(t, axis=1, keepdims=True) * 100 for t in sample())
    x[1] /= 3
    kept = x.copy(), y.copy()
    assert np.allclose(cosines(x, y), table(*kept), atol=1e-3)
    assert np.array_equal(x, kept[0])


def raises_value_error(cosines):
    x, y = sample()
    right = table(x, y)
    if not np.allclose(cosines(x, y), right, atol=1e-5):
        raise ValueError("wrong")


def _assert(value):
    assert value


WRONG_TESTS = {
    "with itself": (with_itself, "of 14"),
    "unit rows": (unit_rows_only, "of 14"),
    "x with x": (square_and_same, "of 14"),
    "range": (in_range, "of 14"),
    "eight numbers": (comparing(d=8), "caught 13 of 14"),
    "inputs not looked at": (compares_after, "of 14"),
    "loose": (comparing(atol=0.5), "of 14"),
    "to the last bit": (comparing(atol=0), "refuses a right implementation"),
    "positive numbers": (positive_numbers, "of 14"),
    "long rows": (long_rows, "of 14"),
    "another error": (raises_value_error, "does not count"),
    "returns a verdict": (
        lambda cosines: bool(np.allclose(cosines(*sample()), 7)),
        "returned False",
    ),
    "refuses all": (comparing(atol=-1), "refuses a right implementation (unit rows)"),
    "calls and forgets": (lambda cosines: cosines(*sample()).sum() > 99 and None, ""),
    "one argument": (lambda cosines: cosines(sample()[0]), "stumbles over a right"),
    "asserts a list": (lambda cosines: _assert([cosines(*sample()), 1]), ""),
}


@pytest.mark.parametrize("name", WRONG_TESTS)
def test_wrong_tests_fail(name):
    assert_rejected(check_cosine_test, *WRONG_TESTS[name])
