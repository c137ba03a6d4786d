"""Sphinx extension: above a page's first cell that keeps a function stands where it is kept.

`keep(check_softmax, my_softmax)` writes a file in the notebook, and prints its name. In the page it
is the reader's browser that keeps the function.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

KEEPS = re.compile(r"^keep\(check_\w+,", re.MULTILINE)
# Words, and the pages that some of them link to.
SENTENCE = (
    ("Once your function has passed, the next cell keeps it in this browser alone. ", None),
    ("Your progress", "book/progress"),
    (" lists what you kept, and ", None),
    ("a language model", "book/llm"),
    (" finds it. The notebook keeps it as a file.", None),
)


def cell_of(node: nodes.Node) -> nodes.Element:
    """The cell that a piece of code belongs to."""
    while "cell" not in node["classes"]:
        node = node.parent
    return node


def add_sentence(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html":
        return
    code = doctree.findall(nodes.literal_block)
    first = next((c for c in code if KEEPS.search(c.astext())), None)
    if first is None:
        return
    sentence = nodes.paragraph("", "", classes=["keep-note"])
    for words, page in SENTENCE:
        if page in app.env.found_docs:
            address = app.builder.get_relative_uri(docname, page)
            sentence += nodes.reference("", words, refuri=address, internal=True)
        else:
            sentence += nodes.Text(words)
    cell = cell_of(first)
    cell.parent.insert(cell.parent.index(cell), sentence)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", add_sentence)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
