"""The predictions of a chapter: where the right option stands, and whether a {reveal} follows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tools.book import Chapter
from tools.instruments.predict import parse
from tools.minutes.parts import Part, parts


@dataclass(frozen=True)
class Place:
    """Where the right option of a prediction stands."""

    label: str
    right: int  # 0 is the first
    options: int


def places(chapter: Chapter) -> list[Place]:
    """One for each prediction of a chapter, in order; the first option where several are right."""
    asked = [part for part in _in_order(chapter) if part.kind == "prediction"]
    read = [(part.title, parse(part.title, part.body).options) for part in asked]
    return [
        Place(label, [option.right for option in options].index(True), len(options))
        for label, options in read
    ]


def without_reveal(chapter: Chapter) -> Iterator[str]:
    """The label of each prediction that no {reveal} follows up to the next question or heading.

    Questions without a cell in between are settled by the same cells, and share a {reveal}.
    """
    waiting: list[str] = []
    ran = False  # whether a cell stands below the question
    for part in [*_in_order(chapter), Part("heading")]:
        if part.kind == "reveal":
            waiting = []
        elif part.kind in ("heading", "section") or (part.kind == "prediction" and ran):
            yield from waiting
            waiting = []
        if part.kind == "prediction":
            waiting.append(part.title)
            ran = False
        ran = ran or part.kind == "code"


def _in_order(chapter: Chapter) -> Iterator[Part]:
    for cell in chapter.read().cells:
        if cell.cell_type == "code":
            yield Part("code")
        else:
            yield from parts(cell.source)
