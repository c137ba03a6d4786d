"""Every ladder: the page's solution climbs it, and each known wrong value gets its reply."""

import ast
import importlib
import inspect
import pkgutil

import pytest
from worked import BOOK, assert_rejected, run_exercise

from attention_src import exercises
from attention_src.exercises.engine.ladder import Ladder

NEEDS_THE_MODEL = {"check_patients"}  # its solution asks SmolLM2


def arguments(check):
    return inspect.signature(check).parameters


def checks():
    """Chapter, name and check of each ladder."""
    for folder in pkgutil.iter_modules(exercises.__path__):
        module = importlib.import_module(f"{exercises.__name__}.{folder.name}")
        for name, check in vars(module).items():
            if name.startswith("check_") and isinstance(check, Ladder):
                yield folder.name, name, check


CHECKS = list(checks())


@pytest.mark.parametrize(
    ("chapter", "name", "check"), [x for x in CHECKS if x[1] not in NEEDS_THE_MODEL]
)
def test_the_page_s_solution_climbs_every_rung(chapter, name, check):
    page = (BOOK / f"{chapter}.md").read_text(encoding="utf-8")
    above = page.split(f"import {name}\n")[0]
    label = above.rsplit(":label: ", 1)[1].split("\n")[0]
    results = []

    def answered(*values, **named):
        results.append(check(*values, **named))

    names = run_exercise(chapter, label, **{name: answered})
    if not results:  # the check cell makes the call
        answered(*(names[letter] for letter in arguments(check)))
    assert [result.status for result in results] == ["passed"]


@pytest.mark.parametrize("check", [check for _, _, check in CHECKS], ids=lambda check: check.name)
def test_each_known_wrong_value_gets_its_reply(check):
    nothing = check()
    assert nothing.status == "not started"
    assert list(arguments(check)) == [rung.letter for rung in check.rungs]
    for rung in check.rungs:
        for value, message in rung.replies.items():
            wrong = {rung.letter: value() if callable(value) else value}
            assert_rejected(lambda given: check(**given), wrong, message)


@pytest.mark.parametrize(("chapter", "name", "check"), CHECKS)
def test_no_two_wrong_values_of_a_rung_are_the_same(chapter, name, check):
    """Else the first one's reply would be lost: they are the keys of a dict."""
    tree = ast.parse(inspect.getsource(importlib.import_module(f"{exercises.__name__}.{chapter}")))
    written = {
        tuple(getattr(x, "value", "") for x in call.args[:2]): len(table.keys)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Rung"
        for table in call.args[3:4]
        if isinstance(table, ast.Dict)
    }
    for rung in check.rungs:
        assert len(rung.replies) == written.get((rung.letter, rung.asks), len(rung.replies))
