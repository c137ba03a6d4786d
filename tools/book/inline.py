"""Inside a paragraph: roles, links, footnotes and mathematics in portable Markdown."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import Any

from tools.book import macros
from tools.book.chapters import Book, Chapter, SourceError
from tools.book.given import parts as parts_of_given
from tools.book.times import hours_of, minutes_of

# The constructs of a paragraph. The first alternative that matches wins, so that nothing inside
# code or mathematics is read as a link or a role.
_PIECE = re.compile(
    r"""
      (?P<escape>\\[^\w\s])
    | (?:\{(?P<role>[\w:.+-]+)\})?(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)(?:\{[.\#][^}]*\})?
    | (?P<math>\$\$.+?\$\$ | \$(?!\s)[^$]+?(?<![\s\\])\$(?!\d))
    | (?P<note>\[\^(?P<notename>[\w-]+)\])
    | (?P<bang>!?)\[(?P<text>(?:[^\[\]\\`]|\\.|`[^`]*`|\[[^\]]*\])*)\]
      \((?P<to>[^\s()]*)\)(?:\{[^}]*\})?
    | (?P<raw><[^>\s][^>]*>)
    """,
    re.X | re.S,
)
_TITLED = re.compile(r"^(.*?)\s*<([^<>]+)>$", re.S)
_NAMES = {"figure": "Fig.", "table": "Table", "exercise": "Exercise"}


class Inline:
    """Rewrites the inline text of one page; `numbers` is the result of tools.book.labels."""

    def __init__(self, book: Book, docname: str, numbers: dict[str, Any]):
        self.book, self.docname, self.numbers = book, docname, numbers
        self.notes: dict[str, int] = {}  # footnotes by name: the line of their first mention
        self._roles: dict[str, Callable[[str], str]] = {
            "cite": self.cite_p,
            "cite:p": self.cite_p,
            "cite:t": self.cite_t,
            "doc": lambda body: self.page(*_titled(body)),
            "eq": lambda body: self.numbered("eq", body),
            "ref": lambda body: self.ref(*_titled(body)),
            "prf:ref": lambda body: self.numbered("prf:ref", *_titled(body)),
            "numref": lambda body: self.numbered("numref", *_titled(body)),
            "term": lambda body: self.term(*_titled(body)),
            "math": lambda body: f"${macros.expand(body)}$",
            "abbr": lambda body: body,
            "given": lambda body: parts_of_given(body)[0],
            "minutes": lambda body: minutes_of(Chapter(self.book.root, f"book/{body}")),
            "hours": lambda body: hours_of(self.book, body),
            "kbd": lambda body: f"<kbd>{body}</kbd>",
            "sub": lambda body: f"<sub>{body}</sub>",
            "sup": lambda body: f"<sup>{body}</sup>",
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
            return self.note(m["notename"], line)
        if m["to"] is not None:
            return self._link(m["bang"], m["text"], m["to"], line)
        return m[0]

    def _link(self, bang: str, text: str, to: str, line: int) -> str:
        text = text if bang else self(text, line)
        if re.match(r"[a-z]+:", to):
            return f"{bang}[{text}]({to})"
        if bang:
            return f"![{text}]({self.file(to)})"
        if to.startswith("#"):
            return self.label(to[1:], text or None)
        if re.search(r"\.md#", to):
            raise LookupError(
                f"the site cannot follow {to!r}: link to the label, (#{to.split('#')[1]})"
            )
        if to.endswith(".md"):
            return self.page(to, text or None)
        return f"[{text}]({self.file(to)})"

    # The targets of references. Each raises LookupError if there is none; __call__ adds file and
    # line to the message.

    def url(self, doc: str, anchor: str = "") -> str:
        return f"{self.book.site}/{doc}.html" + (f"#{anchor}" if anchor else "")

    def target(self, label: str) -> dict[str, str]:
        if label not in self.numbers["labels"]:
            raise LookupError(f"unknown label {label!r}")
        return self.numbers["labels"][label]

    def number(self, label: str) -> str:
        """The number of a figure, equation, exercise …, as the site shows it."""
        target = self.target(label)
        if "number" not in target:
            raise LookupError(f"label {label!r} has no number")
        return target["number"]

    def label(self, label: str, text: str | None = None) -> str:
        target = self.target(label)
        if not text:
            text = _name(target)
        if not text:
            raise LookupError(f"label {label!r} has neither number nor title: give the link a text")
        return f"[{text}]({self.url(target['doc'], target['id'])})"

    def ref(self, label: str, text: str | None = None) -> str:
        if not text and "number" in self.target(label):
            raise LookupError(
                f"{label!r} has a number: refer to it with {_role_for(self.target(label))}"
            )
        return self.label(label, text)

    def numbered(self, role: str, label: str, text: str | None = None) -> str:
        """A reference by number. Sphinx resolves each kind of thing with one role only."""
        number, target = self.number(label), self.target(label)
        if _role_for(target) != f"{{{role}}}":
            raise LookupError(f"the site cannot resolve {label!r} here: use {_role_for(target)}")
        if text:
            title = target.get("title", "")
            text = text.replace("{number}", number).replace("%s", number).replace("{name}", title)
        return self.label(label, text)

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

    def file(self, path: str) -> str:
        """The public address of a file beside the page, such as a picture."""
        place = (self.book.root / self.docname).parent / path
        if not place.is_file():
            raise LookupError(f"no file {path!r} beside the page")
        return f"{self.book.raw}/{place.resolve().relative_to(self.book.root.resolve()).as_posix()}"

    def note(self, name: str, line: int) -> str:
        """A footnote's number: notes are numbered in the order of their first mention."""
        self.notes.setdefault(name, line)
        return f"<sup>{list(self.notes).index(name) + 1}</sup>"

    def _cited(self, keys: str, pattern: str) -> list[str]:
        links = []
        for key in (k.strip() for k in keys.split(",")):
            if key not in self.numbers["cites"]:
                raise LookupError(f"unknown citation {key!r}: the entries are in references.bib")
            cite = self.numbers["cites"][key]
            url = cite["url"] or self.url(cite["doc"], cite["id"])
            links.append(f"[{pattern.format(**cite)}]({url})")
        return links

    def cite_p(self, keys: str) -> str:
        return "(" + "; ".join(self._cited(keys, "{who}, {year}")) + ")"

    def cite_t(self, keys: str) -> str:
        return ", ".join(self._cited(keys, "{who} ({year})"))


def _titled(body: str) -> tuple[str, str | None]:
    """ "text <target>" → (target, text);  "target" → (target, None)."""
    match = _TITLED.match(body)
    return (match[2], match[1]) if match else (body, None)


def _role_for(target: dict[str, str]) -> str:
    kinds = {"displaymath": "{eq}", **dict.fromkeys(_NAMES, "{numref}")}
    return kinds.get(target["kind"], "{prf:ref}")


def _name(target: dict[str, str]) -> str:
    """The text of a reference that has none of its own."""
    if "number" not in target:
        return target.get("title", "")
    if target["kind"] == "displaymath":
        return f"({target['number']})"
    return f"{_NAMES.get(target['kind'], target['kind'].capitalize())} {target['number']}"
