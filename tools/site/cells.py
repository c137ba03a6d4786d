"""Sphinx extension: folded code, with a line that says what is in it.

The code of a cell tagged `setup` (imports, data, plumbing) or `hide-input` is folded. The line is
the comment that the code begins with, and how long the code is. Where the cell shows something, the
fold stands below that.

Above a page's first cell that keeps a function stands where: a notebook writes a file, and prints
its name, but a page has the reader's browser.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tools.book.elements import make

TAGS = {"tag_setup", "tag_hide-input"}
KEEPS = re.compile(r"^keep\(check_\w+,", re.MULTILINE)
KEPT = (
    '<p class="keep-note">Once your function has passed, the next cell keeps it in this browser '
    'alone. <a class="reference internal" href="progress.html">Your progress</a> lists what you '
    'kept, and <a class="reference internal" href="llm.html">a language model</a> finds it. The '
    "notebook keeps it as a file.</p>\n"
)


def title(code: str) -> str:
    """What the first line says if it is a comment, otherwise nothing."""
    first = code.strip().partition("\n")[0]
    return first.removeprefix("#").strip() if first.startswith("# ") else ""


def length(code: str) -> str:
    """ "12 lines of code": without the title and without blank lines."""
    lines = [line for line in code.splitlines() if line.strip()]
    count = len(lines) - bool(title(code))
    return f"{count} line{'' if count == 1 else 's'} of code"


def fold(app: Sphinx, doctree: nodes.document) -> None:
    """Put the code of each such cell into <details>."""
    for cell in list(doctree.findall(nodes.container)):
        if cell.get("nb_element") != "cell_code" or not TAGS & set(cell["classes"]):
            continue
        source = next(iter(cell.children), None)
        if source is None or source.get("nb_element") != "cell_code_source":
            continue  # its code is removed, or no code is run
        cell["hide_mode"] = None  # myst-nb would fold it without a title
        code = source.astext()
        summary = make("summary")
        if words := title(code):
            summary += [nodes.Text(f"{words} "), make("small", nodes.Text(length(code)))]
        else:
            summary += nodes.Text(length(code))
        cell.remove(source)
        cell += make("details", summary, source, classes="code-fold")


def say_where(app: Sphinx, doctree: nodes.document) -> None:
    """Say above the first such cell where it keeps a function."""
    cells = (node for node in doctree.findall(nodes.container) if "cell" in node["classes"])
    first = next((cell for cell in cells if KEEPS.search(cell.astext())), None)
    if first is not None:
        first.parent.insert(first.parent.index(first), nodes.raw("", KEPT, format="html"))


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("tools.book.elements")
    app.connect("doctree-read", fold)
    app.connect("doctree-read", say_where)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
