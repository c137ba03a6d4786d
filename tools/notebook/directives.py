"""The portable form of each directive. FORMS, at the end, is the list of what a chapter may use."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from myst_parser.parsers.directives import parse_directive_text

from tools import quiz
from tools.notebook.inline import Inline
from tools.notebook.markup import details, html, quote


class Page(Protocol):
    """What a directive needs of its page; `Portable` provides it."""

    inline: Inline
    questions: int

    def error(self, line: int, what: str) -> Exception: ...
    def numbered(self, label: str, line: int) -> str: ...
    def block(self, text: str, line: int) -> str: ...
    def equation(self, tex: str, label: str | None, line: int) -> str: ...
    def tokens(self, text: str) -> list[Any]: ...
    def open_solution(self, title: str, line: int) -> str: ...
    def close_solution(self, line: int) -> str: ...


@dataclass
class Directive:
    """One directive, parsed."""

    name: str
    argument: str
    options: dict[str, str]
    body: str
    line: int  # of the directive in the source file
    body_line: int

    @property
    def label(self) -> str | None:
        return self.options.get("label") or self.options.get("name")

    @property
    def folded(self) -> bool:
        return "dropdown" in str(self.options.get("class", "")).split()


class _AnyDirective:
    """Makes myst-parser accept any option, and the first line as the argument."""

    option_spec = {"any": str}  # noqa: RUF012  (an attribute that myst-parser reads)
    has_content = True
    required_arguments, optional_arguments, final_argument_whitespace = 0, 1, True


def portable(page: Page, name: str, argument: str, content: str, line: int) -> str:
    """Rewrite one directive; raise SourceError where it has no portable form."""
    form = FORMS.get(name)
    if form is None:
        raise page.error(line, f"directive {{{name}}} has no portable form")
    parsed = parse_directive_text(_AnyDirective, argument, content, validate_options=False)  # type: ignore[arg-type]
    return form(
        page,
        Directive(
            name=name,
            argument=" ".join(parsed.arguments),
            options={key: str(value or "") for key, value in parsed.options.items()},
            body="\n".join(parsed.body),
            line=line,
            body_line=line + 1 + parsed.body_offset,
        ),
    )


def _body(page: Page, d: Directive) -> str:
    return page.block(d.body, d.body_line)


def _number(page: Page, d: Directive, what: str) -> str:
    """ " 3" for a numbered thing, "" with :nonumber:."""
    if "nonumber" in d.options:
        return ""
    if not d.label:
        raise page.error(d.line, f"{what} has a number on the site: give it a label")
    return " " + page.numbered(d.label, d.line)


def _admonition(page: Page, d: Directive) -> str:
    titled = d.name in ("admonition", "dropdown", "sidebar", "margin")
    if titled:
        title, body = d.argument or "Aside", _body(page, d)
    else:
        title = {"seealso": "See also"}.get(d.name, d.name.capitalize())
        first = page.inline(d.argument, d.line) if d.argument else ""
        body = "\n".join(part for part in (first, _body(page, d)) if part)
    title = page.inline(title, d.line)
    return details(html(title), body) if d.folded or d.name == "dropdown" else quote(title, body)


def _math(page: Page, d: Directive) -> str:
    return page.equation(f"{d.argument}\n{d.body}".strip("\n"), d.label, d.line)


def _proof(page: Page, d: Directive) -> str:
    title = f" ({page.inline(d.argument, d.line)})" if d.argument else ""
    return quote(f"Proof{title}.", f"{_body(page, d)}\n\n∎")


def _theorem(page: Page, d: Directive) -> str:
    kind = d.name.removeprefix("prf:")
    title = f" ({page.inline(d.argument, d.line)})" if d.argument else ""
    number = _number(page, d, f"a {kind}")
    return quote(f"{kind.capitalize()}{number}{title}", _body(page, d))


def _exercise(page: Page, d: Directive) -> str:
    title = f": {page.inline(d.argument, d.line)}" if d.argument else ""
    return f"### Exercise{_number(page, d, 'an exercise')}{title}\n\n{_body(page, d)}".rstrip()


def _solution_title(page: Page, d: Directive) -> str:
    return f"Solution to Exercise {page.numbered(d.argument, d.line)}"


def _solution(page: Page, d: Directive) -> str:
    return details(_solution_title(page, d), _body(page, d))


def _solution_start(page: Page, d: Directive) -> str:
    return page.open_solution(_solution_title(page, d), d.line)


def _solution_end(page: Page, d: Directive) -> str:
    return page.close_solution(d.line)


def _figure(page: Page, d: Directive) -> str:
    if not d.options.get("alt"):
        raise page.error(d.line, f"a {d.name} needs :alt:, a sentence that says what it shows")
    try:
        picture = f"![{d.options['alt']}]({page.inline.file(d.argument)})"
    except LookupError as missing:
        raise page.error(d.line, str(missing.args[0])) from None
    caption = _body(page, d)
    if not caption:
        return picture
    return f"{picture}\n\n*Fig.{_number(page, d, 'a figure with a caption')}.* {caption}"


def _caption(page: Page, d: Directive) -> str:
    """The line above a table."""
    if not d.argument:
        return ""
    number = _number(page, d, "a table with a caption")
    return f"*Table{number}.* {page.inline(d.argument, d.line)}\n\n"


def _table(page: Page, d: Directive) -> str:
    return _caption(page, d) + _body(page, d)


def _list_table(page: Page, d: Directive) -> str:
    rows: list[list[str]] = []
    for token in page.tokens(d.body):
        if token.type == "list_item_open" and token.level == 1:
            rows.append([])
        elif token.type == "list_item_open" and token.level == 3:
            rows[-1].append("")
        elif token.type == "inline" and token.level == 5 and not rows[-1][-1]:
            assert token.map is not None
            cell = page.inline(token.content, d.body_line + token.map[0])
            rows[-1][-1] = cell.replace("\n", " ").replace("|", "\\|")
        elif token.type not in _LIST_TOKENS:
            raise page.error(d.body_line, "each cell of a list-table holds one paragraph")
    if not rows or len({len(row) for row in rows}) != 1:
        raise page.error(d.line, "the rows of a list-table must have the same length")
    if int(d.options.get("header-rows", 0)) == 0:
        rows.insert(0, [""] * len(rows[0]))
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * len(rows[0]))
    return _caption(page, d) + "\n".join(lines)


_LIST_TOKENS = {
    *("bullet_list_open", "bullet_list_close", "list_item_close"),
    *("paragraph_open", "paragraph_close"),
}


def _tab_item(page: Page, d: Directive) -> str:
    return f"**{page.inline(d.argument, d.line)}**\n\n{_body(page, d)}"


def _code(page: Page, d: Directive) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", d.body)), default=0))
    return f"{fence}{d.argument}\n{d.body}\n{fence}"


def _quiz(page: Page, d: Directive) -> str:
    try:
        parsed = quiz.parse(d.body)
    except ValueError as wrong:
        raise page.error(d.line, str(wrong)) from None
    page.questions += 1
    parts = [f"**Question {page.questions}.** {page.block(parsed.question, d.body_line)}"]
    for option in parsed.options:
        summary = html(page.inline(option.text, d.body_line + option.line))
        why = page.block(option.why, d.body_line + option.why_line)
        parts.append(details(summary, f"**{quiz.VERDICT[option.right]}** {why}"))
    return "\n\n".join(parts)


def _nothing(page: Page, d: Directive) -> str:
    return ""


_ADMONITIONS = (
    *("admonition", "attention", "caution", "danger", "dropdown", "error", "hint", "important"),
    *("margin", "note", "seealso", "sidebar", "tip", "warning"),
)
_THEOREMS = (
    *("algorithm", "assumption", "axiom", "conjecture", "corollary", "criterion", "definition"),
    *("example", "lemma", "notation", "observation", "property", "proposition", "remark"),
    "theorem",
)

FORMS: dict[str, Callable[[Page, Directive], str]] = {
    **dict.fromkeys(_ADMONITIONS, _admonition),
    **{f"prf:{kind}": _theorem for kind in _THEOREMS},
    "prf:proof": _proof,
    "math": _math,
    "exercise": _exercise,
    "exercise-start": _exercise,
    "exercise-end": _nothing,
    "solution": _solution,
    "solution-start": _solution_start,
    "solution-end": _solution_end,
    "quiz": _quiz,
    "figure": _figure,
    "image": _figure,
    "table": _table,
    "list-table": _list_table,
    "tab-set": _body,
    "tab-item": _tab_item,
    "code": _code,
    "code-block": _code,
    "bibliography": _nothing,
    "tableofcontents": _nothing,
}
