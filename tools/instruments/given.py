"""Two roles for numbers that no cell of the page computes.

    The paper trained on {given}`8` GPUs.       shown as plain text: 8
    {minutes}`softmax`                          of that chapter's front matter: 30 min

`python -m tools.prose_numbers` looks for every other number of the prose in the page's outputs and
code.
"""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.application import Sphinx

from tools.book import Chapter


def given(
    name: str, raw: str, text: str, line: int, inliner: Inliner, *_: object
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """The number as it is written."""
    return [nodes.Text(text)], []


def minutes(
    name: str, raw: str, text: str, line: int, inliner: Inliner, *_: object
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """How long another chapter takes to read."""
    env = inliner.document.settings.env
    try:
        time = reading_time(Chapter(Path(env.srcdir), f"book/{text}"))
    except LookupError as missing:
        return [], [inliner.reporter.error(str(missing.args[0]), line=line)]
    env.note_dependency(f"book/{text}.md")
    return [nodes.Text(time)], []


def reading_time(chapter: Chapter) -> str:
    """ "30 min".

    Raises:
        LookupError: there is no such chapter, or it does not say
    """
    if not chapter.path.is_file() or "reading_minutes" not in chapter.front:
        raise LookupError(f"{chapter.source} has no reading_minutes")
    return f"{chapter.front['reading_minutes']} min"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("given", given)
    app.add_role("minutes", minutes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
