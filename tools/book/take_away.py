"""What a reader takes home of a chapter: a cell tagged take-away, as a file of the site.

It imports nothing of the course and holds its own test; tests/test_take_away.py runs each alone. A
link below the cell downloads it, and {take-away} lists all of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools.book.chapters import Book, Chapter

FOLDER = "take_away"
TAG = "take-away"


def files(book: Book) -> list[tuple[Chapter, str]]:
    """The chapters that have such a cell, and its code."""
    return [
        (page, f"{cell.source}\n")
        for page in book.chapters
        for cell in page.read().cells
        if TAG in cell.metadata.get("tags", [])
    ]


def name(chapter: Chapter) -> str:
    return f"{FOLDER}/{chapter.slug}.py"


class TakeAway(SphinxDirective):
    """{take-away}: a list of all files, with a line of each."""

    def run(self) -> list[nodes.Node]:
        rows = nodes.bullet_list()
        for page, text in files(Book(Path(self.env.srcdir))):
            self.env.note_dependency(page.source)
            lines = len(text.splitlines())
            link = _link(self.env.docname, page, Path(name(page)).name)
            row = nodes.paragraph("", "", link, nodes.Text(f" ({lines} lines): {page.title}"))
            rows += nodes.list_item("", row)
        return [rows]


def _link(docname: str, page: Chapter, words: str) -> nodes.reference:
    up = "../" * docname.count("/")
    return nodes.reference("", words, refuri=f"{up}{name(page)}", classes=["take-away"])


def add_link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Below the cell stands where its file is."""
    page = Chapter(Path(app.srcdir), docname)
    for cell in list(doctree.findall(nodes.container)):
        if TAG in cell.get("cell_metadata", {}).get("tags", []):
            link = _link(docname, page, f"Download {Path(name(page)).name}")
            note = nodes.paragraph("", "", link, classes=["take-away"])
            cell.parent.insert(cell.parent.index(cell) + 1, note)


def write(app: Sphinx, error: Exception | None) -> None:
    if not error:
        Path(app.outdir, FOLDER).mkdir(exist_ok=True)
        for page, text in files(Book(Path(app.srcdir))):
            Path(app.outdir, name(page)).write_text(text, "utf-8", newline="\n")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("take-away", TakeAway)
    app.connect("doctree-resolved", add_link)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
