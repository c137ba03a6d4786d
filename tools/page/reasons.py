"""Sphinx extension: below the code of a cell that has no "Run here" button stands why.

A grey line: "needs PyTorch: notebook", with a link to the chapter's notebook on Colab. Its tag
gives the reason; run-here.css hides the line on paper. A cell that runs MiniLM has one too. It is
shown where the site could not get the weights; else tools/page/models writes into it where they
are, and the cell gets its button.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from tools.book.chapters import Book, Chapter
from tools.page import needs
from tools.site.about_chapter import book_at, chapter_of

CELL = '<p class="run-why run-minilm"'  # how the line of a cell that runs MiniLM begins

_log = logging.getLogger(__name__)


def add_reasons(app: Sphinx, doctree: nodes.document) -> None:
    """Put the line into each such cell."""
    chapter = chapter_of(app, app.env.docname)
    if app.builder.format != "html" or not (chapter and chapter.has_code):
        return
    without = {c.source: c for c in needs.cells(chapter) if c.shown and (c.minilm or not c.runs)}
    link = notebook(book_at(app.srcdir), chapter)
    for source in doctree.findall(nodes.container):
        if source.get("nb_element") != "cell_code_source":
            continue
        cell = without.pop(source.astext().rstrip(), None)
        if cell is None:
            continue
        text = model_line(link) if cell.minilm else line(cell.reason, link)
        source += nodes.raw("", text, format="html")
    for code in without:  # it would have neither a button nor a reason
        _log.warning(
            "the page shows no such cell: %s", code, location=app.env.docname, type="runhere"
        )


def notebook(book: Book, chapter: Chapter) -> str:
    """The link to a chapter's notebook."""
    return f'<a href="{book.colab(chapter)}" target="_blank" rel="noopener">notebook</a>'


def line(reason: str, link: str) -> str:
    """The grey line: what needs a notebook links to it."""
    kind, end = ("", f": {link}") if reason not in needs.ON_PAGE else (" on-page", "")
    return f'<p class="run-why{kind}">{reason}{end}</p>'


def model_line(link: str) -> str:
    """The same, for a cell that runs if the site has MiniLM's weights."""
    return f"{CELL}>{needs.MINILM}: {link}</p>"


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", add_reasons)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
