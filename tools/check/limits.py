"""What rewritten chapters keep to. The list of those only grows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

import nbformat

from tools.book.chapters import Chapter
from tools.book.given import MARKED, UNNAMED
from tools.book.given import parts as parts_of
from tools.book.minutes import KEEP, reading, reading_minutes, sections
from tools.check.computed import cells, printed

# Chapters in the shape that docs/chapter.md describes, in the order of _toc.yml: each is a lesson
# of half an hour that ends, and what it proves stands in its lab.
LESSONS: tuple[str, ...] = (
    *("history", "retrieval", "embeddings", "scores", "softmax", "scaling", "equation"),
    *("projections", "masking", "multihead", "gradients", "maps", "kvcache"),
)
NOT_COUNTED = {KEEP, "Exercises", "Quiz", "Take it with you", "Where this goes"}

_SAYS_TRUE = re.compile(r"(?m)(?::|[ \t])[ \t]+True[ \t]*$")
_LONG = re.compile(r"\d[\d,]*\.\d+|\d{1,3}(?:,\d{3})+|\d{3,}")  # shapes and indices are short
_PAUSE = re.compile(
    r"(?i)\b(?:before (?:you (?:read|look|scroll|run)|reading) (?:on|further|it)|guess first)\b"
)
_OURS = re.compile(r"\b(?:ours?|we)\b")
_CLAIM = re.compile(r"\bclaim \d{3}-\d{2}\b", re.I)


def faults(chapter: Chapter) -> Iterator[str]:
    """A line for each limit that a chapter breaks."""
    limits = LIMITS + (OF_LESSONS if chapter.slug in LESSONS else ())
    for what, fewest, most, measure in OF_LABS if chapter.is_lab else limits:
        found = measure(chapter)
        count = found if isinstance(found, int) else len(found)
        named = "" if isinstance(found, int) else f": {', '.join(found)}"
        if count < fewest:
            yield f"{count} {what}; at least {fewest}"
        if most is not None and count > most:
            yield f"{count} {what}; at most {most}{named}"


def says_true(chapter: Chapter) -> int:
    """How many printed lines are an assertion: "largest error below 1e-15: True"."""
    return sum(len(_SAYS_TRUE.findall(text)) for text in printed(chapter))


def visible_claims(chapter: Chapter) -> list[str]:
    """Names of claims that a reader of the notebook meets."""
    if not chapter.notebook.exists():
        return []
    cells = nbformat.read(chapter.notebook, as_version=4).cells
    told = [cell.source for cell in cells if cell.cell_type == "markdown"]
    return [name for text in [*told, *printed(chapter)] for name in _CLAIM.findall(text)]


def lesson_minutes(chapter: Chapter) -> int:
    """How long a lesson takes, not rounded down, with what is printed and what can be tried."""
    texts = printed(chapter, drawn=False)
    lines = sum(bool(line.strip()) for text in texts for line in text.splitlines())
    whole = reading(chapter)
    return math.ceil(whole.minutes + lines / 40 + whole.explorables / 2)


def titles(chapter: Chapter) -> list[str]:
    """The sections of a lesson, its first screen among them."""
    return [title for title, _ in sections(chapter) if title not in NOT_COUNTED]


def blocks(chapter: Chapter) -> list[str]:
    """What the cells of a lesson print, without its exercises and the code to take home."""
    shown = [
        cell
        for cell in cells(chapter)
        if not {"remove-cell", "take-away"} & set(cell.metadata.get("tags", []))
        and "attention_src.exercises" not in cell.source
    ]
    texts = ["".join(o.get("text", "") for o in cell.outputs) for cell in shown]
    return [text for text in texts if text.strip()]


def numbers_in_a_table(chapter: Chapter) -> int:
    """The most numbers in one printed table: 0.374 or 1,024, in rows of two or more."""
    rows = [[len(_LONG.findall(row)) for row in text.splitlines()] for text in blocks(chapter)]
    return max((sum(n for n in row if n > 1) for row in rows), default=0)


def folds_of_one_line(chapter: Chapter) -> list[str]:
    """The first lines of cells that are folded to hide one line."""
    cells = [cell for cell in chapter.read().cells if cell.cell_type == "code"]
    folded = [c for c in cells if "hide-input" in c.metadata.get("tags", [])]
    return [
        cell.source.splitlines()[0]
        for cell in folded
        if sum(bool(row.strip()) and row[0] != "#" for row in cell.source.splitlines()) < 2
    ]


def without_source(chapter: Chapter) -> list[str]:
    """Given numbers whose source is not named, or is a run of ours that nobody can see."""
    marked = [parts_of(text) for text in MARKED.findall(chapter.text)]
    return [number for number, source in marked if source == UNNAMED or _OURS.search(source)]


def pauses(chapter: Chapter) -> list[str]:
    """Words that ask the reader to stop and think, for which there is {predict}."""
    return _PAUSE.findall(chapter.text)


# What is counted, the fewest and the most, and what gives a number or the names of what is found.
Limit = tuple[str, int, int | None, Callable[[Chapter], int | list[str]]]
LIMITS: tuple[Limit, ...] = (
    ("minutes to read", 1, 45, reading_minutes),
    ("pictures", 4, None, lambda chapter: reading(chapter).drawn),
    ("explorables", 1, None, lambda chapter: reading(chapter).explorables),
    ("lines of outputs that only say True and not what was measured", 0, 0, says_true),
    ("claims that readers see", 0, 0, visible_claims),
)
OF_LESSONS: tuple[Limit, ...] = (
    ("minutes of a lesson", 1, 30, lesson_minutes),
    ("words", 1, 2000, lambda chapter: reading(chapter).words),
    ("sections", 1, 6, titles),
    ("predictions", 2, 3, lambda chapter: reading(chapter).predictions),
    ("printed blocks", 0, 12, lambda chapter: len(blocks(chapter))),
    ("numbers in a printed table", 0, 12, numbers_in_a_table),
    ("given numbers whose source nobody can look up", 0, 0, without_source),
    ("folds of one line", 0, 0, folds_of_one_line),
    ("places that say to think before reading on, and ask nothing", 0, 0, pauses),
)
OF_LABS: tuple[Limit, ...] = (
    ("minutes of a lab", 1, 40, lesson_minutes),
    ("given numbers whose source nobody can look up", 0, 0, without_source),
)
