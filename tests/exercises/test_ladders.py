"""Every ladder: the page's solution climbs it, and it has an answer for each known wrong value."""

import ast
import importlib
import inspect
import re

import pytest
from worked import FOUND, label_of, run_exercise

from attention_src.exercises.engine.ladder import Ladder, Rung

CHECKS = [one for one in FOUND if isinstance(one[2], Ladder)]
NEEDS_THE_MODEL = {"check_patients"}  # its solution asks SmolLM2


@pytest.mark.parametrize(
    ("chapter", "name", "check"), [x for x in CHECKS if x[1] not in NEEDS_THE_MODEL]
)
def test_the_page_s_solution_climbs_every_rung(chapter, name, check):
    results = []

    def answered(*values, **named):
        results.append(check(*values, **named))

    names = run_exercise(chapter, label_of(chapter, check), **{name: answered})
    if not results:  # the check cell makes the call
        answered(*(names[rung.letter] for rung in check.rungs))
    assert [result.status for result in results] == ["passed"]


@pytest.mark.parametrize("check", [check for _, _, check in CHECKS], ids=lambda check: check.name)
def test_nothing_is_not_started_and_a_part_is_unfinished(check):
    assert check().status == "not started"
    assert list(inspect.signature(check).parameters) == [rung.letter for rung in check.rungs]
    right = [rung.value() if callable(rung.value) else rung.value for rung in check.rungs]
    assert check(*right[:-1]).status == "unfinished"
    assert check(*right).status == "passed"


def test_as_many_decimals_as_a_reply_asks_for_are_enough():
    asked = [
        (rung, {"two": 2, "three": 3}[found[1]])
        for _, _, check in CHECKS
        for rung in check.rungs
        for reply in rung.replies.values()
        if (found := re.search(r"give (two|three) decimals", reply))
    ]
    assert len(asked) >= 5
    for rung, decimals in asked:
        assert Ladder("one", [rung])(round(float(rung.value), decimals)).status == "passed"


def test_a_hint_to_a_rung_is_given_when_asked_for(capsys):
    check = Ladder("one", [Rung("a", "two", 2.0, hint="One and one."), Rung("b", "three", 3.0)])
    for _ in range(3):
        message = check(a=5, b=5).message
        assert message.endswith('ask this check: .hint("a")') and "One and one" not in message
    assert "hint" not in check(b=5).message
    capsys.readouterr()
    check.hint("a")
    check.hint("b")
    said = capsys.readouterr().out.splitlines()
    assert said == ["a  One and one.", "b  There is no hint to this rung."]
    with pytest.raises(ValueError, match="'c' is no rung of this ladder: it has a, b"):
        check.hint("c")


@pytest.mark.parametrize(("chapter", "name", "check"), CHECKS)
def test_no_two_wrong_values_of_a_rung_are_the_same(chapter, name, check):
    """Else the first one's reply would be lost: they are the keys of a dict."""
    tree = ast.parse(
        inspect.getsource(importlib.import_module(f"attention_src.exercises.{chapter}"))
    )
    written = {
        tuple(getattr(x, "value", "") for x in call.args[:2]): len(table.keys)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Rung"
        for table in call.args[3:4]
        if isinstance(table, ast.Dict)
    }
    for rung in check.rungs:
        assert len(rung.replies) == written.get((rung.letter, rung.asks), len(rung.replies))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("(6, 9)", "Yours is text; write numbers, without quotes."),
        (54, "Expected a tuple of 2 numbers; yours is one number."),
        ((6, 9, 1), "yours is a tuple of 3"),
        ((9, 6), "Yours: (9, 6)."),
    ],
)
def test_a_shape_is_spoken_of_as_a_tuple(answer, said):
    assert said in Ladder("one", [Rung("a", "a shape", (6, 9))])(answer).message


def test_where_all_digits_are_judged_all_are_shown():
    check = Ladder("one", [Rung("a", "bytes", 131072, rtol=0)])
    assert "Yours: 131072.5." in check(131072.5).message
