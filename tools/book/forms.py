"""The portable form of each directive. FORMS, at the end, is the list of what a chapter may use."""

from __future__ import annotations

import re
from collections.abc import Callable

from tools.book import claims, exercises, happened, hints, predict, quiz, writes
from tools.book.directive import Directive, Page, body_of, number_of
from tools.book.directive_text import directive_text
from tools.book.markup import details, html, quote


def portable(page: Page, name: str, argument: str, content: str, line: int) -> str:
    """Rewrite one directive; raise SourceError where it has no portable form."""
    form = FORMS.get(name)
    if form is None:
        raise page.error(line, f"directive {{{name}}} has no portable form")
    parsed = directive_text(argument, content)
    return form(
        page,
        Directive(
            name=name,
            argument=" ".join(parsed.arguments),
            options={key: str(value or "") for key, value in parsed.options.items()},
            body="\n".join(parsed.body),
            content=content,
            line=line,
            body_line=line + 1 + parsed.body_offset,
        ),
    )


def _admonition(page: Page, d: Directive) -> str:
    titled = d.name in ("admonition", "dropdown", "sidebar", "margin")
    if titled:
        title, body = d.argument or "Aside", body_of(page, d)
    else:
        title = {"seealso": "See also"}.get(d.name, d.name.capitalize())
        first = page.inline(d.argument, d.line) if d.argument else ""
        body = "\n".join(part for part in (first, body_of(page, d)) if part)
    title = page.inline(title, d.line)
    return details(html(title), body) if d.folded or d.name == "dropdown" else quote(title, body)


def _math(page: Page, d: Directive) -> str:
    return page.equation(f"{d.argument}\n{d.body}".strip("\n"), d.label, d.line)


def _proof(page: Page, d: Directive) -> str:
    title = f" ({page.inline(d.argument, d.line)})" if d.argument else ""
    return quote(f"Proof{title}.", f"{body_of(page, d)}\n\n∎")


def _theorem(page: Page, d: Directive) -> str:
    kind = d.name.removeprefix("prf:")
    title = f" ({page.inline(d.argument, d.line)})" if d.argument else ""
    number = number_of(page, d, f"a {kind}")
    return quote(f"{kind.capitalize()}{number}{title}", body_of(page, d))


def _figure(page: Page, d: Directive) -> str:
    if not d.options.get("alt"):
        raise page.error(d.line, f"a {d.name} needs :alt:, a sentence that says what it shows")
    try:
        picture = f"![{d.options['alt']}]({page.inline.file(d.argument)})"
    except LookupError as missing:
        raise page.error(d.line, str(missing.args[0])) from None
    caption = body_of(page, d)
    if not caption:
        return picture
    return f"{picture}\n\n*Fig.{number_of(page, d, 'a figure with a caption')}.* {caption}"


def _caption(page: Page, d: Directive) -> str:
    """The line above a table."""
    if not d.argument:
        return ""
    number = number_of(page, d, "a table with a caption")
    return f"*Table{number}.* {page.inline(d.argument, d.line)}\n\n"


def _table(page: Page, d: Directive) -> str:
    return _caption(page, d) + body_of(page, d)


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
    return f"**{page.inline(d.argument, d.line)}**\n\n{body_of(page, d)}"


def _code(page: Page, d: Directive) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", d.body)), default=0))
    return f"{fence}{d.argument}\n{d.body}\n{fence}"


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
    **exercises.FORMS,
    **quiz.FORMS,
    **predict.FORMS,
    **happened.FORMS,
    **hints.FORMS,
    **claims.FORMS,
    **writes.FORMS,
    "figure": _figure,
    "image": _figure,
    "table": _table,
    "list-table": _list_table,
    "tab-set": body_of,
    "tab-item": _tab_item,
    "code": _code,
    "code-block": _code,
    "bibliography": _nothing,
    "tableofcontents": _nothing,
}
