"""Roles for the times of the course, which minutes.py computes.

{minutes}`softmax`                          of that chapter: 40 min
{hours}`reading`, `exercises` and `labs`    of all chapters, all exercises, all labs: 17
"""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.application import Sphinx

from tools.book.chapters import Book, Chapter
from tools.book.minutes import hours, labs, lessons, reading_minutes


def minutes_of(chapter: Chapter) -> str:
    """ "30 min", how long a chapter takes to read.

    Raises:
        LookupError: there is no such chapter
    """
    if not chapter.path.is_file() or not chapter.has_code:
        raise LookupError(f"{chapter.source} is no chapter")
    return f"{reading_minutes(chapter)} min"


def hours_of(book: Book, kind: str) -> str:
    """ "17", how many hours all chapters take to read, all exercises to solve, all labs to read.

    Raises:
        LookupError: the kind is none of "reading", "exercises", "labs"
    """
    found = hours(book)
    if kind not in found:
        raise LookupError(f"the hours of {' or '.join(found)}, not of {kind!r}")
    return str(found[kind])


def role(
    name: str, raw: str, text: str, line: int, inliner: Inliner, *_: object
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """A time, and that it depends on all chapters."""
    env = inliner.document.settings.env
    book = Book(Path(env.srcdir))
    for chapter in lessons(book) + labs(book):
        env.note_dependency(chapter.source)
    of_one = name == "minutes"
    try:
        found = minutes_of(Chapter(book.root, f"book/{text}")) if of_one else hours_of(book, text)
    except LookupError as missing:
        return [], [inliner.reporter.error(str(missing.args[0]), line=line)]
    return [nodes.Text(found)], []


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("minutes", role)
    app.add_role("hours", role)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
