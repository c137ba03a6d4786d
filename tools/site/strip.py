"""Sphinx extension: under the title of a chapter, the way through a model, with its part lit.

The chapters and their parts are in attention_src/figures/drawings/strip.py. Notebooks have none:
their title is Markdown, and a picture in Markdown would have to be a file of its own.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from attention_src.figures.drawings.strip import CHAPTERS, strip
from tools.site import drawings

HEAD = {"question", "time-line"}  # the classes of what stays directly under the title


def add_strip(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the strip below the title, the question and the times, and a picture that is next."""
    part = CHAPTERS.get(docname.rpartition("/")[2])
    title = next(iter(doctree.findall(nodes.title)), None)
    if app.builder.format != "html" or part is None or title is None:
        return
    section = title.parent
    place = section.index(title) + 1
    while place < len(section) and HEAD & set(section[place].get("classes", ())):
        place += 1
    text, picture = (*section[place : place + 2], None, None)[:2]
    if isinstance(text, nodes.paragraph) and _shows(picture):
        place += 2
    made = strip(part)
    html = drawings.both(made.wide, made.narrow, "strip")
    section.insert(place, nodes.raw("", html, format="html"))


def _shows(node: nodes.Node | None) -> bool:
    """Whether a cell shows what it has made, and not its code."""
    tags = set(node["classes"]) if isinstance(node, nodes.container) else set()
    return "cell" in tags and bool({"tag_hide-input", "tag_remove-input"} & tags)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", add_strip)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
