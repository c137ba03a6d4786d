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

from tools.book.chapters import Book, Chapter
from tools.page import needs
from tools.site.about_chapter import book_at, chapter_of

CELL = '<p class="run-why run-minilm"'  # how the line of a cell that runs MiniLM begins


def add_reasons(app: Sphinx, doctree: nodes.document) -> None:
    """Put the line into each such cell."""
    chapter = chapter_of(app, app.env.docname)
    if app.builder.format != "html" or not chapter:
        return
    link = notebook(book_at(app.srcdir), chapter)
    for node in list(doctree.findall(nodes.container)):
        if node.get("nb_element") != "cell_code":
            continue
        tags = [name.removeprefix("tag_") for name in node["classes"]]
        cell = needs.Cell(node.astext(), tags)
        text = model_line(link) if cell.minilm else line(cell.reason, link) if cell.reason else ""
        for source in node.findall(nodes.container):
            if text and source.get("nb_element") == "cell_code_source":
                source += nodes.raw("", text, format="html")


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
