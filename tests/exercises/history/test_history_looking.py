"""The learner's test of looking is graded: right tests pass, wrong ones do not."""

import numpy as np
import pytest
from worked import BOOK, assert_rejected, run_exercise

from attention_src.exercises.history import check_looking_test
from attention_src.exercises.history.looks import LOOKING_TEST


def draws(seed=0, m=4, n=7, d=8):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, d)), rng.normal(size=(n, d))


def faults(attention, seed):
    """How far an attention is from each of the three rules."""
    (q, h), (_, other) = draws(seed), draws(seed + 100)
    p = attention(q, h)
    return (
        max(0, -p.min(), abs(p.sum(axis=1) - 1).max()),
        abs(attention(q, h[::-1]) - p[:, ::-1]).max(),
        abs(attention(q, other) - p).max(),
    )


@pytest.mark.parametrize("right", [one.function for one in LOOKING_TEST.right])
def test_right_attentions_obey_all_three_rules(right):
    for seed in range(10):
        shares, moves, changes = faults(right, seed)
        assert shares < 1e-6 and moves < 1e-6 and changes > 1e-3


@pytest.mark.parametrize("wrong", [one.function for one in LOOKING_TEST.wrong])
def test_wrong_attentions_break_a_rule_visibly(wrong):
    for seed in range(10):
        shares, moves, changes = faults(wrong, seed)
        assert shares > 1e-3 or moves > 1e-3 or changes < 1e-9


def following(order=None, atol=1e-5, rows=slice(None), sums=True, signs=True, other=True, size=7):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_looking_test(attention):
        q, h = draws(1, n=size)
        p = attention(q, h)
        if signs:
            assert (p >= 0).all()
        if sums:
            assert np.allclose(p.sum(axis=1), 1, atol=1e-5)
        turn = np.arange(size)[::-1] if order is None else order
        moved = attention(q, h[turn])
        assert np.allclose(moved[rows], p[:, turn][rows], rtol=0, atol=atol)
        if other:
            assert not np.allclose(attention(q, draws(2, n=size)[1]), p, atol=1e-5)

    return my_looking_test


def pair_by_pair(attention):
    q, h = draws(3, m=2, n=5)
    p = attention(q, h)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-5)
    assert p.min() >= 0 and np.ptp(p) > 1e-3
    for i in range(5):
        for j in range(i):
            turn = np.arange(5)
            turn[[i, j]] = j, i
            np.testing.assert_allclose(attention(q, h[turn]), p[:, turn], atol=1e-5)


def unseeded(attention):
    q, h = np.random.normal(size=(5, 6)), np.random.normal(size=(9, 6))
    p = attention(q, h)
    assert (p > -1e-9).all() and abs(p.sum(1) - 1).max() < 1e-5
    assert abs(attention(q, h[::-1]) - p[:, ::-1]).max() < 1e-5
    assert abs(attention(q, 2 * h) - p).max() > 1e-5


RIGHT_TESTS = [
    following(),
    following(order=[3, 0, 5, 6, 1, 2, 4]),
    following(size=12),
    pair_by_pair,
    unseeded,
    following(atol=1e-4),
]


@pytest.mark.parametrize("test", RIGHT_TESTS)
def test_right_tests_pass(test):
    assert check_looking_test(test).status == "passed"


def test_the_solution_passes_and_the_stub_is_not_started():
    solution = run_exercise("history", "ex:history-looking")["my_looking_test"]
    assert check_looking_test(solution).status == "passed"

    def stub(attention):
        raise NotImplementedError

    assert check_looking_test(stub).status == "not started"


@pytest.mark.parametrize("left_out", range(4))
def test_without_any_of_its_assertions_the_solution_lets_one_through(left_out):
    page = (BOOK / "history.md").read_text(encoding="utf-8")
    text = page.split("ex:history-looking")[2].split("```python\n")[1].split("```")[0]
    lines = text.splitlines()
    assertions = [line for line in lines if line.startswith("    assert")]
    assert len(assertions) == 4
    names = {"np": np}
    exec("\n".join(line for line in lines if line != assertions[left_out]), names)
    assert_rejected(check_looking_test, names["my_looking_test"], "of 16")


def rows_only(attention):
    p = attention(*draws())
    assert (p >= 0).all() and np.allclose(p.sum(axis=1), 1, atol=1e-5)


def changes_only(attention):
    q, h = draws()
    assert not np.allclose(attention(q, h), attention(q, -h))


def unchanged(attention):
    q, h = draws()
    assert np.allclose(attention(q, h), attention(q, h[::-1]), atol=1e-5)


def queries_moved(attention):
    q, h = draws()
    assert np.allclose(attention(q[::-1], h), attention(q, h)[::-1], atol=1e-5)


def returns_a_verdict(attention):
    q, h = draws()
    return bool(np.allclose(attention(q, h[::-1]), attention(q, h)[:, ::-1]))


def refuses_all(attention):
    assert attention(*draws()) is None


def one_argument(attention):
    attention(draws()[0])


def value_error(attention):
    q, h = draws()
    if not np.allclose(attention(q, h[::-1]), attention(q, h)[:, ::-1], atol=1e-5):
        raise ValueError


def mean_of_the_sums(attention):
    following(sums=False)(attention)
    assert abs(attention(*draws()).sum(axis=1).mean() - 1) < 1e-5


def total(attention):
    following(sums=False)(attention)
    assert abs(attention(*draws()).sum() - 4) < 1e-5


WRONG_TESTS = {
    "no other content": (following(other=False), "caught 15 of 16"),
    "no sums": (following(sums=False), "caught 13 of 16"),
    "no signs": (following(signs=False), "caught 14 of 16"),
    "a turn of the circle": (following(order=[1, 2, 3, 4, 5, 6, 0]), "of 16"),
    "last two exchanged": (following(order=[0, 1, 2, 3, 4, 6, 5]), "of 16"),
    "mean of the sums": (mean_of_the_sums, "caught 15 of 16"),
    "total": (total, "caught 15 of 16"),
    "first row": (following(rows=slice(1)), "caught 15 of 16"),
    "loose": (following(atol=0.1), "of 16"),
    "to the last bit": (following(atol=0), ""),
    "same order": (following(order=np.arange(7)), "of 16"),
    "rows alone": (rows_only, "of 16"),
    "changes alone": (changes_only, "of 16"),
    "unchanged": (unchanged, "refuses a right implementation"),
    "queries moved": (queries_moved, "of 16"),
    "returns a verdict": (returns_a_verdict, "returned"),
    "refuses all": (refuses_all, "refuses a right implementation"),
    "one argument": (one_argument, "stumbles over a right implementation"),
    "another exception": (value_error, "does not count"),
    "calls and forgets": (lambda attention: attention(*draws()) is None, ""),
}


@pytest.mark.parametrize("name", WRONG_TESTS)
def test_wrong_tests_fail(name):
    assert_rejected(check_looking_test, *WRONG_TESTS[name])
