"""MyST Markdown to portable Markdown: what JupyterLab, Colab and GitHub all render.

myst-parser finds the blocks and the lines of each; those lines are rewritten in place, and
everything else stays as it is. A construct without a portable form stops the run with file and
line, so that no reader sees a raw directive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from tools.book import forms, macros
from tools.book.chapters import Book
from tools.book.inline import Inline
from tools.book.markup import one_line_equations

_DIRECTIVE = re.compile(r"\{([\w:.+-]+)\}[ \t]*(.*)", re.S)
_UNNUMBERED = re.compile(r"\\begin\{(align|gather|equation|multline|alignat|flalign|eqnarray)\}")
_NOTE = re.compile(r"\[\^([\w-]+)\]:[ \t]*")
_FENCE = re.compile(r"(`{3,}|:{3,})\{")
# What a block token begins with, after list markers and ">".
_OPENS = {"math_block": "$$", "math_block_label": "$$", "amsmath": "\\begin"}
_DROPPED = {"myst_target": "(", "myst_line_comment": "%", "myst_block_break": "+++"}
_EMPTY_BOX = re.compile(r"<details>\n<summary>.*</summary>\n\n</details>\n*")


class Portable:
    """Rewrites the Markdown cells of one page, in order."""

    def __init__(self, book: Book, docname: str, numbers: dict[str, Any]):
        extensions = set(book.config.get("parse", {}).get("myst_enable_extensions", []))
        config = MdParserConfig(enable_extensions=extensions, disable_syntax=["inline"])
        self._parser = create_md_parser(config, RendererHTML)
        self.inline = Inline(book, docname, numbers)
        self.error = self.inline.error
        self.questions = 0  # quiz questions are numbered through the page
        self.solution: str | None = None  # the title of the solution that is open, across cells
        self._solution_line = 0
        self._box_line = 0  # of the {happened-start} that is open; 0 if none is
        self._defined_notes: set[str] = set()

    def cell(self, text: str, line: int) -> str:
        """Rewrite one Markdown cell. A solution that holds code cells is folded cell by cell."""
        continued = self.solution
        text = self.block(text, line)
        if continued:
            text = f"<details>\n<summary>{continued}, continued</summary>\n\n{text}"
        if self.solution:
            text += "\n\n</details>"
        return _EMPTY_BOX.sub("", text).strip("\n")

    def finish(self) -> None:
        """Check what is known only at the end of the page."""
        if self.solution:
            raise self.error(self._solution_line, "solution-start without solution-end")
        if self._box_line:
            raise self.error(self._box_line, "happened-start without happened-end")
        for name, line in self.inline.notes.items():
            if name not in self._defined_notes:
                raise self.error(line, f"footnote [^{name}] is used but not defined")

    def open_solution(self, title: str, line: int) -> str:
        if self.solution:
            raise self.error(line, "a solution starts before the last one has ended")
        self.solution, self._solution_line = title, line
        return f"<details>\n<summary>{title}</summary>"

    def close_solution(self, line: int) -> str:
        if not self.solution:
            raise self.error(line, "solution-end without solution-start")
        self.solution = None
        return "</details>"

    def open_box(self, line: int) -> None:
        if self._box_line:
            raise self.error(line, "a happened-start before the last one has ended")
        self._box_line = line

    def close_box(self, line: int) -> None:
        if not self._box_line:
            raise self.error(line, "happened-end without happened-start")
        self._box_line = 0

    def tokens(self, text: str) -> list[Token]:
        return self._parser.parse(text, {})

    def block(self, text: str, line: int) -> str:
        """Rewrite blocks of Markdown; `line` is the line of the first one in the source file."""
        lines, tokens = text.split("\n"), self.tokens(text)
        out, done, in_table = _Lines(), 0, False
        for i, token in enumerate(tokens):
            in_table = (in_table or token.type == "table_open") and token.type != "table_close"
            if token.map is None or (in_table and token.type != "table_open"):
                continue
            first, last = token.map
            if token.type == "footnote_reference_open":
                self._check_footnote(tokens, i, line + first)
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
            match = _DIRECTIVE.fullmatch(token.info.strip())
            if match is None:
                return None
            return forms.portable(self, match[1], match[2], token.content, line)
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
            return self.inline.number(label)
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
        if note := _NOTE.search(before[0]):
            text = " ".join([self.inline.note(note[1], line), *(row.strip() for row in new)])
            out.block(before[0][: note.start()], text)
            return
        rows = [before[min(i, len(before) - 1)] + text.strip(" ") for i, text in enumerate(new)]
        # Two blanks at the end of a line are a line break: keep them.
        rows = [row + "  " * text.endswith("  ") for row, text in zip(rows, new, strict=True)]
        rows[-1] += after
        out.extend(rows)

    def _check_footnote(self, tokens: list[Token], i: int, line: int) -> None:
        kinds = [t.type for t in tokens[i + 1 : i + 5]]
        if kinds != ["paragraph_open", "inline", "paragraph_close", "footnote_reference_close"]:
            raise self.error(line, "a footnote must be one paragraph")
        self._defined_notes.add(tokens[i].meta["label"])


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
