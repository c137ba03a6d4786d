"""Pieces of portable Markdown: quotes, folds, and inline Markdown as HTML."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt


def one_line_equations(text: str) -> str:
    """Set each $$ … $$ on one line: in a quote, Jupyter would take the > of a new line as TeX."""
    return re.sub(r"\$\$.+?\$\$", lambda m: " ".join(m[0].split()), text, flags=re.S)


def quote(title: str, body: str) -> str:
    text = one_line_equations(f"**{title}**\n\n{body}")
    return "\n".join(f"> {row}".rstrip() for row in text.split("\n"))


def details(title: str, body: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{body}\n\n</details>"


def html(text: str) -> str:
    """Inline Markdown as HTML, for <summary>, where Markdown is not read. Mathematics stays."""
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match[0])
        return f"\x02{len(kept) - 1}\x03"

    marked = re.sub(r"(?<!\\)\$[^$]+\$", keep, text)
    rendered = MarkdownIt("commonmark").renderInline(marked)
    return re.sub("\x02(\\d+)\x03", lambda m: kept[int(m[1])], rendered)
