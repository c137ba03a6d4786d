"""The rules for chapters that have been rewritten. The list of those only grows."""

from __future__ import annotations

import re
from collections.abc import Iterator

import nbformat

from tools.book import Chapter
from tools.budget.questions import without_reveal
from tools.freshness import own_cells
from tools.minutes.measure import reading, reading_minutes

# Chapters in the shape that CONTRIBUTING.md describes under "A chapter", in the order of _toc.yml.
REWRITTEN: tuple[str, ...] = ("equation", "multihead", "kvcache")

MOST_MINUTES = 45
FEWEST_PICTURES = 4
_SAYS_TRUE = re.compile(r"(?m)(?::|[ \t])[ \t]+True[ \t]*$")
_CLAIM = re.compile(r"\bclaim \d{3}-\d{2}\b", re.I)


def faults(chapter: Chapter) -> Iterator[str]:
    """A line for each rule that a chapter breaks."""
    budget, minutes = reading(chapter), reading_minutes(chapter)
    if minutes > MOST_MINUTES:
        yield f"{minutes} minutes to read; {MOST_MINUTES} is the most"
    if budget.drawn < FEWEST_PICTURES:
        yield f"{budget.drawn} pictures; {FEWEST_PICTURES} are the fewest"
    if not budget.explorables:
        yield "nothing to move: no explorable"
    for label in without_reveal(chapter):
        yield f"no {{reveal}} follows {label}"
    if count := says_true(chapter):
        yield f"{count} lines of outputs that only say True: print what was measured"
    for claim in visible_claims(chapter):
        yield f"readers see {claim!r}"


def says_true(chapter: Chapter) -> int:
    """How many printed lines are an assertion: "largest error below 1e-15: True"."""
    return sum(len(_SAYS_TRUE.findall(text)) for text in _printed(chapter))


def visible_claims(chapter: Chapter) -> list[str]:
    """Names of claims that a reader of the notebook meets."""
    if not chapter.notebook.exists():
        return []
    cells = nbformat.read(chapter.notebook, as_version=4).cells
    told = [cell.source for cell in cells if cell.cell_type == "markdown"]
    return [name for text in [*told, *_printed(chapter)] for name in _CLAIM.findall(text)]


def _printed(chapter: Chapter) -> Iterator[str]:
    """What the cells that readers see have printed."""
    if not chapter.notebook.exists():
        return
    for cell in own_cells(nbformat.read(chapter.notebook, as_version=4)):
        if "remove-cell" not in cell.metadata.get("tags", []):
            yield from (output.get("text", "") for output in cell.outputs)
