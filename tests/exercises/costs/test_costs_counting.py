"""The ladder on one model, and the learner's test of a counter."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.exercises.costs import check_costs_ladder, check_flops_test
from attention_src.exercises.costs.graded import FLOPS_TEST

SIZES = (3, 5, 7, 2, 4)


# --- the ladder --------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["many", [1, 2], np.nan, 0, -1, 1e99])
def test_odd_answers_are_wrong(answer):
    assert check_costs_ladder(a=answer).status == "wrong"


# --- the test of a counter ---------------------------------------------------------------------


def right(n_q, n_k, d_k, d_v, n_heads, causal):
    seen = [n_k - n_q + i + 1 if causal else n_k for i in range(n_q)]
    return 2 * n_heads * sum(seen) * (d_k + d_v)


@pytest.mark.parametrize("one", [one.function for one in FLOPS_TEST.right])
def test_right_ones_are_right(one):
    for sizes in (SIZES, (1, 9, 4, 4, 1), (6, 6, 2, 3, 2)):
        assert all(one(*sizes, causal) == right(*sizes, causal) for causal in (False, True))


@pytest.mark.parametrize("wrong", [one.function for one in FLOPS_TEST.wrong])
def test_each_wrong_one_is_wrong(wrong):
    assert any(wrong(*SIZES, causal) != right(*SIZES, causal) for causal in (False, True))


def a_test(sizes=(SIZES,), causal=(False, True), look=lambda x: x, oracle=right):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_flops_test(counter):
        for size in sizes:
            for c in causal:
                assert look(counter(*size, c)) == look(oracle(*size, c))

    return my_flops_test


def by_hand(counter):
    # 2 queries, 4 keys: 8 pairs, 7 of them causal; 2 (4 + 1) FLOP each, 3 heads.
    assert counter(2, 4, 4, 1, 3, False) == 240
    assert counter(2, 4, 4, 1, 3, True) == 210


def by_arrays(counter):
    rng = np.random.default_rng(0)
    for _ in range(5):
        n_q, d_k, d_v, n_heads = (int(x) for x in rng.integers(2, 9, 4))
        n_k, d_v = n_q + 3, d_v + d_k
        mask = np.tri(n_q, n_k, n_k - n_q)
        for causal, pairs in ((False, n_q * n_k), (True, mask.sum())):
            found = counter(n_q, n_k, d_k, d_v, n_heads, causal)
            assert np.isclose(found, 2 * pairs * n_heads * (d_k + d_v))


def by_ratios(counter):
    base = counter(3, 5, 7, 2, 1, True)
    assert abs(base - 2 * 12 * 9) < 1e-9
    assert abs(counter(3, 5, 7, 2, 4, True) - 4 * base) < 1e-9
    assert abs(counter(3, 5, 7, 2, 1, False) / base - 15 / 12) < 1e-9


RIGHT = {
    "worked solution": None,
    "right": a_test(),
    "by hand": by_hand,
    "arrays": by_arrays,
    "ratios": by_ratios,
    "more sizes": a_test((SIZES, (1, 8, 3, 5, 2), (4, 4, 6, 6, 3))),
    "unlike": a_test(((2, 11, 5, 3, 7),)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_tests_pass(name):
    given = RIGHT[name] or run_exercise("costs", "ex:costs-test")["my_flops_test"]
    assert check_flops_test(given).status == "passed"


class Within(float):
    """Equal if within ten per cent."""

    def __eq__(self, other):
        return abs(float(self) - float(other)) <= 0.1 * abs(float(other))

    __hash__ = None


def refuses(counter):
    counter(*SIZES, True)
    raise AssertionError


WRONG = {
    "looks at nothing": (lambda counter: counter(*SIZES, True) and None, "caught 0"),
    "refuses all": (refuses, ""),
    "not causal": (a_test(causal=(False,)), "caught"),
    "causal only": (a_test(causal=(True,)), "caught"),
    "square": (a_test(((5, 5, 7, 2, 4),)), "caught"),
    "one width": (a_test(((3, 5, 4, 4, 4),)), "caught"),
    "one head": (a_test(((3, 5, 7, 2, 1),)), "caught"),
    "one query": (a_test(((1, 5, 7, 2, 4),)), "caught"),
    "ones": (a_test(((1, 1, 1, 1, 1),)), "caught"),
    "whole numbers only": (lambda counter: a_test()(counter) or refuses_floats(counter), "float"),
    "rough": (a_test(look=lambda x: round(np.log10(x))), "caught"),
    "positive": (a_test(look=lambda x: x > 0), "caught 0"),
    "ten per cent": (a_test(look=Within), "caught"),
    "one key more": (a_test(((3, 4, 7, 2, 4),)), "caught"),
    "even": (a_test(look=lambda x: x % 2 == 0), "caught"),
    "another count": (a_test(oracle=lambda *x: right(*x) // 2), "refuses"),
    "hidden ones too": (a_test(oracle=lambda *x: right(*x[:-1], False)), "refuses"),
    "returns a verdict": (lambda counter: counter(*SIZES, True) == right(*SIZES, True), ""),
}


def refuses_floats(counter):
    assert isinstance(counter(*SIZES, True), int)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tests_are_rejected(name):
    assert_rejected(check_flops_test, *WRONG[name])


def test_a_test_that_calls_nothing_is_not_started():
    assert not check_flops_test(lambda counter: None)
