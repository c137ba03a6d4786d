"""What a directive's portable form is made from: the directive, and its page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tools.book.chapters import Book

Read = TypeVar("Read")


class Inline(Protocol):
    """Words within a line, rewritten for the notebook; `notebook.inline.Inline` provides it."""

    book: Book
    docname: str

    def __call__(self, text: str, line: int) -> str: ...
    def url(self, doc: str, anchor: str = "") -> str: ...
    def file(self, path: str) -> str: ...


class Page(Protocol):
    """What a directive needs of its page; `Portable` provides it."""

    questions: int

    @property
    def inline(self) -> Inline: ...

    def error(self, line: int, what: str) -> Exception: ...
    def numbered(self, label: str, line: int) -> str: ...
    def block(self, text: str, line: int) -> str: ...
    def equation(self, tex: str, label: str | None, line: int) -> str: ...
    def tokens(self, text: str) -> list[Any]: ...
    def open_solution(self, title: str, line: int) -> str: ...
    def close_solution(self, line: int) -> str: ...
    def open_box(self, line: int) -> None: ...
    def close_box(self, line: int) -> None: ...


@dataclass
class Directive:
    """One directive, parsed."""

    name: str
    argument: str
    options: dict[str, str]
    body: str
    content: str  # options and body, as written
    line: int  # of the directive in the source file
    body_line: int

    @property
    def label(self) -> str | None:
        return self.options.get("label") or self.options.get("name")

    @property
    def folded(self) -> bool:
        return "dropdown" in str(self.options.get("class", "")).split()


def body_of(page: Page, d: Directive) -> str:
    return page.block(d.body, d.body_line)


def number_of(page: Page, d: Directive, what: str) -> str:
    """ " 3" for a numbered thing, "" with :nonumber:."""
    if "nonumber" in d.options:
        return ""
    if not d.label:
        raise page.error(d.line, f"{what} has a number on the site: give it a label")
    return " " + page.numbered(d.label, d.line)


def checked(page: Page, d: Directive, read: Callable[..., Read], *words: Any) -> Read:
    """What `read` returns for a directive; its ValueError becomes an error with the line."""
    try:
        return read(*words)
    except ValueError as wrong:
        raise page.error(d.line, str(wrong)) from None
