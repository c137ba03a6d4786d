"""{hints}: three hints for an exercise, each below the one before, for those who ask.

```{hints}
1. Which rows does row i of the output need?
2. Every array is [n, d].
3. `o = np.empty((n, d))`
```
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

from tools.book import quiz
from tools.book.directive import Checking, Directive, Page
from tools.book.elements import make
from tools.book.markup import details

TITLES = ("Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3")
_STEP = re.compile(r"(?m)^(\d)\. +")


def parse(body: str) -> list[tuple[str, int]]:
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
        steps = parse("\n".join(self.content))
        box: list[nodes.Node] = []
        for title, (text, line) in reversed(list(zip(TITLES, steps, strict=True))):
            summary = make("summary", nodes.Text(title))
            words = quiz.parsed(self, text, line)
            box = [make("details", summary, *words, *box, classes="hint")]
        return box


def _portable(page: Page, d: Directive) -> str:
    box = ""
    steps = parse(d.body)
    for title, (text, line) in reversed(list(zip(TITLES, steps, strict=True))):
        words = page.block(text, d.body_line + line)
        box = details(title, f"{words}\n\n{box}".rstrip())
    return box


FORMS = {"hints": _portable}


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("tools.book.elements")
    app.add_directive("hints", Hints)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
