"""{exercise} of sphinx-exercise, with two options that each must have; and the notebook's form of
it and of {solution-start} … {solution-end}.

    ```{exercise} Your own softmax
    :label: ex:softmax-implement
    :difficulty: 1
    :minutes: 10
    ```

Difficulty is 1 (follow the text), 2 (combine two ideas of it) or 3 (go beyond it). For
those who ask there are three hints, each below the one before:

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
HINTS = ("Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3")
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


def hints_of(body: str) -> list[tuple[str, int]]:
    """Each step, and its line, counted from the first of the directive's body.

    Raises:
        ValueError: they are not three, numbered 1 to 3
    """
    found = list(_STEP.finditer(body))
    if [step[1] for step in found] != ["1", "2", "3"] or body[: found[0].start()].strip():
        raise ValueError("hints are three steps that begin with '1. ', '2. ' and '3. '")
    ends = [step.start() for step in found[1:]] + [len(body)]
    return [
        (re.sub(r"(?m)^ {3}", "", body[step.end() : end]).strip(), body[: step.start()].count("\n"))
        for step, end in zip(found, ends, strict=True)
    ]


class Hints(Checking):
    """On the site: <details>, one within the other."""

    has_content = True

    def made(self) -> list[nodes.Node]:
        steps = hints_of("\n".join(self.content))
        box: list[nodes.Node] = []
        for title, (text, line) in reversed(list(zip(HINTS, steps, strict=True))):
            summary = make("summary", nodes.Text(title))
            words = quiz.parsed(self, text, line)
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
    box = ""
    steps = hints_of(d.body)
    for title, (text, line) in reversed(list(zip(HINTS, steps, strict=True))):
        words = page.block(text, d.body_line + line)
        box = details(title, f"{words}\n\n{box}".rstrip())
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
