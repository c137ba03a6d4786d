"""What a reader takes home of a chapter: a cell tagged take-away, as a file of take_away/.

It imports nothing of the course and holds its own test; tests/test_take_away.py runs each alone.
python -m tools.book writes the files, so that a release has them. On the site, a link below the
cell downloads it, and {take-away} lists all of them.
"""

from __future__ import annotations

import shutil
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


def update(book: Book, *, check: bool) -> list[str]:
    """Write the files; give a line for each that was written, deleted, or with `check` is old."""
    wanted = {name(page): text for page, text in files(book)}
    there = {path.relative_to(book.root).as_posix() for path in (book.root / FOLDER).glob("*.py")}
    news = []
    for file in sorted(wanted.keys() | there):
        path, new = book.root / file, wanted.get(file)
        if new == (path.read_text("utf-8") if file in there else None):
            continue
        news.append(f"{file} is old: run make notebooks" if check else f"{file}: updated")
        if new is None and not check:
            path.unlink()
        elif new is not None and not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(new, "utf-8", newline="\n")
    return news


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


def copy(app: Sphinx, error: Exception | None) -> None:
    folder = Path(app.srcdir, FOLDER)
    if not error and folder.is_dir():
        shutil.copytree(folder, Path(app.outdir, FOLDER), dirs_exist_ok=True)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("take-away", TakeAway)
    app.connect("doctree-resolved", add_link)
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
