"""{exercise} of sphinx-exercise, with two options that each must have; and the notebook's form of
it and of {solution-start} … {solution-end}.

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
from sphinx_exercise.directive import ExerciseDirective

from tools.book.directive import Directive, Page, body_of, number_of

LEVELS = {"1": "easy", "2": "medium", "3": "hard"}


def cost(options: dict[str, Any]) -> str:
    """The line under an exercise's title: "Difficulty 2 of 3 (medium), about 10 minutes".

    Raises:
        ValueError: an option is missing or is no such number; the message says what
    """
    level, minutes = options.get("difficulty"), options.get("minutes", "")
    if level not in LEVELS or not minutes.isdecimal():
        raise ValueError("an exercise needs ':difficulty:', 1, 2 or 3, and ':minutes:'")
    return f"Difficulty {level} of 3 ({LEVELS[level]}), about {minutes} minutes"


class Exercise(ExerciseDirective):
    """With the two options, of which it makes a line."""

    option_spec = {**ExerciseDirective.option_spec, "difficulty": str, "minutes": str}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        try:
            line = cost(self.options)
        except ValueError as wrong:
            raise self.error(str(wrong)) from None
        made = super().run()
        for node in made:
            node.children[-1].insert(0, nodes.paragraph("", line, classes=["exercise-cost"]))
        return made


def _portable(page: Page, d: Directive) -> str:
    title = f": {page.inline(d.argument, d.line)}" if d.argument else ""
    head = f"### Exercise {number_of(page, d)}{title}\n\n*{cost(d.options)}.*"
    return f"{head}\n\n{body_of(page, d)}".rstrip()


def _portable_solution(page: Page, d: Directive) -> str:
    title = f"Solution to Exercise {page.numbered(d.argument, d.line)}"
    return f"<details>\n<summary>{title}</summary>"


FORMS = {
    "exercise": _portable,
    "solution-start": _portable_solution,
    "solution-end": lambda page, d: "</details>",
}


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("sphinx_exercise")
    app.add_directive("exercise", Exercise, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
