"""A chapter's sections, what each holds, how long that takes, and the lines and roles that say so.

{minutes}`softmax` is the time of a chapter; {hours}`reading`, `exercises` and `labs` are of all.
"""

from __future__ import annotations

import ast
from dataclasses import astuple, dataclass
from functools import lru_cache
from pathlib import Path

import nbformat
from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.application import Sphinx

from tools.book.chapters import Book, Chapter
from tools.book.freshness import tree
from tools.book.parts import count_words, lines_of, parts

WORDS_A_MINUTE = 130
LINES_A_MINUTE = 12
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell", "setup"}
UNSEEN = {"remove-cell", "remove-output"}  # tags of cells whose pictures nobody sees
NOT_READING = {"Exercises", "Quiz"}
OPENING, KEEP = "", "What to keep"
_DRAWS = {"show", "draw"}


@dataclass
class Budget:
    """What a piece of a chapter holds."""

    words: int = 0
    captions: int = 0  # the words of captions, which are in `words` too
    code: int = 0
    predictions: int = 0
    pictures: int = 0
    explorables: int = 0

    @property
    def drawn(self) -> int:
        return self.pictures + self.explorables

    @property
    def minutes(self) -> float:
        read = self.words / WORDS_A_MINUTE + self.code / LINES_A_MINUTE
        return read + self.predictions + self.drawn / 2

    def __add__(self, other: Budget) -> Budget:
        return Budget(*map(sum, zip(astuple(self), astuple(other), strict=True)))


Sections = tuple[tuple[str, Budget], ...]


def sections(chapter: Chapter) -> Sections:
    """Each section's title and what it holds; the opening, above the first one, has no title."""
    return _sections(chapter.text, chapter)


def reading(chapter: Chapter) -> Budget:
    """What is to be read: all sections but exercises and quiz."""
    return sum((b for title, b in sections(chapter) if title not in NOT_READING), Budget())


def reading_minutes(chapter: Chapter) -> int:
    """How long a chapter takes to read: a minute at least."""
    return max(1, round(reading(chapter).minutes))


def minutes_in_short(chapter: Chapter) -> int:
    """How long the opening, the pictures with their captions, and "What to keep" take."""
    whole = reading(chapter)
    ends = [b for title, b in sections(chapter) if title in (OPENING, KEEP)]
    words = sum(b.words - b.captions for b in ends) + whole.captions
    return max(1, round(Budget(words=words, pictures=whole.drawn).minutes))


def time_line(chapter: Chapter) -> str:
    """Reading, exercises, seconds to run; "" without code.

    "45 min to read (opening, pictures, summary: 6 min), 60 min of exercises, 25 s to run"
    """
    if not chapter.has_code:
        return ""
    said = [f"{reading_minutes(chapter)} min to read"]
    if minutes := chapter.exercise_minutes:
        said[0] += f" (opening, pictures, summary: {minutes_in_short(chapter)} min)"
        said.append(f"{minutes} min of exercises")
    if seconds := chapter.front.get("running_seconds"):
        said.append(f"{seconds} s to run")
    return ", ".join(said)


def lessons(book: Book) -> list[Chapter]:
    """The chapters of the course: pages with exercises that are no labs."""
    return [page for page in book.chapters if page.exercise_minutes and not page.is_lab]


def labs(book: Book) -> list[Chapter]:
    """The labs, each below its lesson."""
    return [page for page in book.chapters if page.is_lab]


def hours(book: Book) -> dict[str, int]:
    """How long it takes to read all chapters, to solve all exercises, and to read all labs."""
    pages = lessons(book)
    minutes = {
        "reading": sum(map(reading_minutes, pages)),
        "exercises": sum(page.exercise_minutes for page in [*pages, *labs(book)]),
        "labs": sum(map(reading_minutes, labs(book))),
    }
    return {kind: round(total / 60) for kind, total in minutes.items()}


def time_of(book: Book, role: str, name: str) -> str:
    """What the roles show: of {minutes}`softmax` "40 min", of {hours}`labs` "4".

    Raises:
        LookupError: there is no such chapter, or no such kind of hours
    """
    if role == "hours":
        known = {kind: str(number) for kind, number in hours(book).items()}
    else:
        known = {page.slug: f"{reading_minutes(page)} min" for page in book.chapters}
    if name not in known:
        raise LookupError(f"there are no {role} of {name!r}")
    return known[name]


def time_role(
    role: str, raw: str, text: str, line: int, inliner: Inliner, *_: object
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """A time, and that it depends on all chapters."""
    env = inliner.document.settings.env
    book = Book(Path(env.srcdir))
    for chapter in book.chapters:
        env.note_dependency(chapter.source)
    try:
        return [nodes.Text(time_of(book, role, text))], []
    except LookupError as missing:
        return [], [inliner.reporter.error(str(missing), line=line)]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("minutes", time_role)
    app.add_role("hours", time_role)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


@lru_cache(maxsize=128)  # by the text, because every built page asks for every chapter
def _sections(text: str, chapter: Chapter) -> Sections:
    found = [(OPENING, Budget())]
    for cell in chapter.read().cells:
        if cell.cell_type == "code":
            found[-1] = (found[-1][0], found[-1][1] + _of_cell(cell))
            continue
        for part in parts(cell.source):
            title, so_far = found[-1]
            if part.kind == "section":
                found.append((part.title, Budget()))
            else:
                found[-1] = (title, so_far + _of_part(part.kind, part.count))
    return tuple(found)


def _of_part(kind: str, count: int) -> Budget:
    names = {"words": "words", "code": "code", "prediction": "predictions"}
    return Budget(**{names[kind]: count}) if kind in names else Budget()


def _of_cell(cell: nbformat.NotebookNode) -> Budget:
    """What a code cell shows."""
    tags = set(cell.metadata.get("tags", []))
    caption = count_words(cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", ""))
    drawn = Budget(words=caption, captions=caption)
    if not tags & UNSEEN:
        calls = [n for n in ast.walk(tree(cell.source)) if isinstance(n, ast.Call)]
        names = [getattr(call.func, "id", "") for call in calls]
        drawn.pictures = sum(name in _DRAWS for name in names)
        drawn.explorables = names.count("explorable")
    drawn.code = 0 if tags & FOLDED else lines_of(cell.source)
    return drawn
