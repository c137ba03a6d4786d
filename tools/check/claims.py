"""Is every claim of the ledger still decided by what is printed above it?"""

from __future__ import annotations

import re
from collections.abc import Iterator

import nbformat

from tools.book.chapters import Chapter
from tools.book.claims import Claim, read
from tools.book.freshness import own_cells

_CLAIM = re.compile(r"^(`{3,})\{claim\} *(\S*) *\n(.*?)^\1 *$", re.M | re.S)
_TAG = re.compile(r"<[^>]+>")


def decided(chapter: Chapter) -> Iterator[tuple[Claim, str]]:
    """Each claim of a page, and what the nearest visible code cell above it prints.

    Raises:
        ValueError: the page has claims and no notebook; a claim is malformed
    """
    outputs = _outputs(chapter) if chapter.notebook.exists() else iter(())
    printed = ""
    for cell in chapter.read().cells:
        if cell.cell_type == "code":
            shown = next(outputs, "")
            if "remove-cell" not in cell.metadata.get("tags", []):
                printed = shown
        else:
            for match in _CLAIM.finditer(cell.source):
                yield read(match[2], match[3]), printed


def undecided(chapter: Chapter) -> Iterator[str]:
    """A line for each claim whose evidence is not printed where the ledger says it is."""
    for claim, printed in decided(chapter):
        for word in claim.found:
            if not re.search(rf"(?<![\d.]){re.escape(word)}(?!\d)", printed):
                yield f"{chapter.source}: claim {claim.id}: {word!r} is not printed above it"


def _outputs(chapter: Chapter) -> Iterator[str]:
    for cell in own_cells(nbformat.read(chapter.notebook, as_version=4)):
        texts = []
        for output in cell.outputs:
            data = output.get("data", {})
            texts.append(output.get("text", ""))
            texts.append(_TAG.sub(" ", data.get("text/html", "")))
            texts.append(data.get("text/plain", ""))
        yield "\n".join(texts)
