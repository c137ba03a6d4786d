"""The ladders of the chapter on softmax take rounded numbers."""

import pytest

from attention_src.exercises.softmax import check_lead, check_log_sum_exp, check_why_exponential


@pytest.mark.parametrize("check", [check_why_exponential, check_log_sum_exp, check_lead])
def test_the_digits_that_the_statement_asks_for_are_enough(check):
    rounded = {rung.letter: float(f"{rung.value:.3g}") for rung in check.rungs}
    if check is check_log_sum_exp:
        rounded["c"] = 1004.7  # "and one after"
    assert check(**rounded).status == "passed"


NEAR = {
    check_why_exponential: [("a", 9.04), ("c", 1.74), ("d", 2.07), ("d", 2.09)],
    check_log_sum_exp: [
        *[("c", x) for x in (1000, 1004, 1005, 1004.2, 1004.6, 1004.8)],
        *[("d", x) for x in (-999, -1000.693, -1001, -1004.7)],
    ],
    check_lead: [("a", 147), ("b", 9.8), ("c", 7.36e-5), ("d", 3.8), ("e", 2.2)],
}


@pytest.mark.parametrize("check", NEAR)
def test_near_misses_are_refused(check):
    for letter, answer in NEAR[check]:
        assert check(**{letter: answer}).status == "wrong", (letter, answer)
