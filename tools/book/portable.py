"""MyST Markdown to portable Markdown: what JupyterLab, Colab and GitHub all render.

myst-parser finds the blocks and the lines of each; those lines are rewritten in place, and
everything else stays as it is. A construct without a portable form stops the run with file and
line, so that no reader sees a raw directive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from markdown_it.token import Token

from tools.book import forms, macros
from tools.book.chapters import Book
from tools.book.inline import Inline
from tools.book.markup import one_line_equations
from tools.book.parts import DIRECTIVE, parser

_UNNUMBERED = re.compile(r"\\begin\{(align|gather|equation|multline|alignat|flalign|eqnarray)\}")
_FENCE = re.compile(r"(`{3,}|:{3,})\{")
# What a block token begins with, after list markers and ">".
_OPENS = {"math_block": "$$", "math_block_label": "$$", "amsmath": "\\begin"}
_DROPPED = {"myst_target": "(", "myst_line_comment": "%"}


class Portable:
    """Rewrites the Markdown cells of one page, in order."""

    def __init__(self, book: Book, docname: str, numbers: dict[str, Any]):
        self.book = book
        self.inline = Inline(book, docname, numbers)
        self.error = self.inline.error
        self.questions = 0  # quiz questions are numbered through the page

    def cell(self, text: str, line: int) -> str:
        """Rewrite one Markdown cell."""
        text = self.block(text, line)
        if text.count("<details>") != text.count("</details>"):
            raise self.error(line, "a solution must begin and end in it: it holds no code cells")
        return text

    def block(self, text: str, line: int) -> str:
        """Rewrite blocks of Markdown; `line` is the line of the first one in the source file."""
        lines, tokens = text.split("\n"), parser("inline").parse(text, {})
        out, done, in_table = _Lines(), 0, False
        for token in tokens:
            in_table = (in_table or token.type == "table_open") and token.type != "table_close"
            if token.map is None or (in_table and token.type != "table_open"):
                continue
            first, last = token.map
            if token.type in ("inline", "table_open"):
                out.extend(lines[done:first])
                self._paragraph(out, token, lines[first:last], line + first)
                done = last
                continue
            new = self._replacement(token, line + first)
            if new is None:
                continue
            opens = {**_OPENS, **_DROPPED}.get(token.type, token.markup)
            before = lines[first][: lines[first].index(opens)]
            out.extend(lines[done:first])
            out.block(before, new)
            # The amsmath token ends one line too early.
            done = first + token.content.count("\n") + 1 if token.type == "amsmath" else last
        out.extend(lines[done:])
        return "\n".join(out).strip("\n")

    def _replacement(self, token: Token, line: int) -> str | None:
        """The new text of a block token; None to leave its lines as they are."""
        if token.type in ("fence", "colon_fence"):
            match = DIRECTIVE.fullmatch(token.info.strip())
            return match and forms.portable(self, match[1], match[2], token.content, line)
        if token.type in _DROPPED:
            return ""
        if token.type in _OPENS:
            return self.equation(token.content, token.info or None, line)
        if token.type == "dl_open":
            raise self.error(line, "a definition list has no portable form")
        return None

    def equation(self, tex: str, label: str | None, line: int) -> str:
        r"""A display equation, with the number that the site shows as \tag."""
        if _UNNUMBERED.search(tex):
            raise self.error(
                line,
                "an environment with its own numbers: use {math} with :label: around "
                "\\begin{aligned} or \\begin{gathered}, or the starred form",
            )
        tex = macros.expand(tex.strip())
        if r"\\" in tex and r"\begin" not in tex:  # KaTeX breaks the line there, MathJax does not
            tex = f"\\begin{{gathered}}\n{tex}\n\\end{{gathered}}"
        if label:
            tex += rf" \tag{{{self.numbered(label, line)}}}"
        return f"$$\n{tex}\n$$"

    def numbered(self, label: str, line: int) -> str:
        """The number of a labelled thing, as the site shows it."""
        try:
            return self.inline.numbered(label)["number"]
        except LookupError as missing:
            raise self.error(line, str(missing.args[0])) from None

    def _paragraph(self, out: _Lines, token: Token, source: list[str], line: int) -> None:
        """Inline text, rewritten; list markers, ">" and "#" before it stay."""
        if token.type == "table_open":
            out.extend(self.inline("\n".join(source), line).split("\n"))
            return
        if _FENCE.match(token.content):
            raise self.error(line, "a directive that Markdown does not see (backticks after ```?)")
        old = token.content.split("\n")
        starts = [raw.index(text.strip()) for raw, text in zip(source, old, strict=False)]
        before = [raw[:at] for raw, at in zip(source, starts, strict=False)]
        after = source[len(old) - 1][starts[-1] + len(old[-1].strip()) :]
        new = self.inline(token.content, line).split("\n")
        rows = [before[min(i, len(before) - 1)] + text.strip(" ") for i, text in enumerate(new)]
        # Two blanks at the end of a line are a line break: keep them.
        rows = [row + "  " * text.endswith("  ") for row, text in zip(rows, new, strict=True)]
        rows[-1] += after
        out.extend(rows)


class _Lines(list[str]):
    """Output lines. A rewritten block has one blank line on either side."""

    _after_block: str | None = None  # the blank line that is due before the next text

    def extend(self, lines: Iterable[str]) -> None:
        for line in lines:
            blank = not line.strip("> ")
            if self._after_block is None:
                self.append(line)
            elif not blank:
                if self and self[-1].strip("> "):
                    self.append(self._after_block)
                self.append(line)
                self._after_block = None

    def block(self, before: str, text: str) -> None:
        """Add a block; `before` precedes its first line: list markers, ">" or blanks."""
        inside = re.sub(r"[^>\s]", " ", before)  # the same depth without the marker
        if ">" in inside:
            text = one_line_equations(text)
        if before == inside and self and self[-1].strip("> "):
            self.append(inside.rstrip())
        if text or before != inside:
            for i, line in enumerate(text.split("\n")):
                self.append(((inside if i else before) + line).rstrip())
        self._after_block = inside.rstrip()
