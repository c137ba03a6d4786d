"""Inside a paragraph: roles, links and mathematics in portable Markdown."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import Any

from sphinx.util.nodes import explicit_title_re

from tools.book import macros
from tools.book.chapters import Book, SourceError
from tools.book.given import parts as parts_of_given
from tools.book.minutes import time_of

# The constructs of a paragraph. The first alternative that matches wins, so that nothing inside
# code or mathematics is read as a link or a role.
_PIECE = re.compile(
    r"""
      (?P<escape>\\[^\w\s])
    | (?:\{(?P<role>[\w:.+-]+)\})?(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)(?:\{[.\#][^}]*\})?
    | (?P<math>\$\$.+?\$\$ | \$(?!\s)[^$]+?(?<![\s\\])\$(?!\d))
    | (?P<note>\[\^[\w-]+\])
    | (?P<bang>!?)\[(?P<text>(?:[^\[\]\\`]|\\.|`[^`]*`|\[[^\]]*\])*)\]
      \((?P<to>[^\s()]*)\)(?:\{[^}]*\})?
    """,
    re.X | re.S,
)


class Inline:
    """Rewrites the inline text of one page; `numbers` is the result of tools.book.labels."""

    def __init__(self, book: Book, docname: str, numbers: dict[str, Any]):
        self.book, self.docname, self.numbers = book, docname, numbers
        self._roles: dict[str, Callable[[str], str]] = {
            "cite:p": lambda keys: "(" + "; ".join(self._cited(keys, "{who}, {year}")) + ")",
            "cite:t": lambda keys: ", ".join(self._cited(keys, "{who} ({year})")),
            "doc": lambda body: self.page(*_titled(body)),
            "eq": self.reference,
            "prf:ref": self.reference,
            "numref": self.reference,
            "term": lambda body: self.term(*_titled(body)),
            "given": lambda body: parts_of_given(body)[0],
            "minutes": lambda body: time_of(self.book, "minutes", body),
            "hours": lambda body: time_of(self.book, "hours", body),
        }

    def error(self, line: int, message: str) -> SourceError:
        return SourceError(f"{self.docname}.md", line, message)

    def __call__(self, text: str, line: int) -> str:
        """Rewrite `text`, whose first line is line `line` of the source file."""

        def piece(match: re.Match[str]) -> str:
            here = line + text.count("\n", 0, match.start())
            try:
                return self._piece(match, here)
            except LookupError as missing:
                raise self.error(here, str(missing.args[0])) from None

        return _PIECE.sub(piece, text)

    def _piece(self, m: re.Match[str], line: int) -> str:
        if m["escape"]:
            # Jupyter would pair two escaped dollars and read mathematics between them.
            return r"<span>\$</span>" if m["escape"] == r"\$" else m["escape"]
        if m["code"] is not None:
            if not m["role"]:
                return m["ticks"] + m["code"] + m["ticks"]
            if m["role"] not in self._roles:
                raise LookupError(f"role {{{m['role']}}} has no portable form")
            return self._roles[m["role"]](" ".join(m["code"].split()))
        if m["math"]:
            return macros.expand(m["math"])
        if m["note"]:
            raise LookupError("a footnote has no portable form")
        text, to = self(m["text"], line), m["to"]
        if re.match(r"[a-z]+:", to):
            return f"{m['bang']}[{text}]({to})"
        if to.endswith(".md"):
            return self.page(to, text or None)
        raise LookupError(f"{to!r} has no portable form: link to a page, softmax.md, or an address")

    # The targets of references. Each raises LookupError if there is none; __call__ adds file and
    # line to the message.

    def url(self, doc: str, anchor: str = "") -> str:
        return f"{self.book.site}/{doc}.html" + (f"#{anchor}" if anchor else "")

    def numbered(self, label: str) -> dict[str, str]:
        """A labelled thing and its number, as the site shows it: a figure, an equation …"""
        found = self.numbers["labels"].get(label, {})
        if "number" not in found:
            raise LookupError(f"nothing with a number has the label {label!r}")
        return found

    def reference(self, label: str) -> str:
        """A reference by number; the site's build says if it is the wrong role for it."""
        target = self.numbered(label)
        kind = {"figure": "Fig."}.get(target["kind"], target["kind"].capitalize())
        equation = target["kind"] == "displaymath"
        name = f"({target['number']})" if equation else f"{kind} {target['number']}"
        return f"[{name}]({self.url(target['doc'], target['id'])})"

    def page(self, path: str, text: str | None = None) -> str:
        folder = self.docname.rpartition("/")[0]
        doc = posixpath.normpath(posixpath.join(f"/{folder}", path))[1:].removesuffix(".md")
        if doc not in self.numbers["docs"]:
            raise LookupError(f"unknown page {path!r}")
        return f"[{text or self.numbers['docs'][doc]}]({self.url(doc)})"

    def term(self, term: str, text: str | None = None) -> str:
        target = self.numbers["terms"].get(term.lower())
        if target is None:
            raise LookupError(f"unknown term {term!r}: the glossary is in book/notation.md")
        return f"[{text or term}]({self.url(target['doc'], target['id'])})"

    def _cited(self, keys: str, pattern: str) -> list[str]:
        links = []
        for key in (k.strip() for k in keys.split(",")):
            if key not in self.numbers["cites"]:
                raise LookupError(f"unknown citation {key!r}: the entries are in references.bib")
            cite = self.numbers["cites"][key]
            url = cite["url"] or self.url(cite["doc"], cite["id"])
            links.append(f"[{pattern.format(**cite)}]({url})")
        return links


def _titled(body: str) -> tuple[str, str | None]:
    """ "text <target>" → (target, text);  "target" → (target, None)."""
    match = explicit_title_re.match(body)
    return (match[2], match[1]) if match else (body, None)
