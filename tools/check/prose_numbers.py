"""Compares the numbers of a page's prose with those that the page computes."""

from __future__ import annotations

from collections.abc import Iterator

from tools.book.chapters import Chapter
from tools.book.claims import claims_of
from tools.book.given import MARKED, MEASURED, parts
from tools.book.prose import prose
from tools.check import computed
from tools.check.numbers import in_prose

HOW = (
    "A number in the prose is computed on its page. Print it or assert it in a cell (a hidden one "
    "will do), or mark it as given: {given}`2,048`."
)


def unfounded(chapter: Chapter) -> Iterator[str]:
    """One line for each number of the prose that the page does not compute."""
    outputs, literals = computed.outputs(chapter), computed.literals(chapter)
    described = (1, chapter.front.get("description", ""))
    for first, words in [described, *prose(chapter.text), *computed.alternatives(chapter)]:
        for number in in_prose(words):
            if not number.is_among(outputs, literals):
                line = first + words.count("\n", 0, number.at)
                yield (
                    f"{chapter.source}:{line}: {number.text} is in no output and in no code of "
                    f"this page: {_around(words, number.at)}"
                )


def not_measured(chapter: Chapter) -> Iterator[str]:
    """One line for each number that is measured on another page, which does not print it."""
    for match in MARKED.finditer(chapter.text):
        number, source = parts(match[1])
        named = MEASURED.fullmatch(source)
        if not named:
            continue
        found = computed.outputs(Chapter(chapter.root, f"book/{named[1]}"))
        if not all(n.is_among(found, ()) for n in in_prose(number)):
            line = chapter.line_of(match[0])
            yield f"{chapter.source}:{line}: {named[1]} does not print {number}"


def undecided(chapter: Chapter) -> Iterator[str]:
    """A line for each claim whose evidence is gone, and for each number that is not computed."""
    claims = [claim for claim in claims_of(chapter.root).values() if claim.page == chapter.slug]
    if not claims:
        return
    printed = computed.printed(chapter)
    found = computed.outputs(chapter), computed.literals(chapter)
    for claim in claims:
        said = f"{chapter.source}: claim {claim.id}"
        if claim.cell(printed) is None:
            yield f"{said}: no cell prints {' | '.join(claim.found)}"
        for number in (n for _, words in prose(claim.remark) for n in in_prose(words)):
            if not number.is_among(*found):
                yield f"{said}: {number.text} is in no output and in no code of the page"


def _around(text: str, at: int) -> str:
    """A few words on either side, on the same line."""
    start, stop = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    stop = len(text) if stop < 0 else stop
    left, right = max(start, at - 30), min(stop, at + 30)
    return f"{'…' * (left > start)}{text[left:right].strip()}{'…' * (right < stop)}"
