"""Every ladder: the page's solution climbs it, and each known wrong value gets its reply."""

import importlib
import inspect
import pkgutil

import pytest
from worked import BOOK, assert_rejected, run_exercise

from attention_src import exercises
from attention_src.exercises.engine.ladder import Ladder, told

NEEDS_THE_MODEL = {"check_patients"}  # its solution asks SmolLM2


def arguments(check):
    return inspect.signature(check).parameters


def checks():
    """Chapter and check of each ladder: any argument of its check may be left open."""
    for folder in pkgutil.iter_modules(exercises.__path__):
        module = importlib.import_module(f"{exercises.__name__}.{folder.name}")
        for name, check in vars(module).items():
            if name.startswith("check_") and all(
                x.default is ... for x in arguments(check).values()
            ):
                yield folder.name, check


CHECKS = list(checks())


@pytest.mark.parametrize(
    ("chapter", "check"), [x for x in CHECKS if x[1].__name__ not in NEEDS_THE_MODEL]
)
def test_the_page_s_solution_climbs_every_rung(chapter, check):
    page = (BOOK / f"{chapter}.md").read_text(encoding="utf-8")
    above = page.split(f"import {check.__name__}\n")[0]
    label = above.rsplit(":label: ", 1)[1].split("\n")[0]
    results = []

    def answered(*values, **named):
        results.append(check(*values, **named))

    names = run_exercise(chapter, label, **{check.__name__: answered})
    if not results:  # the check cell makes the call
        answered(*(names[letter] for letter in arguments(check)))
    assert [result.status for result in results] == ["passed"]


@pytest.mark.parametrize(("chapter", "check"), CHECKS)
def test_each_known_wrong_value_gets_its_reply(chapter, check):
    nothing = check()
    assert nothing.status == "not started"
    if isinstance(check, Ladder):
        ladder = check
    else:
        defined = vars(inspect.getmodule(check)).values()
        [ladder] = [x for x in defined if isinstance(x, Ladder) and f"{x.name}:" in nothing.message]
    assert list(arguments(check)) == [rung.letter for rung in ladder.rungs]
    for rung in ladder.rungs:
        for value, message in told(rung):
            wrong = {rung.letter: value() if callable(value) else value}
            assert_rejected(lambda given: check(**given), wrong, message)
