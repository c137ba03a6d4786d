"""Sphinx extension: the site shows the outputs stored in the notebooks and executes nothing.

Before the build, each chapter's cells get the outputs of its notebook and go into the cache where
myst-nb looks before it executes anything (the key is code, cell metadata and kernel, so the cached
notebook is made from the .md). A chapter whose notebook is stale stops the build.

Printed sentences may wrap, tables and code not.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

from tools.book.chapters import Book, Chapter
from tools.book.freshness import own_cells, why_stale

_BROUGHT = re.compile(r"<script\b.*?</script>\n?|<style\b.*?</style>\n?", re.S)
COLUMNS = 80  # of a page


def with_outputs(chapter: Chapter) -> nbformat.NotebookNode:
    """The chapter's cells with the outputs that its notebook stores."""
    notebook = chapter.read()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    stored = own_cells(nbformat.read(chapter.notebook, as_version=4))
    for cell, ran in zip(code, stored, strict=True):
        cell.outputs, cell.execution_count = ran.outputs, ran.execution_count
    _bring_once([output for cell in code for output in cell.outputs])
    return notebook


def _bring_once(outputs: list[nbformat.NotebookNode]) -> None:
    """Leave script and style out where an explorable stands on the page again."""
    seen: set[str] = set()
    for output in outputs:
        page = output.get("data", {}).get("text/html", "")
        if "attention-explorable" not in page:
            continue
        for part in set(_BROUGHT.findall(page)):
            page = page.replace(part, "") if part in seen else page
            seen.add(part)
        output["data"]["text/html"] = page


def fill_cache(app: Sphinx) -> None:
    """Cache the stored outputs of every chapter.

    Raises:
        ExtensionError: a notebook is stale; the message names each
    """
    if app.config.nb_execution_mode != "cache":  # tools.book reads labels before anything has run
        return
    chapters = Book(Path(app.srcdir)).chapters
    stale = [problem for chapter in chapters if (problem := why_stale(chapter))]
    if stale:
        raise ExtensionError("\n".join(stale))
    cache = get_cache(Path(app.outdir).parent.resolve() / ".jupyter_cache")  # as myst-nb does
    cache.change_cache_limit(1000)
    for chapter in chapters:
        bundle = CacheBundleIn(with_outputs(chapter), str(chapter.path))
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def note_notebook(app: Sphinx, docname: str, source: Any) -> None:
    """Let Sphinx read a page again when its notebook changed, not only when its .md did."""
    for chapter in Book(Path(app.srcdir)).chapters:
        if chapter.docname == docname:
            app.env.note_dependency(str(chapter.notebook))


def is_sentences(text: str) -> bool:
    """Whether a printed text may be broken into lines: no columns, no indented code."""
    return re.search(r"(?m)^[ \t]|\S  ", text) is None


def mark_lines(app: Sphinx, doctree: nodes.document) -> None:
    """Let printed sentences wrap, and make wide tables smaller, so that nothing is cut off."""
    for block in doctree.findall(nodes.literal_block):
        if "output" not in block["classes"]:
            continue
        text = block.astext()
        if is_sentences(text):
            block["classes"].append("wraps")
        elif max(map(len, text.splitlines())) > COLUMNS:
            block["classes"].append("wide")


def set_address(app: Sphinx, config: Config) -> None:
    """Canonical links and the sitemap follow from repository.url, like every other address."""
    config.html_baseurl = Book(Path(app.srcdir)).site + "/"


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", set_address)
    app.connect("builder-inited", fill_cache)
    app.connect("source-read", note_notebook)
    app.connect("doctree-read", mark_lines)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
