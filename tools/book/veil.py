"""What a prediction veils in a notebook: what it veils on the site, see predict.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nbformat import NotebookNode

from tools.book.parts import Part, parts

SUMMARY = "After you have predicted"


def veiled(cells: Sequence[NotebookNode]) -> set[int]:
    """The cells whose outputs decide a question: those between it and its last {reveal}.

    Args:
        cells: a chapter's, in order; on the site, a removed one does not exist
    Returns: their places in `cells`
    """
    found: set[int] = set()
    waiting: set[int] = set()
    asked = False
    for place, part in _in_order(cells):
        if part.kind in ("section", "heading", "prediction"):
            asked, waiting = part.kind == "prediction", set()
        elif part.kind == "reveal" and asked:
            found |= waiting
        elif place is not None and asked:
            waiting.add(place)
    return found


def _in_order(cells: Sequence[NotebookNode]) -> Iterator[tuple[int | None, Part]]:
    for place, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            yield from ((None, part) for part in parts(cell.source))
        elif "remove-cell" not in cell.metadata.get("tags", []):
            yield place, Part("code")
