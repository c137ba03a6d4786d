"""{happened-start} … {happened-end}: a real, public, dated bug, reproduced on the page; {bugs}.

    ```{happened-start} NaN from a maximum nobody subtracted
    :date: 2026-03
    :source: pytorch/executorch #18407
    :link: https://github.com/pytorch/executorch/issues/18407
    ```

    Text and code cells, which a directive could not hold.

    ```{happened-end}
    ```

On the site the two become one box around what lies between. {bugs} lists the boxes of all pages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tools.book.chapters import Book, Chapter
from tools.book.directive import Checking, Directive, Page
from tools.book.elements import is_kind, make

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_DATE = re.compile(r"(\d{4})-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?")
_OPTION = re.compile(r"(?m)^:(\w+): *(.+)$")
_START = re.compile(r"(?m)^`{3,}\{happened-start\} (.+)\n((?::.+\n)+)")
_log = logging.getLogger(__name__)


@dataclass
class Bug:
    """What a box says about its bug."""

    title: str
    date: str  # "2026-03" or "2026-03-15"
    source: str
    link: str

    @property
    def when(self) -> str:
        """ "March 2026" or "15 March 2026"."""
        year, month, *day = self.date.split("-")
        return " ".join([*(str(int(d)) for d in day), _MONTHS[int(month) - 1], year])


def read(title: str, content: str) -> Bug:
    """Check what a {happened-start} says.

    Its option lines are read here, not by MyST, to which the # of "torch #18407" begins a comment.

    Raises:
        ValueError: something is missing or malformed; the message says what
    """
    found = dict(_OPTION.findall(content))
    if found.keys() != {"date", "source", "link"}:
        raise ValueError("a bug that happened has a :date:, a :source: and a :link:")
    if not _DATE.fullmatch(found["date"]) or not found["link"].startswith("https://"):
        raise ValueError("':date:' is a year and a month, 2026-03, and ':link:' is https://…")
    return Bug(title, **found)


class HappenedStart(Checking):
    """The box, with its title and source; MakeBoxes puts the rest into it."""

    required_arguments, final_argument_whitespace = 1, True
    has_content = True

    def made(self) -> list[nodes.Node]:
        bug = read(self.arguments[0], "\n".join(self.content))
        words, _ = self.state.inline_text(bug.title, self.lineno)
        label = nodes.strong("", "It happened. ")
        title = nodes.paragraph("", "", label, *words, classes=["happened-title"])
        link = nodes.reference("", bug.source, refuri=bug.link)
        source = nodes.paragraph("", f"{bug.when}, ", link, classes=["happened-source"])
        box = make("div", title, source, classes="happened")
        box["ids"].append(_id(words))
        self.set_source_info(box)
        return [box]


class HappenedEnd(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        end = make("div", classes="happened-end")
        self.set_source_info(end)
        return [end]


class Bugs(SphinxDirective):
    """Every box of the course, in the order of the book."""

    def run(self) -> list[nodes.Node]:
        items = nodes.bullet_list(classes=["bugs"])
        for page in Book(Path(self.env.srcdir)).pages:
            self.env.note_dependency(page.source)
            items += [self._item(page, read(*found)) for found in _START.findall(page.text)]
        return [items]

    def _item(self, page: Chapter, bug: Bug) -> nodes.list_item:
        where = self.env.app.builder.get_relative_uri(self.env.docname, page.docname)
        words, _ = self.state.inline_text(bug.title, self.lineno)
        title = "".join(word.astext() for word in words)
        line = nodes.paragraph("", "", nodes.reference("", title, refuri=f"{where}#{_id(words)}"))
        line += nodes.Text(f". {bug.when}, ")
        line += nodes.reference("", bug.source, refuri=bug.link)
        line += nodes.Text(", in ")
        line += nodes.reference("", page.title, refuri=where)
        return nodes.list_item("", line)


def _id(title: Sequence[nodes.Node]) -> str:
    return "happened-" + nodes.make_id("".join(word.astext() for word in title))


class MakeBoxes(SphinxTransform):
    """Put what lies between start and end into the box."""

    default_priority = 10  # as sphinx-exercise does for its gated directives

    def apply(self, **_: Any) -> None:
        for end in list(self.document.findall(lambda node: is_kind(node, "happened-end"))):
            above = end.parent.children[: end.parent.index(end)]
            starts = [i for i, node in enumerate(above) if is_kind(node, "happened")]
            if not starts:
                _log.warning("happened-end without happened-start", location=end)
            inside = above[starts[-1] + 1 :] if starts else []
            for node in [*inside, end]:
                node.parent.remove(node)
            if starts:
                above[starts[-1]] += inside
        for box in self.document.findall(lambda node: is_kind(node, "happened")):
            if len(box) == 2:  # title and source
                _log.warning("happened-start without happened-end before a heading", location=box)


def _portable_start(page: Page, d: Directive) -> str:
    bug = read(d.argument, d.content)
    title = page.inline(d.argument, d.line)
    return f"---\n\n**It happened. {title}**\n\n*{bug.when},* [{bug.source}]({bug.link})"


FORMS = {"happened-start": _portable_start, "happened-end": lambda page, d: "---"}


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("tools.book.elements")
    app.add_directive("happened-start", HappenedStart)
    app.add_directive("happened-end", HappenedEnd)
    app.add_directive("bugs", Bugs)
    app.add_transform(MakeBoxes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
