"""What a prediction folds in a notebook: the same prose that its veil covers on the site.

See tools/book/predict.py: from the first code cell or {reveal} below the question on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum

from markdown_it.token import Token

_DIRECTIVE = re.compile(r"\{([\w-]+)\}")
SUMMARY = "After you have predicted"


class Veil(Enum):
    """The state of a page, read from the top."""

    NONE = "no prediction is open"
    AHEAD = "between a question and the first cell"
    BELOW = "what is said gives the answer away"


def after_cell(veil: Veil, tags: Sequence[str]) -> Veil:
    """Below a code cell; on the site, a removed one does not exist."""
    return Veil.BELOW if veil is not Veil.NONE and "remove-cell" not in tags else veil


def parts(tokens: Sequence[Token], veil: Veil) -> Iterator[tuple[int, Veil]]:
    """Where to divide a Markdown cell: lines, and the state of the page from there on."""
    for token in tokens:
        if token.level or token.map is None:
            continue
        line, end = token.map
        found = _DIRECTIVE.match(token.info.strip()) if token.type.endswith("fence") else None
        name = found[1] if found else ""
        if token.type == "heading_open" or (name == "happened-start" and veil is Veil.BELOW):
            veil = Veil.NONE
            yield line, veil
        elif name == "predict":
            veil = Veil.AHEAD
            yield line, veil
        elif name == "reveal" and veil is Veil.AHEAD:
            veil = Veil.BELOW
            yield line, veil
        elif name == "happened-end" and veil is Veil.BELOW:  # the end of the box is not folded
            yield line, Veil.AHEAD
            yield end, veil
