"""Every check of every chapter: solutions, stubs, known mistakes, right answers in other forms, sly
ones. generic.py makes answers of any solution; tests/exercises/answers/<chapter>.py adds right
answers written otherwise (RIGHT) and sly ones (SLY), what a page's solution needs from cells above
it (GIVEN), and solutions that a page gives but that only a file can hold (SOLVED). Where the answer
is a test, `a_test` there makes one: right by default, wrong in the way that an argument says.
"""

import inspect
import time

import pytest
from generic import right_answers, wrong_answers
from generic_tests import NEVER_CALLED
from worked import FOUND, IMPORTED_AS, answers, assert_rejected, listed, page_of, solution_of

from attention_src.exercises.engine import Check, DesignCheck, Ladder, TestCheck
from attention_src.exercises.engine.variants import Variant

KINDS = Check, DesignCheck, TestCheck, Ladder
# A model reads 16 pairs; a square tile of a long block is large; a loop goes row by row.
SLOW = {
    "maps-check_luck",
    "gpu-check_tile-square tiles",
    "equation-check_attention_by_rows-a running softmax, which the exercise does not ask for",
}


def parameter(*values, name):
    return pytest.param(*values, id=name, marks=[pytest.mark.slow] if name in SLOW else [])


def named(*kinds):
    """Parameters: chapter and check, of these kinds."""
    pairs = [
        parameter(chapter, check, name=f"{chapter}-{IMPORTED_AS[check]}")
        for chapter, _, check in FOUND
        if isinstance(check, kinds)
    ]
    return pytest.mark.parametrize(("chapter", "check"), pairs)


def each(table):
    """Parameters: a check, one of its answers, and the words that a message must hold."""
    for chapter, _, check in FOUND:
        for name, answer, words in listed(chapter, table, check):
            yield parameter(check, answer, words, name=f"{chapter}-{check.__name__}-{name}")


@pytest.mark.parametrize(("chapter", "name", "check"), FOUND, ids=lambda value: str(value)[:40])
def test_it_is_imported_by_its_name_and_says_what_it_asks(chapter, name, check):
    assert isinstance(check, KINDS) and name.removesuffix("_ladder") in (
        check.__name__,
        check.__name__.removesuffix("_ladder"),
    )
    assert check.__doc__.startswith("Check ") and check.asks
    assert f"from attention_src.exercises.{chapter} import {name}\n" in page_of(chapter)


@named(Check, DesignCheck, TestCheck)
def test_the_solution_of_the_page_passes_and_a_stub_does_not(chapter, check):
    """In under three seconds of this thread's own time, so that a busy machine changes nothing."""
    solution = solution_of(chapter, check)
    begin = time.thread_time()
    assert check(solution).status == "passed"
    assert time.thread_time() - begin < 3
    if isinstance(check, Check) and check not in answers(chapter).get("SOLVED", {}):
        printed = inspect.getsource(check.solution or check.reference)
        page = page_of(chapter)
        assert f"```python\n{printed}```" in page or f"\n\n{printed}```" in page

    def stub(*args):
        raise NotImplementedError

    assert check(stub).status == "not started"


def mistakes():
    """Parameters: a check, and one of its mistakes."""
    for chapter, _, check in FOUND:
        for mistake in check.mistakes if isinstance(check, Check) else ():
            name = f"{chapter}-{IMPORTED_AS[check]}-{mistake.name}"
            yield pytest.param(check, mistake, id=name)


@pytest.mark.parametrize(("check", "mistake"), list(mistakes()))
def test_each_mistake_is_recognised_in_a_named_case(check, mistake):
    done = (check._attempt(mistake.wrong, case) for case in check.cases)
    assert any(outcome.error is None for outcome in done), "it never runs"
    message = check(mistake.wrong).message
    assert f"Likely cause ({mistake.name})" in message
    case = int(message.split(", in case ")[1].split(" of ")[0])
    assert case <= len(check.cases), "only a drawn case shows it"


@named(Check, TestCheck)
def test_it_has_hints_in_one_place(chapter, check):
    """Below the task on the page, or else in the check: never in both, never in none."""
    above = page_of(chapter).split(f"import {IMPORTED_AS[check]}\n")[0]
    assert ("```{hints}" in above.rsplit("{exercise}", 1)[1]) == (not check.hints)


@named(Check, TestCheck)
def test_each_line_written_otherwise_compiles(chapter, check):
    told = [mistake.wrong for mistake in getattr(check, "mistakes", [])]
    told += [one.function for one in getattr(check, "wrong", [])]
    assert all(callable(f.function) for f in told if isinstance(f, Variant))


def run(check, answer):
    """A function or a test as it is; a ladder's answers by their letters."""
    return check(**answer) if isinstance(check, Ladder) else check(answer)


def page_s(chapter, check):
    return None if isinstance(check, Ladder) else solution_of(chapter, check)


@named(*KINDS)
def test_the_right_answer_in_another_form_passes(chapter, check):
    for name, answer in right_answers(check, page_s(chapter, check)).items():
        assert run(check, answer).status == "passed", name


@named(*KINDS)
def test_an_answer_spoilt_does_not_pass(chapter, check):
    for name, (answer, words) in wrong_answers(check, page_s(chapter, check)).items():
        try:
            result = run(check, answer)
        except ValueError as error:  # no function at all
            assert words and words in str(error), name
            continue
        expected = "not started" if words == NEVER_CALLED else "wrong"
        assert result.status == expected, name
        assert words in " ".join(result.message.split()), name


@named(*KINDS)
def test_it_was_attacked_as_the_readme_promises(chapter, check):
    """A dozen wrong answers, and six right ones: the solution and others."""
    solution = page_s(chapter, check)
    wrong = len(wrong_answers(check, solution)) + len(listed(chapter, "SLY", check))
    assert wrong + len(getattr(check, "mistakes", [])) >= 12
    assert 1 + len(right_answers(check, solution)) + len(listed(chapter, "RIGHT", check)) >= 6


@pytest.mark.parametrize(("check", "answer", "words"), list(each("RIGHT")))
def test_right_answers_pass(check, answer, words):
    assert run(check, answer).status == "passed"


@pytest.mark.parametrize(("check", "answer", "words"), list(each("SLY")))
def test_sly_answers_are_rejected(check, answer, words):
    if isinstance(answer, Variant):
        assert callable(answer.function), "its lines are lines of the solution"
    assert_rejected(check, answer, words)
