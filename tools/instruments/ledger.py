"""{claims}: the ledger, every claim of the source documents with its verdict, from all pages."""

from __future__ import annotations

from collections import Counter
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools.instruments.claims import DOCUMENTS, VERDICTS, Claim, css_class
from tools.instruments.elements import make
from tools.instruments.happened import in_order


class claims(nodes.General, nodes.Element):
    """The ledger, before all pages are read."""


class ClaimsDirective(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        self.env.__dict__.setdefault("claim_lists", set()).add(self.env.docname)
        return [claims()]


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Fill {claims}: a table of counts, then every claim, by document."""
    known: dict[str, Any] = app.env.__dict__.get("claims", {})
    order = {page: place for place, page in enumerate(in_order(app))}
    known = {key: row for key, row in known.items() if row[0] in order}
    for ledger in list(doctree.findall(claims)):
        made: list[nodes.Node] = [_counts(known)]
        for document, title in DOCUMENTS.items():
            rows = [known[key] for key in sorted(known) if key.startswith(document)]
            if rows:
                made.append(nodes.rubric("", f"{document}: {title}"))
                made += [_row(app, docname, *row) for row in rows]
        ledger.replace_self(made)


def _row(app: Sphinx, docname: str, page: str, claim: Claim, text: Any, remark: Any) -> Any:
    box = make("div", classes=f"claim-row {css_class(claim)}")
    box["ids"].append(claim.anchor)
    uri = f"{app.builder.get_relative_uri(docname, page)}#{claim.anchor}"
    head = nodes.paragraph("", classes=["claim-head"])
    head += nodes.strong("", claim.id)
    head += nodes.inline("", claim.verdict, classes=["claim-verdict"])
    head += nodes.reference("", app.env.titles[page].astext(), refuri=uri)
    box += head
    box += nodes.paragraph("", "", *[node.deepcopy() for node in text])
    found = nodes.paragraph("", "", *[node.deepcopy() for node in remark], classes=["claim-found"])
    if claim.found:
        found += nodes.Text(" Found: " if claim.remark else "Found: ")
        for number, word in enumerate(claim.found):
            found += [nodes.Text(", ")] * bool(number) + [nodes.literal("", word)]
        found += nodes.Text(".")
    box += found
    return box


def _counts(known: dict[str, Any]) -> nodes.Node:
    """How many claims of each document got which verdict."""
    count = Counter((key[:3], row[1].verdict) for key, row in known.items())
    rows = [["document", *VERDICTS, "all"]]
    for document in DOCUMENTS:
        numbers = [count[document, verdict] for verdict in VERDICTS]
        rows.append([document, *map(str, [*numbers, sum(numbers)])])
    totals = [sum(count[document, verdict] for document in DOCUMENTS) for verdict in VERDICTS]
    rows.append(["all", *map(str, [*totals, sum(totals)])])
    group = nodes.tgroup("", *[nodes.colspec(colwidth=1) for _ in rows[0]], cols=len(rows[0]))
    made = [nodes.row("", *[nodes.entry("", nodes.paragraph("", x)) for x in row]) for row in rows]
    group += [nodes.thead("", made[0]), nodes.tbody("", *made[1:])]
    return nodes.table("", group, classes=["claim-counts"])


def forget(app: Sphinx, env: Any, docname: str) -> None:
    """A page is read again."""
    env.__dict__.get("claim_lists", set()).discard(docname)


def merge(app: Sphinx, env: Any, docnames: Any, other: Any) -> None:
    """What another process has read."""
    found = other.__dict__.get("claim_lists", set())
    env.__dict__.setdefault("claim_lists", set()).update(found)


def pages_with_lists(app: Sphinx, env: Any) -> list[str]:
    """Pages to write again, whatever else has changed."""
    return sorted(env.__dict__.get("claim_lists", set()))


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("tools.instruments.elements")
    app.add_node(claims)
    app.add_directive("claims", ClaimsDirective)
    app.connect("doctree-resolved", resolve)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", pages_with_lists)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
