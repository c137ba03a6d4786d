"""{given}: a number that no cell of the page computes, because a paper or a definition says so.

    The paper trained on {given}`8` GPUs.
    The paper trained on {given}`8 <Vaswani et al. (2017), section 5.2>` GPUs.
    Of them {given}`12 <measured in llm>` stop the model.

The last is for what another page of the course prints; `python -m tools.check` compares. A lesson
names every source, and no run of ours but in this way.

A page underlines it with dots, and says the source to who points at it, comes there with the Tab
key or listens. `python -m tools.check` looks for every other number of the prose in the
page's outputs and code.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.application import Sphinx
from sphinx.util.nodes import explicit_title_re

from tools.book.chapters import Chapter

UNNAMED = "from a paper, a definition or runs of ours, not computed on this page"
MARKED = re.compile(r"\{given\}`([^`]+)`")
MEASURED = re.compile(r"measured in ([\w/]+)")


def parts(text: str) -> tuple[str, str]:
    """The number, and who says so: "8 <a paper>" is "8" and "a paper"."""
    match = explicit_title_re.match(text)
    return (match[1], match[2]) if match else (text, UNNAMED)


def given(
    name: str, raw: str, text: str, line: int, inliner: Inliner, *_: object
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """The number as it is written, and its source."""
    number, source = parts(text)
    if page := MEASURED.fullmatch(source):
        measured = Chapter(Path(inliner.document.settings.env.srcdir), f"book/{page[1]}")
        source = f"measured in {measured.title}"
    said = f'<span class="given-source" role="note"> ({escape(source)})</span></span>'
    start = nodes.raw("", '<span class="given" tabindex="0">', format="html")
    return [start, nodes.Text(number), nodes.raw("", said, format="html")], []


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("given", given)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
