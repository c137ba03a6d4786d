"""{exercise} and {exercise-start} of sphinx-exercise, with two options that each must have; and
the notebook's form of them and of {solution}.

    ```{exercise} Your own softmax
    :label: ex:softmax-implement
    :difficulty: 1
    :minutes: 10
    ```

Difficulty is 1 (follow the text), 2 (combine two ideas of it) or 3 (go beyond it).
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_exercise.directive import ExerciseDirective, ExerciseStartDirective

from tools.book.directive import Directive, Page, body_of, checked, number_of
from tools.book.markup import details

LEVELS = {"1": "easy", "2": "medium", "3": "hard"}


def cost(options: dict[str, Any]) -> str:
    """The line under an exercise's title: "Difficulty 2 of 3 (medium), about 10 minutes".

    Raises:
        ValueError: an option is missing or is no such number; the message says what
    """
    level = str(options.get("difficulty") or "").strip()
    minutes = str(options.get("minutes") or "").strip()
    if level not in LEVELS:
        raise ValueError(f"an exercise needs ':difficulty:', 1, 2 or 3; it is {level!r}")
    if not (minutes.isdecimal() and int(minutes)):
        raise ValueError(f"an exercise needs ':minutes:', a whole number; it is {minutes!r}")
    plural = "" if int(minutes) == 1 else "s"
    return f"Difficulty {level} of 3 ({LEVELS[level]}), about {int(minutes)} minute{plural}"


class WithCost:
    """Adds the two options to a directive of sphinx-exercise."""

    def run(self: Any) -> list[nodes.Node]:
        try:
            line = cost(self.options)
        except ValueError as wrong:
            raise self.error(str(wrong)) from None
        made = super().run()  # type: ignore[misc]
        for node in made:
            node.children[-1].insert(0, nodes.paragraph("", line, classes=["exercise-cost"]))
        return made


_OPTIONS = {**ExerciseDirective.option_spec, "difficulty": str, "minutes": str}


class Exercise(WithCost, ExerciseDirective):
    option_spec = _OPTIONS


class ExerciseStart(WithCost, ExerciseStartDirective):
    option_spec = _OPTIONS


def _portable(page: Page, d: Directive) -> str:
    title = f": {page.inline(d.argument, d.line)}" if d.argument else ""
    line = checked(page, d, cost, d.options)
    number = number_of(page, d, "an exercise")
    return f"### Exercise{number}{title}\n\n*{line}.*\n\n{body_of(page, d)}".rstrip()


def _solution_title(page: Page, d: Directive) -> str:
    return f"Solution to Exercise {page.numbered(d.argument, d.line)}"


FORMS = {
    "exercise": _portable,
    "exercise-start": _portable,
    "exercise-end": lambda page, d: "",
    "solution": lambda page, d: details(_solution_title(page, d), body_of(page, d)),
    "solution-start": lambda page, d: page.open_solution(_solution_title(page, d), d.line),
    "solution-end": lambda page, d: page.close_solution(d.line),
}


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("sphinx_exercise")
    app.add_directive("exercise", Exercise, override=True)
    app.add_directive("exercise-start", ExerciseStart, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
