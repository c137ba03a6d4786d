"""Sphinx extension: a cell that keeps a function becomes a sentence on the site.

`keep(check_softmax, my_softmax)` writes a file and speaks of a check that passed: both happen in a
notebook. The reader of a page cannot run it there.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

KEEPS = re.compile(r"^keep\(check_\w+,", re.MULTILINE)
MODEL = "book/llm"  # the chapter that runs on what was kept
BEFORE = "In the notebook, a cell here keeps your function as a file, and "
LINKED = "a language model"
AFTER = " can run on it. This page keeps what you typed, in this browser alone."


def is_keep(node: nodes.Node) -> bool:
    """Whether a cell keeps a function, which a page cannot do."""
    if not isinstance(node, nodes.container) or "tag_notebook-only" not in node["classes"]:
        return False
    return any(KEEPS.search(code.astext()) for code in node.findall(nodes.literal_block))


def replace(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html":
        return
    for cell in list(doctree.findall(is_keep)):
        note = nodes.paragraph("", BEFORE, classes=["keep-note"])
        if MODEL in app.env.found_docs:
            address = app.builder.get_relative_uri(docname, MODEL)
            note += nodes.reference("", LINKED, refuri=address, internal=True)
        else:
            note += nodes.Text(LINKED)
        note += nodes.Text(AFTER)
        cell.parent.replace(cell, note)  # replace_self would hand on the classes of a cell


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", replace)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
