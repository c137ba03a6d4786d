"""What a learner's test may do to the check that grades it."""

import pytest
from generic import right_answers, wrong_answers
from generic_tests import NEVER_CALLED

from attention_src.exercises.engine.grading import Implementation, TestCheck


def counted(x):
    return sorted(x)


RIGHT = [Implementation("sorted", sorted, "it is Python's"), Implementation("own", counted, "")]
WRONG = [
    Implementation("identity", list, "it does nothing"),
    Implementation("set", lambda x: sorted(set(x)), "it loses what occurs twice; do you look?"),
]


@pytest.fixture
def check():
    return TestCheck("sorts", RIGHT, WRONG)


def my_test(sort):
    assert sort([3, 1, 1]) == [1, 1, 3]


def weak_test(sort):
    assert sort([3, 1]) == [1, 3]


ANY = TestCheck("sorts", RIGHT, WRONG)
FUNCTIONS = {name: pair for name, pair in wrong_answers(ANY, my_test).items() if callable(pair[0])}


@pytest.mark.parametrize(("answer", "words"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_what_is_no_test_is_told(check, answer, words):
    result = check(answer)
    assert result.status == ("not started" if words == NEVER_CALLED else "wrong")
    assert words in " ".join(result.message.split())


def test_right_ones_pass(check):
    assert check(my_test) and all(map(check, right_answers(check, my_test).values()))


def test_a_right_implementation_is_met_again_and_again(check):
    """A test that draws its inputs must not refuse it by chance."""
    met = []

    def shaky(sort):
        met.append(sort)
        my_test(sort)
        assert len(met) < 6

    assert "refuses a right implementation" in check(shaky).message


def test_hints_are_given_when_asked_for(check, capsys):
    check.hints = ["Twice."]
    for _ in range(4):
        message = check(weak_test).message
        assert message.endswith("For a hint: check_sorts.hint()") and "Twice." not in message
    capsys.readouterr()
    check.hint()
    assert capsys.readouterr().out == "Hint 1 of 1: Twice.\n"


def test_what_slipped_through_is_told_at_the_second_try(check):
    assert "caught 1 of 2 wrong implementations (identity)" in check(weak_test).message
    assert check(weak_test).message.endswith("do you look?")
