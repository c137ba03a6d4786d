"""{exercise} of sphinx-exercise, with two options that each must have; and the notebook's form of
it and of {solution-start} … {solution-end}.

    ```{exercise} Your own softmax
    :label: ex:softmax-implement
    :difficulty: 1
    :minutes: 10
    ```

Difficulty is 1 (follow the text), 2 (combine two ideas of it) or 3 (go beyond it). Three
hints, for those who ask, stand each below the one before:

    ```{hints}
    1. Which rows does row i of the output need?
    2. Every array is [n, d].
    3. `o = np.empty((n, d))`
    ```
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_exercise.directive import ExerciseDirective

from tools.book import quiz
from tools.book.directive import Checking, Directive, Page, body_of, number_of
from tools.book.elements import make
from tools.book.markup import details

LEVELS = {"1": "easy", "2": "medium", "3": "hard"}
_STEP = re.compile(r"(?m)^(\d)\. +")


def cost(options: dict[str, Any]) -> str:
    """The line under an exercise's title: "Difficulty 2 of 3 (medium), about 10 minutes".

    Raises:
        ValueError: an option is missing or is no such number; the message says what
    """
    level, minutes = options.get("difficulty"), options.get("minutes", "")
    if level not in LEVELS or not minutes.isdecimal():
        raise ValueError("an exercise needs ':difficulty:', 1, 2 or 3, and ':minutes:'")
    return f"Difficulty {level} of 3 ({LEVELS[level]}), about {minutes} minutes"


class Exercise(Checking, ExerciseDirective):
    """With the two options, of which it makes a line."""

    option_spec = {**ExerciseDirective.option_spec, "difficulty": str, "minutes": str}  # noqa: RUF012

    def made(self) -> list[nodes.Node]:
        line = cost(self.options)
        made = ExerciseDirective.run(self)
        for node in made:
            node.children[-1].insert(0, nodes.paragraph("", line, classes=["exercise-cost"]))
        return made


def hints_of(body: str) -> list[str]:
    """Its steps.

    Raises:
        ValueError: they are not three, numbered 1 to 3
    """
    above, *found = _STEP.split(body)
    if above.strip() or found[::2] != ["1", "2", "3"]:
        raise ValueError("hints are three steps that begin with '1. ', '2. ' and '3. '")
    return [re.sub(r"(?m)^ {3}", "", step).strip() for step in found[1::2]]


class Hints(Checking):
    """On the site: <details>, one within the other."""

    has_content = True

    def made(self) -> list[nodes.Node]:
        steps = hints_of("\n".join(self.content))
        box: list[nodes.Node] = []
        for number in (3, 2, 1):
            summary = make("summary", nodes.Text(f"Hint {number} of 3"))
            words = quiz.parsed(self, steps[number - 1], 0)
            box = [make("details", summary, *words, *box, classes="hint")]
        return box


def _portable(page: Page, d: Directive) -> str:
    title = f": {page.inline(d.argument, d.line)}" if d.argument else ""
    head = f"### Exercise {number_of(page, d)}{title}\n\n*{cost(d.options)}.*"
    return f"{head}\n\n{body_of(page, d)}".rstrip()


def _portable_solution(page: Page, d: Directive) -> str:
    title = f"Solution to Exercise {page.numbered(d.argument, d.line)}"
    return f"<details>\n<summary>{title}</summary>"


def _portable_hints(page: Page, d: Directive) -> str:
    box, steps = "", hints_of(d.body)
    for number in (3, 2, 1):
        words = page.block(steps[number - 1], d.body_line)
        box = details(f"Hint {number} of 3", f"{words}\n\n{box}".rstrip())
    return box


FORMS = {
    "exercise": _portable,
    "hints": _portable_hints,
    "solution-start": _portable_solution,
    "solution-end": lambda page, d: "</details>",
}


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("sphinx_exercise")
    app.setup_extension("tools.book.elements")
    app.add_directive("exercise", Exercise, override=True)
    app.add_directive("hints", Hints)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
