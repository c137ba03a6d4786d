"""{claim}: what a source document says, decided by a cell of this page.

    ```{claim} 000-09
    :verdict: holds if
    :found: 8.0 | 0.405

    Weights 0.6, 0.4 and 0 over the values 10, 5 and 2 give 8.

    As arithmetic. A softmax of finite scores cannot give the exact 0.
    ```

The argument is the document's number and the claim's. The first paragraph is the claim in our
words, the second its condition, counterexample or reason. What `:found:` lists is printed by the
nearest code cell above; tests/pipeline/test_claims.py compares.

In a chapter a claim says nothing: its reader has never seen the documents. The ledger links to the
cell that decides it. On the page of the documents, book/documents.md, where the claim is what its
section is about, verdict and reason are shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools.instruments.directive import Directive, Page, checked

DOCUMENTS = {
    "000": "A post that derives attention “from first principles”",
    "001": "A page on transformers",
    "002": "A short page on the formula of self-attention",
    "003": "A lesson on the Query-Key-Value framework",
    "004": "A page that derives the formula line by line",
}
VERDICTS = ("holds", "holds if", "wrong", "not decided")
LEDGER = "book/claims"
HOME = "book/documents"  # decides the claims that no chapter needs, and shows the verdicts
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


class claim_place(nodes.Invisible, nodes.Element):
    """Where a claim stands, before its id has gone to the cell that decides it."""


class ClaimDirective(SphinxDirective):
    required_arguments, final_argument_whitespace = 1, True
    has_content = True

    def run(self) -> list[nodes.Node]:
        try:
            claim = read(self.arguments[0], "\n".join(self.content))
        except ValueError as wrong:
            raise self.error(str(wrong)) from None
        text, remark = (
            self.state.inline_text(text, self.lineno)[0] for text in (claim.text, claim.remark)
        )
        self._keep(claim, text, remark)
        made: list[nodes.Node] = [claim_place("", ids=[claim.anchor])]
        if self.env.docname == HOME:
            verdict = nodes.strong("", f"{_said(claim)} ")
            line = nodes.paragraph("", "", verdict, classes=["claim-decided", css_class(claim)])
            line += [node.deepcopy() for node in remark]
            made.append(line)
        return made

    def _keep(self, claim: Claim, *words: list[nodes.Node]) -> None:
        known: dict[str, Any] = self.env.__dict__.setdefault("claims", {})
        here, there = self.env.docname, known.get(claim.id, [""])[0]
        if there and there != here and HOME not in (here, there):
            raise self.error(f"claim {claim.id} is decided twice; also in {there}")
        if there != HOME or here == HOME:  # that page comes first
            known[claim.id] = (here, claim, *words)


def give_ids(app: Sphinx, doctree: nodes.document) -> None:
    """Let the ledger's links lead to the cell that decides a claim; at home, to its section."""
    cell: nodes.Element | None = None
    for node in list(doctree.findall(nodes.Element)):
        if node.get("nb_element") == "cell_code":
            cell = node
        elif isinstance(node, claim_place):
            target = node.parent if app.env.docname == HOME else cell
            if target is not None:
                target["ids"] += node["ids"]
                node.parent.remove(node)


def _said(claim: Claim) -> str:
    """ "Holds if:" before its condition, "Wrong." or "Holds." before its reason."""
    return claim.verdict.capitalize() + (":" if claim.verdict == "holds if" else ".")


def css_class(claim: Claim) -> str:
    return "claim-" + claim.verdict.replace(" ", "-")


def visit_place(self: Any, node: claim_place) -> None:
    """A claim above all cells of its page keeps an anchor of its own."""
    self.body.append(self.starttag(node, "span", ""))


def depart_place(self: Any, node: claim_place) -> None:
    self.body.append("</span>")


def forget(app: Sphinx, env: Any, docname: str) -> None:
    """A page is read again."""
    known = env.__dict__.get("claims", {})
    for key in [key for key, row in known.items() if row[0] == docname]:
        del known[key]


def merge(app: Sphinx, env: Any, docnames: Any, other: Any) -> None:
    """What another process has read."""
    theirs = other.__dict__
    known = env.__dict__.setdefault("claims", {})
    for key, row in theirs.get("claims", {}).items():
        if row[0] == HOME or (row[0] in docnames and known.get(key, [""])[0] != HOME):
            known[key] = row


def _portable(page: Page, d: Directive) -> str:
    claim = checked(page, d, read, d.argument, d.content)
    if page.inline.docname != HOME:
        return ""
    link = f"*[Claim {claim.id}]({page.inline.url(LEDGER, claim.anchor)})*"
    return f"**{_said(claim)}** {page.inline(claim.remark, d.line)} ({link})".replace("  ", " ")


FORMS = {"claim": _portable}


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("tools.instruments.elements")
    app.add_node(claim_place, html=(visit_place, depart_place))
    app.add_directive("claim", ClaimDirective)
    app.connect("doctree-read", give_ids)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
