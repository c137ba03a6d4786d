"""What a directive's portable form is made from: the directive, and its page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from docutils import nodes
from myst_parser.parsers.directives import DirectiveParsingResult, parse_directive_text
from sphinx.util.docutils import SphinxDirective

from tools.book.chapters import Book


class Page(Protocol):
    """What a directive needs of its page; `Portable` provides it."""

    book: Book
    questions: int

    def error(self, line: int, what: str) -> Exception: ...
    def inline(self, text: str, line: int) -> str: ...
    def numbered(self, label: str, line: int) -> str: ...
    def block(self, text: str, line: int) -> str: ...
    def equation(self, tex: str, label: str | None, line: int) -> str: ...


@dataclass
class Directive:
    """One directive, parsed."""

    argument: str
    options: dict[str, str]
    body: str
    content: str  # options and body, as written
    line: int  # of the directive in the source file
    body_line: int

    @property
    def label(self) -> str | None:
        return self.options.get("label")


class _AnyDirective:
    """Makes myst-parser accept any option, and the first line as the argument."""

    option_spec = {"any": str}  # noqa: RUF012  (an attribute that myst-parser reads)
    has_content = True
    required_arguments, optional_arguments, final_argument_whitespace = 0, 1, True


def directive_text(argument: str, content: str) -> DirectiveParsingResult:
    """What follows the name of a directive, and what is below it."""
    return parse_directive_text(_AnyDirective, argument, content, validate_options=False)  # type: ignore[arg-type]


def parse(argument: str, content: str, line: int) -> Directive:
    """A directive in line `line` of the source file."""
    parsed = directive_text(argument, content)
    options = {key: str(value or "") for key, value in parsed.options.items()}
    body_line = line + 1 + parsed.body_offset
    title, body = " ".join(parsed.arguments), "\n".join(parsed.body)
    return Directive(title, options, body, content, line, body_line)


def body_of(page: Page, d: Directive) -> str:
    return page.block(d.body, d.body_line)


def number_of(page: Page, d: Directive) -> str:
    """The number that the site gives to a directive."""
    if not d.label:
        raise page.error(d.line, "it has a number on the site: give it a label")
    return page.numbered(d.label, d.line)


class Checking(SphinxDirective):
    """A directive of the site whose parser raises a ValueError, which becomes a warning."""

    def run(self) -> list[nodes.Node]:
        try:
            return self.made()
        except ValueError as wrong:
            raise self.error(str(wrong)) from None

    def made(self) -> list[nodes.Node]:
        raise NotImplementedError
