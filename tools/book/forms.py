"""The portable form of each directive. FORMS, at the end, is the list of what a chapter may use."""

from __future__ import annotations

from collections.abc import Callable

from tools.book import claims, exercises, happened, predict, quiz, writes
from tools.book.chapters import SourceError
from tools.book.directive import Directive, Page, body_of, number_of, parse
from tools.book.markup import details, html, quote


def portable(page: Page, name: str, argument: str, content: str, line: int) -> str:
    """Rewrite one directive; raise SourceError where it is wrong or has no portable form."""
    if name not in FORMS:
        raise page.error(line, f"directive {{{name}}} has no portable form")
    try:
        return FORMS[name](page, parse(argument, content, line))
    except SourceError:
        raise
    except ValueError as wrong:
        raise page.error(line, str(wrong)) from None


def _admonition(page: Page, d: Directive) -> str:
    title, body = page.inline(d.argument, d.line), body_of(page, d)
    folded = "dropdown" in d.options.get("class", "").split()
    return details(html(title), body) if folded else quote(title, body)


def _math(page: Page, d: Directive) -> str:
    return page.equation(f"{d.argument}\n{d.body}".strip("\n"), d.label, d.line)


def _proof(page: Page, d: Directive) -> str:
    return quote("Proof.", f"{body_of(page, d)}\n\n∎")


def _theorem(page: Page, d: Directive) -> str:
    title = f" ({page.inline(d.argument, d.line)})" if d.argument else ""
    return quote(f"Theorem {number_of(page, d)}{title}", body_of(page, d))


FORMS: dict[str, Callable[[Page, Directive], str]] = {
    "admonition": _admonition,
    "math": _math,
    "prf:theorem": _theorem,
    "prf:proof": _proof,
    **exercises.FORMS,
    **quiz.FORMS,
    **predict.FORMS,
    **happened.FORMS,
    **claims.FORMS,
    **writes.FORMS,
}
