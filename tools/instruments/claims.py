"""{claim}: what a source document says, decided by a cell of this page; {claims}: the ledger.

    ```{claim} 000-09
    :verdict: holds if
    :found: 8.0 | 0.405

    Weights 0.6, 0.4 and 0 over the values 10, 5 and 2 give 8.

    As arithmetic. A softmax of finite scores cannot give the exact 0.
    ```

The argument is the document's number and the claim's. The first paragraph is the claim in our
words, the second its condition, counterexample or reason. What `:found:` lists is printed by the
nearest code cell above; tests/pipeline/test_claims.py compares. On its own page a claim is one
line that links to the ledger.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from tools.instruments.directive import Directive, Page, checked
from tools.instruments.elements import make
from tools.instruments.happened import in_order

DOCUMENTS = {
    "000": "A post that derives attention “from first principles”",
    "001": "A page on transformers",
    "002": "A short page on the formula of self-attention",
    "003": "A lesson on the Query-Key-Value framework",
    "004": "A page that derives the formula line by line",
}
VERDICTS = ("holds", "holds if", "wrong", "not decided")
LEDGER = "book/claims"
_OPTION = re.compile(r":(\w+): *(.*)")


@dataclass
class Claim:
    """One row of the ledger."""

    id: str
    verdict: str
    found: list[str]
    text: str
    remark: str

    @property
    def anchor(self) -> str:
        return f"claim-{self.id}"


def read(argument: str, content: str) -> Claim:
    """Check what a {claim} says.

    Raises:
        ValueError: something is missing or malformed; the message says what
    """
    if not re.fullmatch(r"\d{3}-\d{2}", argument) or argument[:3] not in DOCUMENTS:
        raise ValueError(f"a claim is named by document and number, 000-09; it is {argument!r}")
    found = {"verdict": "", "found": ""}
    lines = content.strip().split("\n")
    while lines and (option := _OPTION.fullmatch(lines[0].strip())):
        if option[1] not in found:
            raise ValueError(f"a claim takes :verdict: and :found:, not {lines[0]!r}")
        found[option[1]] = option[2].strip()
        del lines[0]
    verdict = found["verdict"]
    if verdict not in VERDICTS:
        raise ValueError(f"':verdict:' is one of {', '.join(VERDICTS)}; it is {verdict!r}")
    parts = re.split(r"\n\s*\n", "\n".join(lines).strip())
    paragraphs = [" ".join(part.split()) for part in parts if part.strip()]
    most, least = 2, 1 if verdict == "holds" else 2
    if not least <= len(paragraphs) <= most:
        raise ValueError(f"a claim that {verdict!r} has {least} to {most} paragraphs")
    words = [word.strip() for word in found["found"].split(" | ") if word.strip()]
    if not words and verdict != "not decided":
        raise ValueError("a claim needs ':found:', what the cell above prints")
    return Claim(argument, verdict, words, *paragraphs, *[""] * (most - len(paragraphs)))


class claims(nodes.General, nodes.Element):
    """The ledger, before all pages are read."""


class ClaimDirective(SphinxDirective):
    required_arguments, final_argument_whitespace = 1, True
    has_content = True

    def run(self) -> list[nodes.Node]:
        try:
            claim = read(self.arguments[0], "\n".join(self.content))
        except ValueError as wrong:
            raise self.error(str(wrong)) from None
        self._keep(claim)
        uri = self.env.app.builder.get_relative_uri(self.env.docname, LEDGER)
        link = nodes.reference("", f"Claim {claim.id}", refuri=f"{uri}#{claim.anchor}")
        line = nodes.paragraph("", "", link, classes=["claim", _css(claim)])
        line += nodes.Text(f": {claim.verdict}")
        line["ids"].append(claim.anchor)
        return [line]

    def _keep(self, claim: Claim) -> None:
        known: dict[str, Any] = self.env.__dict__.setdefault("claims", {})
        if claim.id in known and known[claim.id][0] != self.env.docname:
            raise self.error(f"claim {claim.id} is decided twice; also in {known[claim.id][0]}")
        words = [
            self.state.inline_text(text, self.lineno)[0] for text in (claim.text, claim.remark)
        ]
        known[claim.id] = (self.env.docname, claim, *words)


class ClaimsDirective(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        self.env.__dict__.setdefault("claim_lists", set()).add(self.env.docname)
        return [claims()]


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Fill {claims}: a table of counts, then every claim, by document."""
    known: dict[str, Any] = app.env.__dict__.get("claims", {})
    order = {page: place for place, page in enumerate(in_order(app))}
    known = {key: row for key, row in known.items() if row[0] in order}
    for place in list(doctree.findall(claims)):
        made: list[nodes.Node] = [_counts(known)]
        for document, title in DOCUMENTS.items():
            rows = [known[key] for key in sorted(known) if key.startswith(document)]
            if rows:
                made.append(nodes.rubric("", f"{document}: {title}"))
                made += [_row(app, docname, *row) for row in rows]
        place.replace_self(made)


def _row(app: Sphinx, docname: str, page: str, claim: Claim, text: Any, remark: Any) -> Any:
    box = make("div", classes=f"claim-row {_css(claim)}")
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


def _css(claim: Claim) -> str:
    return "claim-" + claim.verdict.replace(" ", "-")


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """A page is read again."""
    known = env.__dict__.get("claims", {})
    for key in [key for key, row in known.items() if row[0] == docname]:
        del known[key]
    env.__dict__.get("claim_lists", set()).discard(docname)


def merge(app: Sphinx, env: BuildEnvironment, docnames: set[str], other: BuildEnvironment) -> None:
    """What another process has read."""
    theirs = other.__dict__
    env.__dict__.setdefault("claims", {}).update(
        {key: row for key, row in theirs.get("claims", {}).items() if row[0] in docnames}
    )
    env.__dict__.setdefault("claim_lists", set()).update(theirs.get("claim_lists", set()))


def pages_with_lists(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Pages to write again, whatever else has changed."""
    return sorted(env.__dict__.get("claim_lists", set()))


def _portable(page: Page, d: Directive) -> str:
    claim = checked(page, d, read, d.argument, d.content)
    return f"*[Claim {claim.id}]({page.inline.url(LEDGER, claim.anchor)}): {claim.verdict}.*"


FORMS = {"claim": _portable}


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("tools.instruments.elements")
    app.add_node(claims)
    app.add_directive("claim", ClaimDirective)
    app.add_directive("claims", ClaimsDirective)
    app.connect("doctree-resolved", resolve)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", pages_with_lists)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
