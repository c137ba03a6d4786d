"""{given}: a number that no cell of the page computes, because a paper or a definition says so.

    The paper trained on {given}`8` GPUs.       shown as plain text: 8

`python -m tools.prose_numbers` looks for every other number of the prose in the page's outputs and
code.
"""

from __future__ import annotations

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.application import Sphinx


def given(
    name: str, raw: str, text: str, line: int, inliner: Inliner, *_: object
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """The number, as written."""
    return [nodes.Text(text)], []


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("given", given)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
