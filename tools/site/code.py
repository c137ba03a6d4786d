"""Sphinx extension: code whose spans are only those that have a colour of their own.

Names, numbers, operators and punctuation are most of a cell's tokens. With an element for each, a
chapter is a third larger than it needs to be, and slower on a phone. Left out, too: a span around
each word of code in a sentence, which would keep it on one line (course.css lets it break), and one
before each cell's code, which keeps an empty first line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import IO, Any

from pygments.formatters import HtmlFormatter
from pygments.token import Name, Number, Operator, Punctuation, String, Text, Whitespace, _TokenType
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

# Not what stands below them: Name.Builtin and Operator.Word (`in`, `not`) keep their colours.
PLAIN = {Name, Number.Float, Number.Integer, Operator, Punctuation, Whitespace}
# The parts of f"{x:.2f}" have one colour, and Pygments joins neighbours of one kind.
STRING = {String.Affix, String.Double, String.Interpol}
_WORD = re.compile(r'<span class="pre">([^<]*)</span>')
_BEFORE = re.compile(r"(<pre[^>]*>)<span></span>(?!\n)")


class Formatter(HtmlFormatter):
    """Pygments' own, for which these tokens are text."""

    def format_unencoded(self, tokensource: Iterable[tuple[_TokenType, str]], outfile: IO) -> None:
        """As HtmlFormatter's."""
        super().format_unencoded(((looks(kind), words) for kind, words in tokensource), outfile)


def looks(kind: _TokenType) -> _TokenType:
    """The kind of token that stands for all that look like this one."""
    if kind in PLAIN:
        return Text
    return String if kind in STRING else kind


def leave_out(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Leave out the spans that draw nothing."""
    if "body" in context:
        context["body"] = _BEFORE.sub(r"\1", _WORD.sub(r"\1", context["body"]))


def setup(app: Sphinx) -> dict[str, Any]:
    PygmentsBridge.html_formatter = Formatter
    app.connect("html-page-context", leave_out)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
