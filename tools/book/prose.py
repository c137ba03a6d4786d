"""The prose of a page, to look for its numbers: paragraphs without code, names and mathematics."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it.token import Token
from sphinx.util.nodes import explicit_title_re

from tools.book.parts import parts

_WRONG_OPTION = "[ ] "  # its text may be wrong
_URL = re.compile(r"https?://[^\s)>]+")
_SHAPE = re.compile(
    r"\[(?=[^\]]*\d)[\w\s,.…×·*+\-/=…√²^{}]*,[\w\s,.…×·*+\-/=√²^{}]*\]"  # (4, 64) is prose
)
_NUMBER_IN_LAB = re.compile(r"^\d+\.\d+")  # "9.3 Many masks"
# Results that mathematics states: \approx 0.139, \approx 4 \times 10^{-18}.
_APPROXIMATELY = re.compile(
    r"\\approx\s*(?P<number>-?[\d.,{}]*\d)(?:\s*\\(?:times|cdot)\s*10\^\{?(?P<ten>-?\d+)\}?)?"
)


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Each paragraph, heading and display equation, and the number of its first line."""
    is_title = False
    for part in parts(text):
        words = _SHAPE.sub("x", _URL.sub("x", "".join(map(_of_token, part.tokens))))
        if is_title:
            words = _NUMBER_IN_LAB.sub("x", words)
        if not words.startswith(_WRONG_OPTION):
            yield part.line, words
        is_title = part.kind in ("section", "heading")  # its words come next


def _of_token(token: Token) -> str:
    if token.type == "text":
        return token.content
    if token.type in ("softbreak", "hardbreak"):
        return "\n"
    if token.type.startswith(("math", "amsmath")):
        return f" {_results(token.content)} "
    if token.type == "myst_role" and token.meta["name"] != "given":  # who says so is no prose
        titled = explicit_title_re.match(token.content)
        return titled[1] if titled else "x"
    # A name: what stands behind a hyphen belongs to it, as in `entmax`-1.5.
    return "x" if token.type in ("code_inline", "myst_role") else ""


def _results(tex: str) -> str:
    """What mathematics says is approximately so."""
    found = []
    for match in _APPROXIMATELY.finditer(tex):
        number = match["number"].replace("{,}", ",").replace("-", "−")
        found.append(number + (f"e{match['ten']}" if match["ten"] else ""))
    return " ".join(found)
