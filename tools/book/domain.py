"""What a page notes for the others: its bugs, its claims, the labels of its predictions.

A directive notes a thing under its kind. A list, which notes itself under LIST, asks for all things
of a kind once every page is read, and is written again in every build.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx
from sphinx.domains import Domain
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from tools.book.chapters import Book

LIST = "list"
_log = logging.getLogger(__name__)


class Note(NamedTuple):
    page: str  # its docname
    kind: str
    thing: Any
    name: str  # no other note of this kind has it; "" if it needs none


class Course(Domain):
    """`data["notes"]` holds the notes of each page."""

    name, label = "course", "Course"
    data_version = 1
    initial_data = {"notes": {}}  # noqa: RUF012  (an attribute that Sphinx reads)

    def note(self, kind: str, thing: Any = None, name: str = "") -> None:
        """Note something of the page that is being read."""
        page = self.env.docname
        self.data["notes"].setdefault(page, []).append(Note(page, kind, thing, name))

    def all(self, kind: str) -> Iterator[Note]:
        """The notes of a kind, in the order of _toc.yml."""
        for page in Book(Path(self.env.srcdir)).pages:
            yield from (n for n in self.data["notes"].get(page.docname, []) if n.kind == kind)

    def clear_doc(self, docname: str) -> None:
        self.data["notes"].pop(docname, None)

    def merge_domaindata(self, docnames: list[str], otherdata: dict[str, Any]) -> None:
        theirs = otherdata["notes"]
        self.data["notes"].update({page: theirs[page] for page in docnames if page in theirs})

    def resolve_any_xref(self, *_: Any) -> list[Any]:
        """No link leads to a note; myst-parser warns of a domain that does not say so."""
        return []

    def check_consistency(self) -> None:
        """Warn of names that are used twice."""
        first: dict[tuple[str, str], Note] = {}
        for note in (note for notes in self.data["notes"].values() for note in notes):
            other = first.setdefault((note.kind, note.name), note)
            if note.name and other is not note:
                said = f"{note.kind} {note.name!r} is used twice; the other is in {other.page}"
                _log.warning(said, location=note.page)


def course(env: BuildEnvironment) -> Course:
    found = env.get_domain(Course.name)
    assert isinstance(found, Course)
    return found


def pages_with_lists(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Pages to write again, whatever else has changed."""
    return [note.page for note in course(env).all(LIST)]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_domain(Course)
    app.connect("env-updated", pages_with_lists)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
