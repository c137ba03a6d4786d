"""The ledger: every claim of the source documents, from all pages.

```{verdicts}
```                       how many claims of each document got which verdict
```{claims}
```                       all of them in a table, to filter by verdict, document and chapter
{found}`000-31 1.68`      1.68, which is listed in that claim's :found:, with a link to its cell
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tools.book.chapters import Book
from tools.book.claims import DOCUMENTS, VERDICTS, Claim, css_class
from tools.book.domain import LIST, course
from tools.book.elements import make

logger = logging.getLogger(__name__)
Row = tuple[str, Claim, list[nodes.Node], list[nodes.Node]]  # page, claim, its words, our remark


class ledger_part(nodes.General, nodes.Element):
    """{verdicts} or {claims}, before all pages are read."""


class found_number(nodes.Inline, nodes.Element):
    """A {found} number, before all pages are read."""


class LedgerDirective(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        course(self.env).note(LIST)
        return [ledger_part("", name=self.name)]


def found(
    name: str, raw: str, text: str, line: int, inliner: Inliner, *_: object
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """A number of a claim: "000-31 1.68"."""
    course(inliner.document.settings.env).note(LIST)
    number, _space, word = text.partition(" ")
    return [found_number("", claim=number, word=word)], []


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put in what the pages say."""
    known: dict[str, Row] = {n.name: (n.page, *n.thing) for n in course(app.env).all("claim")}
    rows = [known[key] for key in sorted(known)]
    for part in list(doctree.findall(ledger_part)):
        made = [_counts(rows)] if part["name"] == "verdicts" else [*_table(app, docname, rows)]
        part.replace_self(made)
    for number in list(doctree.findall(found_number)):
        row, text = known.get(number["claim"]), nodes.Text(number["word"])
        if row is None or not is_found(row[1], number["word"]):
            where = f"{number['word']!r} is not among what claim {number['claim']} has found"
            logger.warning(where, location=docname)
            number.replace_self(text)
        else:
            number.replace_self(_link(text, refuri=_cell(app, docname, row)))


def is_found(claim: Claim, word: str) -> bool:
    """Whether a number, whole, is part of what the claim has found."""
    return any(re.search(rf"(?<![\d.]){re.escape(word)}(?![\d.])", text) for text in claim.found)


def _counts(rows: Sequence[Row]) -> nodes.Node:
    """How many claims of each document got which verdict."""
    count = Counter((claim.id[:3], claim.verdict) for _, claim, _, _ in rows)
    lines = [["verdict", *DOCUMENTS, "all"]]
    for verdict in VERDICTS:
        numbers = [count[document, verdict] for document in DOCUMENTS]
        lines.append([verdict, *map(str, [*numbers, sum(numbers)])])
    totals = [sum(count[document, verdict] for verdict in VERDICTS) for document in DOCUMENTS]
    lines.append(["all", *map(str, [*totals, sum(totals)])])
    cells = [[[nodes.paragraph("", word)] for word in line] for line in lines]
    return _make_table([_row(line) for line in cells], "claim-counts")


def _table(app: Sphinx, docname: str, rows: Sequence[Row]) -> Iterator[nodes.Node]:
    """The filter, and a row for each claim."""
    taught = {
        claim.id: f"book/{claim.chapter}" if claim.chapter else page for page, claim, _, _ in rows
    }
    in_order = [page.docname for page in Book(Path(app.srcdir)).pages]
    titles = {page: app.env.titles[page].astext() for page in in_order if page in taught.values()}
    filters = {
        "Verdict": {f"claim-{_slug(verdict)}": verdict for verdict in VERDICTS},
        "Document": {f"document-{number}": title for number, title in DOCUMENTS.items()},
        "Chapter": {f"chapter-{_slug(page)}": title for page, title in titles.items()},
    }
    yield make(
        "div",
        *[_select(name, choices) for name, choices in filters.items()],
        make("output", classes="ledger-count"),
        classes="ledger-filter",
    )
    heads = ("number", "the claim, and what was found", "verdict", "chapter")
    lines = [_row([[nodes.paragraph("", head)] for head in heads])]
    for row in rows:
        page = taught[row[1].id]
        line = _row(list(_cells(app, docname, row, page)))
        line["ids"].append(row[1].anchor)
        line["classes"] += [
            css_class(row[1]),
            f"document-{row[1].id[:3]}",
            f"chapter-{_slug(page)}",
        ]
        lines.append(line)
    yield _make_table(lines, "ledger")


def _select(name: str, choices: dict[str, str]) -> nodes.Node:
    options = {"": "all", **choices}
    made = [make("option", nodes.Text(text), value=value) for value, text in options.items()]
    return make("label", nodes.Text(name), make("select", *made))


def _cells(app: Sphinx, docname: str, row: Row, taught: str) -> Iterator[list[nodes.Node]]:
    """Number, words, verdict, and where it is taught and decided."""
    _, claim, text, remark = row
    yield [nodes.paragraph("", claim.id)]
    words = [copied for copied in (text, remark) if copied]
    yield [nodes.paragraph("", "", *[node.deepcopy() for node in copied]) for copied in words]
    yield [nodes.paragraph("", claim.verdict)]
    uri = app.builder.get_relative_uri(docname, taught)
    chapter = _link(nodes.Text(app.env.titles[taught].astext()), refuri=uri)
    cell = _link(nodes.Text("the cell"), refuri=_cell(app, docname, row))
    yield [nodes.paragraph("", "", chapter), nodes.paragraph("", "", cell)]


def _link(text: nodes.Text, refuri: str) -> nodes.reference:
    return nodes.reference("", "", text, refuri=refuri, internal=True)


def _cell(app: Sphinx, docname: str, row: Row) -> str:
    """The address of the cell that decides a claim."""
    return f"{app.builder.get_relative_uri(docname, row[0])}#{row[1].anchor}"


def _slug(words: str) -> str:
    return words.rsplit("/", 1)[-1].replace(",", "").replace(" ", "-")


def _row(cells: Sequence[Sequence[nodes.Node]]) -> nodes.row:
    return nodes.row("", *[nodes.entry("", *cell) for cell in cells])


def _make_table(rows: Sequence[nodes.row], name: str) -> nodes.Node:
    """A table whose first row is its head."""
    columns = [nodes.colspec(colwidth=1) for _ in rows[0]]
    group = nodes.tgroup("", *columns, cols=len(columns))
    group += [nodes.thead("", rows[0]), nodes.tbody("", *rows[1:])]
    return nodes.table("", group, classes=[name])


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("tools.book.domain")
    app.setup_extension("tools.book.elements")
    for node in (ledger_part, found_number):
        app.add_node(node)
    for name in ("verdicts", "claims"):
        app.add_directive(name, LedgerDirective)
    app.add_role("found", found)
    app.connect("doctree-resolved", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
