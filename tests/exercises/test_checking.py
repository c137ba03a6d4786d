"""The framework of the checks: what a learner is told, in every case that can happen."""

import re
import sys
import time

import numpy as np
import pytest
from centre import ROW, centred, make

from attention_src.exercises.engine.checking import Case, Check, Mistake

WHOLE = Case("whole numbers", (np.array([1, 2, 5]),))
ROWS = Case("two rows", (np.array([[1.0, 3.0, 8.0], [5.0, 6.0, 10.0]]),))
MISTAKES = (
    Mistake("sign", lambda x: -centred(x), "You subtracted x from its mean."),
    Mistake("whole mean", lambda x: x - x.mean(), "You took one mean for all rows."),
)


@pytest.fixture
def check():
    hints = "What is the mean of a row?", "mean takes an axis.", "Use keepdims=True."
    return make(*MISTAKES, cases=(ROW, WHOLE, ROWS), hints=hints)


def test_right_answer_passes_and_is_printed_once(check, capsys):
    result = check(centred)
    assert result.status == "passed"
    assert capsys.readouterr().out == result.message + "\n"
    assert "in all 3 cases" in result.message


def test_result_shows_nothing_more_in_a_notebook(check, capsys):
    from IPython.core.interactiveshell import InteractiveShell

    result = check(centred)
    capsys.readouterr()
    data, _ = InteractiveShell.instance().display_formatter.format(result)
    assert data == {}
    assert capsys.readouterr().out == ""
    assert repr(result) == "<passed>"


def stub(x):
    raise NotImplementedError


@pytest.mark.parametrize("f", [stub, lambda x: None, lambda x: ..., lambda x: (None, ...)])
def test_a_stub_is_not_started_and_is_told_what_to_do(check, f):
    result = check(f)
    assert result.status == "not started" and "hint" not in result.message
    assert ("Fill in the cell above" if f is stub else "`return`") in result.message


def test_wrong_values_show_the_case_the_input_and_both_answers(check):
    message = check(lambda x: x - x.mean()).message
    assert "in case 3 of 3 (two rows)" in message
    assert "x        = [[ 1.  3.  8.]\n              [ 5.  6. 10.]]" in message
    assert "expected = [[-3. -1.  4.]\n              [-2. -1.  3.]]" in message
    assert "yours    = [[-4.5 -2.5  2.5]" in message
    assert "Likely cause (whole mean): You took one mean for all rows." in message


def test_hints_are_given_when_asked_for_and_no_failing_run_prints_one(check, capsys):
    for _ in range(5):
        message = check(lambda x: x * 3.0).message
        assert message.endswith("For a hint: check_centre.hint()")
        assert not any(hint in message for hint in check.hints)
    capsys.readouterr()
    for _ in range(4):
        check.hint()
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "Hint 1 of 3: What is the mean of a row?"
    assert said[2:] == ["Hint 3 of 3: Use keepdims=True."] * 2
    make(hints=()).hint()
    assert capsys.readouterr().out == "There are no hints.\n"


def as_the_input(x):
    out = np.zeros_like(x)
    out[...] = centred(x)
    return out


def in_place(x):
    if x.dtype == int:
        return centred(x)
    x -= x.mean(axis=-1, keepdims=True)
    return x


NO_ARRAY = ["text", {"a": 1}, [[1.0], [2.0, 3.0]], 1j, abs]


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x: x.sum(axis=-1) * 9, "expected of shape (3,)\n  yours    of shape ()"),
        (as_the_input, "of dtype int64, which cannot hold the digits"),
        (lambda x: centred(x).astype(np.float16), "float16"),
        (lambda x: centred(x) * np.nan, 'nan is "not a number"'),
        (lambda x: centred(x) + 1e-5, "largest difference is 1e-05"),
        (lambda: 1, "could not be called"),
        (in_place, "changed its input x in place"),
        (lambda x: centred(x) if x.ndim == 1 else None, "returned None"),
        *((lambda x, y=y: y, "return an array of numbers; it returned") for y in NO_ARRAY),
    ],
)
def test_a_wrong_answer_is_told_what_is_wrong_and_no_cause_that_is_not_known(check, f, said):
    result = check(f)
    assert result.status == "wrong" and said in result.message
    assert "Likely cause" not in result.message


def test_a_large_whole_number_is_compared_to_the_last_digit():
    places = Check(
        "f", lambda x: x * 10**9, [Case("far", (np.arange(9),))], mistakes=[], hints=["?"] * 3
    )
    assert places(lambda x: x * 1e9).status == "passed"
    assert places(lambda x: x * 10**9 + 1).status == "wrong"


def test_a_mask_must_be_boolean():
    visible = Check("visible", lambda x: x > 0, [Case("a row", (np.array([1.0, -1.0]),))], [], [])
    assert visible(lambda x: x > 0).status == "passed"
    assert "expected of dtype bool" in visible(lambda x: (x > 0) * 1.5).message
    assert "zeros and ones. Make it boolean" in visible(lambda x: (x > 0) * 1).message


def test_an_exception_names_its_line(check):
    def broken(x):
        y = x - 1
        return y.nosuch

    message = check(broken).message
    assert "AttributeError" in message
    assert f"in line {broken.__code__.co_firstlineno + 2}: return y.nosuch" in message


def test_a_mask_as_an_index_of_another_shape_is_told_what_broadcasts(check):
    def picked(x):
        return x[np.ones(len(x) + 1, dtype=bool)]

    message = " ".join(check(picked).message.split())
    assert "IndexError: boolean index did not match" in message
    assert "np.where(mask, a, b) broadcasts it" in message


def test_a_tuple_has_named_parts():
    check = Check(
        "extremes",
        lambda x: (x.min(), x.max()),
        [Case("a row", (np.array([1.0, 2.0]),))],
        [Mistake("swapped", lambda x: (x.max(), x.min()), "You swapped them.")],
        [],
        returns=("low", "high"),
    )
    assert check(lambda x: [x.min(), x.max()]).status == "passed"
    assert "should return (low, high); it returned" in check(lambda x: x.min()).message
    message = check(lambda x: (x[1], x[0])).message
    assert "expected low = 1\n  yours    low = 2" in message
    assert "You swapped them." in message


def test_a_tuple_may_be_one_array_that_holds_its_parts():
    """q, k, v = answer takes it apart as it does a tuple; einops.rearrange gives such arrays."""
    row = [Case("a row", (np.array([1.0, 2.0]),))]
    check = Check("twice", lambda x: (x, -x), row, [], [], returns=("plus", "minus"))
    assert check(lambda x: np.stack([x, -x])) and check(lambda x: [x, -x])
    assert "expected minus = [-1. -2.]" in check(lambda x: np.stack([x, x])).message
    assert "should return (plus, minus)" in check(lambda x: np.stack([x, -x, x])).message


def test_numbers_that_only_move_are_compared_to_the_last_bit():
    row = [Case("a row", (np.array([0.1, 0.7, np.nan]),))]
    check = Check("turned", lambda x: x[::-1], row, [], [], rtol=0)
    assert check(lambda x: np.flip(x)) and check(lambda x: x[::-1].tolist())
    assert "All digits are judged" in check(lambda x: x[::-1] * (1 + 1e-15)).message


def test_a_case_may_be_judged_more_closely_than_others():
    thirds = (np.array([1.0, 2.0]),)
    check = Check("shares", lambda x: x / x.sum(), [Case("a row", thirds)], [], [])
    assert check(lambda x: x / (x.sum() + 1e-10))
    check.cases.append(Case("closely", thirds, rtol=1e-12))
    assert check(lambda x: x * (1 / x.sum()))
    message = check(lambda x: x / (x.sum() + 1e-10)).message
    assert "in case 2 of 2 (closely)" in message and "Twelve digits are judged" in message


def test_memory_is_bounded():
    n = 400
    check = Check(
        "outer",
        lambda x: x * x.sum(),
        [Case("long", (np.ones(n),), max_bytes=n * n)],
        [Mistake("matrix", lambda x: np.outer(x, x).sum(-1), "You built the n × n matrix.")],
        [],
    )
    assert check(lambda x: x * x.sum()).status == "passed"
    message = check(lambda x: np.outer(x, x).sum(-1)).message
    assert "MB of memory; 0.2 MB is ample" in message
    assert "You built the n × n matrix." in message


def test_passing_a_result_instead_of_the_function_is_a_clear_error(check):
    with pytest.raises(ValueError, match="f is ndarray, it should be a function"):
        check(centred(np.ones(3)))


def test_two_runs_say_the_same_and_are_quick(check):
    begin = time.process_time()
    first = check(lambda x: -centred(x)).message
    assert check(lambda x: -centred(x)).message == first
    assert time.process_time() - begin < 3


def test_a_stub_is_called_on_the_named_cases_only(check):
    calls = []
    check.draw = lambda rng: (rng.normal(size=3),)
    assert check(calls.append).status == "not started"
    assert len(calls) == len(check.cases)
    assert check(centred).status == "passed"


@pytest.mark.parametrize("to", ["stdout", "stderr"])
def test_what_a_function_writes_is_kept_and_cut(check, capsys, to):
    def noisy(x):
        getattr(sys, to).write("y" * 1_000_000)
        return x * 3.0

    message = check(noisy).message
    assert "It printed: yyyy" in message and message.count("y") < 300
    check(lambda x: getattr(sys, to).write("y" * 1_000_000) and None)
    out, err = capsys.readouterr()
    assert len(out) < 2000 and not err


def test_a_whole_number_is_a_plain_wrong_value():
    half = Check("half", lambda x: float(x / 2), [Case("five", (5,))], [], [])
    message = half(lambda x: x // 2).message
    assert "expected = 2.5" in message and "yours    = 2" in message and "dtype" not in message
    assert "zeros_like" not in half(lambda x: np.float16(x / 2 + 0.01)).message


def test_a_drawn_case_of_numbers_is_called_by_their_values():
    product = Check("product", lambda a, b: a * b, [Case("ones", (1, 1))], [], [])
    product.draw = lambda rng: (int(rng.integers(2, 5)), float(rng.integers(6, 8)))
    assert re.search(r"drawn, a = [2-4], b = [67]\)", product(lambda a, b: a**b).message)
