"""Roles for the times of the course, which minutes.py computes.

{minutes}`softmax`                          of that chapter: 40 min
{hours}`reading`, `exercises` and `labs`    of all chapters, all exercises, all labs: 17
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.application import Sphinx

from tools.book.chapters import Book, Chapter
from tools.book.minutes import hours, labs, lessons, reading_minutes

Made = tuple[list[nodes.Node], list[nodes.system_message]]


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


def _minutes(root: Path, text: str) -> tuple[str, list[Chapter]]:
    chapter = Chapter(root, f"book/{text}")
    return minutes_of(chapter), [chapter]


def _hours(root: Path, text: str) -> tuple[str, list[Chapter]]:
    book = Book(root)
    return hours_of(book, text), lessons(book) + labs(book)


def _role(find: Callable[[Path, str], tuple[str, list[Chapter]]]) -> Callable[..., Made]:
    def role(name: str, raw: str, text: str, line: int, inliner: Inliner, *_: object) -> Made:
        env = inliner.document.settings.env
        try:
            time, chapters = find(Path(env.srcdir), text)
        except LookupError as missing:
            return [], [inliner.reporter.error(str(missing.args[0]), line=line)]
        for chapter in chapters:
            env.note_dependency(chapter.source)
        return [nodes.Text(time)], []

    return role


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("minutes", _role(_minutes))
    app.add_role("hours", _role(_hours))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
