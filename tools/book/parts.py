"""The words, code and questions of a piece of Markdown, as myst-parser reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser
from sphinx.util.nodes import explicit_title_re

from tools.book.directive import directive_text

Kind = Literal["section", "heading", "words", "code", "prediction", "reveal"]
EXTENSIONS = {"amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"}
# Directives whose body is not prose.
NOT_PROSE = {"code-cell", "math", "raw"}
# Directives whose argument is a title, which is prose; that of others is a label or a file.
TITLED = re.compile(r"admonition|exercise|happened-start|prf:.*")
PYTHON = re.compile(r"(?:python|py|ipython3?)\b")
DIRECTIVE = re.compile(r"\{([\w:.+-]+)\}[ \t]*(.*)", re.S)
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['’-])+")  # two letters or more; 42 is none
_SHOWN_ROLES = {"term", "given"}  # their body is shown where they have no title


@dataclass(frozen=True)
class Part:
    """One thing that a reader meets.

    kind: "section" begins a section of the chapter, "heading" a part of one
    count: how many words, lines of code or predictions
    title: of a section; the label of a prediction
    body: of a prediction, and of code
    line: of words, where they begin, the first being 1
    tokens: of words, as the parser gives them; of a display equation, it alone
    """

    kind: Kind
    count: int = 0
    title: str = ""
    body: str = ""
    line: int = 1
    tokens: Sequence[Token] = ()


def parts(text: str) -> Iterator[Part]:
    """What a Markdown cell holds, in order."""
    yield from _parts(text, 1, outermost=True)


def count_words(text: str) -> int:
    """How many words of a text, without directives, are read."""
    return sum(part.count for part in parts(text) if part.kind == "words")


def _parts(text: str, first: int, *, outermost: bool = False) -> Iterator[Part]:
    tokens = parser().parse(text, {})
    for before, token in zip([None, *tokens], tokens, strict=False):
        line = first + (token.map or [0])[0]
        if token.type == "inline":
            inside = token.children or []
            if outermost and before is not None and before.type == "heading_open":
                section = before.tag == "h2"
                yield Part("section" if section else "heading", title="".join(_shown(inside)))
            yield Part("words", len(_words(inside)), line=line, tokens=inside)
        elif token.type in ("math_block", "math_block_label", "amsmath"):
            yield Part("words", line=line, tokens=[token])
        elif token.type in ("fence", "colon_fence"):
            yield from _fence(token, line)


def _fence(token: Token, line: int) -> Iterator[Part]:
    """A directive, or a block of code, which begins in this line."""
    directive = DIRECTIVE.fullmatch(token.info.strip())
    if directive is None or directive[1] in NOT_PROSE:
        if PYTHON.match(token.info.strip()):
            yield Part("code", lines_of(token.content), body=token.content)
        return
    name, argument = directive[1], directive[2]
    if name == "reveal":
        yield Part("reveal")
    parsed = directive_text(argument, token.content)
    body = "\n".join(parsed.body)
    if name == "predict":
        yield Part("prediction", 1, argument.strip(), body)
    if TITLED.fullmatch(name):
        yield from _parts(" ".join(parsed.arguments), line)
    yield from _parts(body, line + 1 + parsed.body_offset)


def lines_of(code: str) -> int:
    """Lines of code that are not blank."""
    return sum(bool(line.strip()) for line in code.splitlines())


def _words(tokens: Sequence[Token]) -> list[str]:
    return [word for text in _shown(tokens) for word in _WORD.findall(text)]


def _shown(tokens: Sequence[Token]) -> Iterator[str]:
    """The texts of a paragraph, without code and mathematics."""
    for token in tokens:
        if token.type == "text":
            yield token.content
        elif token.type == "myst_role":
            titled = explicit_title_re.match(token.content)
            if titled or token.meta["name"] in _SHOWN_ROLES:
                yield titled[1] if titled else token.content


@lru_cache
def parser(*without: str) -> MarkdownIt:
    """The parser of the site, without some rules of its syntax, such as "inline"."""
    config = MdParserConfig(enable_extensions=EXTENSIONS, disable_syntax=list(without))
    return create_md_parser(config, RendererHTML)
