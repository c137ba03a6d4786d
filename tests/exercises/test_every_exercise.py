"""Every check of every chapter: solutions, stubs, known mistakes, right answers in other forms, sly
ones. tests/exercises/answers/<chapter>.py adds right answers written otherwise (RIGHT) and sly ones
(SLY), what a page's solution needs from cells above it (GIVEN), and solutions that a page gives but
that only a file can hold (SOLVED).
"""

import contextlib
import importlib
import importlib.util
import inspect
import io
import pkgutil
import time

import numpy as np
import pytest
from worked import BOOK, assert_rejected, run_exercise

from attention_src import exercises
from attention_src.exercises.engine.checking import Check
from attention_src.exercises.engine.designing import DesignCheck
from attention_src.exercises.engine.grading import TestCheck
from attention_src.exercises.engine.ladder import Ladder
from attention_src.exercises.engine.variants import Variant, variants

HERE = BOOK.parent / "tests/exercises/answers"
KINDS = Check, DesignCheck, TestCheck, Ladder


def answers(chapter):
    """The tables of tests/exercises/answers/<chapter>.py: RIGHT, SLY; empty if there are none."""
    spec = importlib.util.spec_from_file_location(f"answers_{chapter}", HERE / f"{chapter}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def everything():
    """(chapter, check) for every check that a chapter imports."""
    for found in pkgutil.iter_modules(exercises.__path__):
        if found.name in ("engine", "keep", "mine", "mistakes_in_smollm2"):
            continue
        module = importlib.import_module(f"{exercises.__name__}.{found.name}")
        for name, value in vars(module).items():
            if name.startswith("check_"):
                yield found.name, name, value


FOUND = list(everything())
IMPORTED_AS = {check: name for _, name, check in FOUND}


def named(*kinds):
    """Parameters: chapter and check, of these kinds."""
    pairs = [
        pytest.param(chapter, check, id=f"{chapter}-{IMPORTED_AS[check]}")
        for chapter, _, check in FOUND
        if isinstance(check, kinds)
    ]
    return pytest.mark.parametrize(("chapter", "check"), pairs)


def each(table):
    """Parameters: a check, one of its answers, and the words that a message must hold."""
    for chapter in sorted({chapter for chapter, _, _ in FOUND}):
        for check, listed in getattr(answers(chapter), table, {}).items():
            for name, answer, words in entries(check, listed):
                yield pytest.param(check, answer, words, id=f"{chapter}-{check.__name__}-{name}")


def entries(check, listed):
    """Name, answer and words of a list of functions, a dict of functions, or a text of lines."""
    if isinstance(listed, str):
        return list(variants(check.solution or check.reference, listed))
    if isinstance(listed, list | tuple) and any(isinstance(one, str) for one in listed):
        return [entry for one in listed for entry in entries(check, one)]
    pairs = listed.items() if isinstance(listed, dict) else ((f.__name__, f) for f in listed)
    return [(name, *(f if isinstance(f, tuple) else (f, ""))) for name, f in pairs]


@pytest.mark.parametrize(("chapter", "name", "check"), FOUND, ids=lambda value: str(value)[:40])
def test_it_is_imported_by_its_name_and_says_what_it_asks(chapter, name, check):
    assert isinstance(check, KINDS) and name.removesuffix("_ladder") in (
        check.__name__,
        check.__name__.removesuffix("_ladder"),
    )
    assert check.__doc__.startswith("Check ") and check.asks
    assert f"from attention_src.exercises.{chapter} import {name}\n" in page_of(chapter)


def page_of(chapter):
    return (BOOK / f"{chapter}.md").read_text(encoding="utf-8")


@named(Check, DesignCheck, TestCheck)
def test_the_solution_of_the_page_passes_and_a_stub_does_not(chapter, check):
    """In under three seconds of this thread's own time, so that a busy machine changes nothing."""
    page = page_of(chapter)
    above, below = page.split(f"import {IMPORTED_AS[check]}\n")
    label = above.rsplit(":label: ", 1)[1].split("\n")[0]
    learner = below.split(f"{IMPORTED_AS[check]}(", 1)[1].split(")")[0]
    table = vars(answers(chapter))
    solution = table.get("SOLVED", {}).get(check)  # where the page's code needs a file: a kernel
    if solution is None:
        with contextlib.redirect_stdout(io.StringIO()):
            solution = run_exercise(chapter, label, **table.get("GIVEN", {}))[learner]
    begin = time.thread_time()
    assert check(solution).status == "passed"
    assert time.thread_time() - begin < 3
    if isinstance(check, Check) and check not in table.get("SOLVED", {}):
        printed = inspect.getsource(check.solution or check.reference)
        assert f"```python\n{printed}```" in page or f"\n\n{printed}```" in page

    def stub(*args):
        raise NotImplementedError

    assert check(stub).status == "not started"


@named(Check)
def test_each_mistake_is_recognised_in_a_named_case(chapter, check):
    for mistake in check.mistakes:
        done = [check._attempt(mistake.wrong, case) for case in check.cases]
        assert any(outcome.error is None for outcome in done), f"{mistake.name} never runs"
        message = check(mistake.wrong).message
        assert f"Likely cause ({mistake.name})" in message
        case = int(message.split(", in case ")[1].split(" of ")[0])
        assert case <= len(check.cases), f"{mistake.name}: only a drawn case shows it"


@named(Check, TestCheck)
def test_each_line_written_otherwise_compiles(chapter, check):
    told = [mistake.wrong for mistake in getattr(check, "mistakes", [])]
    told += [one.function for one in getattr(check, "wrong", [])]
    for function in told:
        if isinstance(function, Variant):
            assert callable(function.function)


FORMS = {
    "lists": lambda x: x.tolist() if x.size else x,  # no list has the shape (0, 2)
    "torch": lambda x: torch_tensor(x),
    "longdouble": lambda x: x.astype(np.longdouble) if x.dtype.kind == "f" else x,
    "Fortran order": lambda x: np.asarray(x, order="F"),
    "read-only": lambda x: read_only(x),
}


def torch_tensor(x):
    return pytest.importorskip("torch").tensor(x)


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def made(check, change):
    """The solution, each part of its answer changed."""
    right = check.solution or check.reference

    def answer(*args, **named):
        out = right(*args, **named)
        return (
            tuple(change(np.asarray(part)) for part in out)
            if check.returns
            else change(np.asarray(out))
        )

    answer.__signature__ = inspect.signature(right)
    return answer


def plain(check):
    """Whether an answer is an array like any other: no storage, no limit of memory."""
    return check.watch is None and all(case.max_bytes is None for case in check.cases)


@pytest.mark.parametrize("form", FORMS)
@named(Check)
def test_the_right_answer_in_another_form_passes(chapter, check, form):
    if plain(check):
        assert check(made(check, FORMS[form])).status == "passed"


def rounded(x):
    return x.round(7) if x.dtype.kind == "f" and abs(x).max(initial=0) < 1e100 else x


SLY = {
    "squeezed": np.squeeze,
    "flattened": np.ravel,
    "rounded": rounded,
    "float32": lambda x: x.astype(np.float32) if x.dtype == np.float64 else x,
    "float16": lambda x: x.astype(np.float16) if x.dtype.kind == "f" else x,
    "the first row for all": lambda x: np.broadcast_to(x[:1], x.shape).copy() if x.ndim else x,
}


@pytest.mark.parametrize("name", SLY)
@named(Check)
def test_a_right_answer_spoilt_does_not_pass(chapter, check, name):
    if plain(check) and any(spoilt(check, case, SLY[name]) for case in check.all_cases()):
        assert check(made(check, SLY[name])).status == "wrong"


def spoilt(check, case, change):
    """Whether a change of the right answer to a case leaves anything else than rounding."""
    parts = [np.asarray(part) for part in check._right(case)]
    return any(
        change(x).shape != x.shape
        or not np.allclose(change(x), x, check.rtol or 1e-8, 1e-9, equal_nan=True)
        for x in parts
    )


@named(Check)
def test_an_answer_kept_from_call_to_call_does_not_pass(chapter, check):
    kept = {}

    def by_shape(*args, **named):
        args = (*args, *named.values())
        key = tuple((np.shape(x), str(getattr(x, "dtype", x))) for x in args)
        if key not in kept:
            kept[key] = (check.solution or check.reference)(*args)
        return kept[key]

    by_shape.__signature__ = inspect.signature(check.solution or check.reference)
    arrays = any(isinstance(x, np.ndarray) for case in check.all_cases() for x in case.args)
    if check.watch is None and arrays:
        assert check(by_shape).status == "wrong"


@named(Check)
def test_an_answer_that_changes_its_input_does_not_pass(chapter, check):
    right = check.solution or check.reference

    def in_place(*args, **named):
        answer = right(*args, **named)
        answer = answer if check.returns else np.copy(answer)
        for x in args:
            if isinstance(x, np.ndarray) and x.size and x.dtype.kind in "fiu":
                x += 1
        return answer

    in_place.__signature__ = inspect.signature(right)
    if check.watch is None and any(isinstance(x, np.ndarray) for x in check.cases[0].args):
        assert "in place" in assert_rejected_somehow(check, in_place)


def assert_rejected_somehow(check, answer):
    result = check(answer)
    assert result.status == "wrong"
    return " ".join(result.message.split())


@named(Check)
def test_what_is_right_in_the_named_cases_alone_does_not_pass(chapter, check):
    known = [case.args for case in check.cases]
    right = check.solution or check.reference

    def by_heart(*args, **named):
        answer = right(*args, **named)
        if any(same(args, case) for case in known):
            return answer
        parts = answer if check.returns else (answer,)
        spoilt = tuple(np.logical_not(x) if np.asarray(x).dtype == bool else x + 1 for x in parts)
        return spoilt if check.returns else spoilt[0]

    by_heart.__signature__ = inspect.signature(right)
    if check.draw and check.watch is None:
        assert check(by_heart).status == "wrong"


def same(args, case):
    return all(np.array_equal(x, y) for x, y in zip(args, case, strict=False))


@pytest.mark.parametrize(("check", "answer", "words"), list(each("RIGHT")))
def test_right_answers_pass(check, answer, words):
    assert check(answer).status == "passed"


@pytest.mark.parametrize(("check", "answer", "words"), list(each("SLY")))
def test_sly_answers_are_rejected(check, answer, words):
    if isinstance(answer, Variant):
        assert callable(answer.function), "its lines are lines of the solution"
    assert_rejected(check, answer, words)
