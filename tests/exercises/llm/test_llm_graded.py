"""The learner's test of a sampler is graded: right tests pass, wrong ones do not."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.exercises.llm import check_sampler_test
from attention_src.exercises.llm.graded import SAMPLER_TEST
from attention_src.exercises.llm.samplers import sampler

FOUR = np.log([0.1, 0.4, 0.3, 0.2])
TIES = np.array([1.0, 3.0, 0.0, 3.0, 2.0])
BIG = np.array([900.0, 902.0, 901.0])
right = sampler()


def grid(logits=(FOUR, TIES, BIG), temperatures=(0, 0.5, 1, 2), tops=(0.35, 0.6, 0.8, 1), n=23):
    us = (np.arange(n) + 0.37) / n
    return [(x, t, p, u) for x in logits for t in temperatures for p in tops for u in us]


def clear(x, t, p, u):
    """Whether a nudge of u or of top_p changes nothing."""
    nudged = {
        right(x, t, min(p * (1 + dp), 1), u + du) for dp in (-1e-4, 0, 1e-4) for du in (-1e-4, 1e-4)
    }
    return p == 1 or len(nudged) == 1


CASES = [case for case in grid() if clear(*case)]


@pytest.mark.parametrize("wrong", [one.function for one in SAMPLER_TEST.wrong])
def test_each_wrong_one_is_wrong(wrong):
    assert any(wrong(*case) != right(*case) for case in CASES)


@pytest.mark.parametrize("one", [one.function for one in SAMPLER_TEST.right])
def test_right_ones_are_right(one):
    assert all(one(*case) == right(*case) for case in CASES)


def a_test(cases=None, oracle=right):
    """A learner's test, right by default, wrong in the way that an argument says."""
    cases = CASES if cases is None else cases

    def my_sampler_test(sample):
        for x, t, p, u in cases:
            assert sample(x.copy(), t, p, u) == oracle(x, t, p, u)

    return my_sampler_test


def by_shares(sample):
    """As histograms over u, compared with probabilities worked out by hand."""
    us = (np.arange(200) + 0.5) / 200
    for t, top_p, wanted in [
        (1.0, 1.0, [0.1, 0.4, 0.3, 0.2]),
        (1.0, 0.6, [0, 4 / 7, 3 / 7, 0]),
        (1.0, 0.8, [0, 4 / 9, 3 / 9, 2 / 9]),
        (0.5, 1.0, np.array([1, 16, 9, 4]) / 30),
        (0.5, 0.8, [0, 16 / 25, 9 / 25, 0]),
        (2.0, 1.0, np.sqrt([1, 4, 3, 2]) / np.sqrt([1, 4, 3, 2]).sum()),
        (1.0, 0.35, [0, 1, 0, 0]),
    ]:
        drawn = np.bincount([sample(FOUR, t, top_p, u) for u in us], minlength=4) / 200
        assert np.abs(drawn - wanted).max() < 0.02
    assert sample(FOUR, 1.0, 1.0, 0.1) == 1 and sample(FOUR, 1.0, 1.0, 0.95) == 0
    assert sample(FOUR, 1.0, 0.6, 0.9) == 2
    assert sample(TIES, 0, 1.0, 0.5) == 1 and sample(TIES, 1.0, 1.0, 0.1) == 1
    assert sample(BIG, 1.0, 1.0, 0.3) == 1 and sample(FOUR, 0, 1.0, 0.99) == 1


def drawn_anew(sample):
    rng = np.random.default_rng()
    for _ in range(150):
        x = (2 * rng.normal(size=5)).round(1) + rng.choice([0, 2000])
        case = x, float(rng.choice([0, 0.5, 2])), float(rng.choice([0.3, 0.6, 0.9])), rng.random()
        if clear(*case):
            assert sample(*case) == right(*case)
    a_test(CASES[::3])(sample)


RIGHT = {
    "worked solution": None,
    "a grid": a_test(),
    "every other": a_test(CASES[::2]),
    "backwards": a_test(CASES[::-1]),
    "shares": by_shares,
    "drawn anew": drawn_anew,
    "no u below a half but for ties": a_test([c for c in CASES if c[3] > 0.5 or c[0] is not FOUR]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_tests_pass(name):
    given = RIGHT[name] or run_exercise("llm", "ex:llm-test")["my_sampler_test"]
    assert check_sampler_test(given).status == "passed"


def raises(sample):
    sample(FOUR, 1.0, 1.0, 0.5)
    raise AssertionError


def only(**fixed):
    """Cases with some arguments fixed."""
    names = ("x", "t", "p", "u")
    return [c for c in CASES if all(c[names.index(k)] in v for k, v in fixed.items())]


def on_the_edge(sample):
    a_test()(sample)
    assert sample(FOUR, 1.0, 0.7, 0.9) == 2


def on_u(sample):
    a_test()(sample)
    assert sample(FOUR, 1.0, 1.0, 0.7) == right(FOUR, 1.0, 1.0, 0.7)


def alone(x, t, p, u):
    """Whether one token stays."""
    return t > 0 and len({right(x, t, p, i / 50) for i in range(50)}) == 1


WRONG = {
    "refuses all": (raises, ""),
    "looks at nothing": (lambda sample: sample(FOUR, 1.0, 1.0, 0.5), "caught 0"),
    "temperature 1 alone": (a_test(only(t=(0, 1))), "caught"),
    "temperature 0 alone": (a_test(only(t=(0,))), "caught"),
    "top_p 1 alone": (a_test(only(p=(1,))), "caught"),
    "no temperature 0": (a_test(only(t=(0.5, 1, 2))), "caught"),
    "no ties": (a_test([c for c in CASES if c[0] is not TIES]), "caught"),
    "small logits": (a_test([c for c in CASES if c[0] is not BIG]), "caught"),
    "never both": (a_test([c for c in CASES if c[1] == 1 or c[3] == 1]), "caught"),
    "a valid id": (
        lambda sample: [a for c in CASES if not 0 <= (a := sample(*c)) < len(c[0])] and None,
        "caught 0",
    ),
    "no temperature above 1": (a_test(only(t=(0, 0.5, 1))), "caught"),
    "two tokens or more": (a_test([c for c in CASES if not alone(*c)]), "caught"),
    "one u": (a_test([c for c in CASES if c[3] < 0.05]), "caught"),
    "on a running sum": (on_the_edge, "rounded"),
    "u on a running sum": (on_u, ""),
    "a wrong oracle": (a_test(oracle=sampler(renormalised=False)), ""),
    "returns False": (lambda sample: sample(FOUR, 0, 1, 0.5) == 2, "assert"),
    "Python's int": (
        lambda sample: [None for c in CASES if not _python(sample(*c))],
        "NumPy integer",
    ),
}


def _python(answer):
    assert type(answer) is int
    return True


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tests_are_rejected(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_sampler_test, answer, spoken_of)


def test_a_test_that_calls_nothing_is_not_started():
    assert not check_sampler_test(lambda sample: None)
