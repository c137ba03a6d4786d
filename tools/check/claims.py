"""Is every claim that a page decides still decided by what its cells print?"""

from __future__ import annotations

from collections.abc import Iterator

from tools.book.chapters import Chapter
from tools.book.claims import claims_of
from tools.book.prose import prose
from tools.check import computed
from tools.check.numbers import in_prose


def undecided(chapter: Chapter) -> Iterator[str]:
    """A line for each claim whose evidence is gone, and for each number that is not computed."""
    claims = [claim for claim in claims_of(chapter.root).values() if claim.page == chapter.slug]
    if not claims:
        return
    printed = computed.printed(chapter)
    outputs, literals = computed.outputs(chapter), computed.literals(chapter)
    for claim in claims:
        said = f"{chapter.source}: claim {claim.id}"
        if claim.cell(printed) is None:
            yield f"{said}: no cell prints {' | '.join(claim.found)}"
        for number in in_prose(prose(claim.remark)):
            if not number.is_among(outputs, literals):
                yield f"{said}: {number.text} is in no output and in no code of the page"
