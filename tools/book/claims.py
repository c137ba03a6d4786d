"""{claim}: what a source document says, decided by a cell of this page.

    ```{claim} 000-13
    :verdict: special case
    :found: 0.32 | 1.00
    :chapter: retrieval

    Attention is a soft look-up of the nearest neighbour.

    If all keys have one length.
    ```

The argument is the document's number and the claim's. The first paragraph is the claim in our
words, the second its condition, counterexample or reason. What `:found:` lists is printed by the
nearest code cell above; tests/pipeline/test_claims.py compares.

In a chapter a claim says nothing: its reader has never seen the documents. The ledger links to the
cell that decides it. On the page of the documents, book/documents.md, where the claim is what its
section is about, verdict and reason are shown, with a link to the chapter that teaches the subject.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools.book.directive import Directive, Page, checked
from tools.book.domain import course

DOCUMENTS = {
    "000": "A post that derives attention “from first principles”",
    "001": "A page on transformers",
    "002": "A short page on the formula of self-attention",
    "003": "A lesson on the Query-Key-Value framework",
    "004": "A page that derives the formula line by line",
}
VERDICTS = (
    "holds",
    "holds with the usual condition",
    "special case",
    "right result, wrong reason",
    "wrong",
    "open",
)
LEDGER = "book/claims"
HOME = "book/documents"  # decides the claims that no chapter needs, and shows the verdicts
_OPTION = re.compile(r":(\w+): *(.*)")


@dataclass
class Claim:
    """One row of the ledger."""

    id: str
    verdict: str
    found: list[str]
    chapter: str  # that teaches the subject: its slug; "" if the page itself does
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
    found = {"verdict": "", "found": "", "chapter": ""}
    lines = content.strip().split("\n")
    while lines and (option := _OPTION.fullmatch(lines[0].strip())):
        if option[1] not in found:
            raise ValueError(f"a claim takes :verdict:, :found: and :chapter:, not {lines[0]!r}")
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
    if not words and verdict != "open":
        raise ValueError("a claim needs ':found:', what the cell above prints")
    remark = paragraphs[1] if len(paragraphs) == most else ""
    return Claim(argument, verdict, words, found["chapter"], paragraphs[0], remark)


def on_page(claim: Claim, docname: str) -> Claim:
    """The same claim, if it may stand on this page.

    Raises:
        ValueError: the page of the documents must name a chapter, and a chapter may not
    """
    if docname == HOME and not claim.chapter:
        raise ValueError("':chapter:' names the chapter that teaches the subject; it is missing")
    if docname != HOME and claim.chapter:
        raise ValueError("':chapter:' is for the page of the documents: a chapter teaches itself")
    return claim


class claim_place(nodes.Invisible, nodes.Element):
    """Where a claim stands, before its id has gone to the cell that decides it."""


class ClaimDirective(SphinxDirective):
    required_arguments, final_argument_whitespace = 1, True
    has_content = True

    def run(self) -> list[nodes.Node]:
        try:
            claim = on_page(read(self.arguments[0], "\n".join(self.content)), self.env.docname)
        except ValueError as wrong:
            raise self.error(str(wrong)) from None
        if claim.chapter and f"book/{claim.chapter}" not in self.env.found_docs:
            raise self.error(f"chapter is {claim.chapter!r}; there is no page book/{claim.chapter}")
        text, remark = (
            self.state.inline_text(text, self.lineno)[0] for text in (claim.text, claim.remark)
        )
        course(self.env).note("claim", (claim, text, remark), name=claim.id)
        made: list[nodes.Node] = [claim_place("", ids=[claim.anchor])]
        if self.env.docname == HOME:
            line = nodes.paragraph("", classes=["claim-decided", css_class(claim)])
            line += self.state.inline_text(_decided(claim), self.lineno)[0]
            made.append(line)
        return made


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


def _decided(claim: Claim) -> str:
    """What the page of the documents says below the cell."""
    said = claim.verdict[0].upper() + claim.verdict[1:]
    return " ".join(filter(None, [f"**{said}.**", claim.remark, f"See {{doc}}`{claim.chapter}`."]))


def css_class(claim: Claim) -> str:
    return "claim-" + claim.verdict.replace(",", "").replace(" ", "-")


def visit_place(self: Any, node: claim_place) -> None:
    """A claim above all cells of its page keeps an anchor of its own."""
    self.body.append(self.starttag(node, "span", ""))


def depart_place(self: Any, node: claim_place) -> None:
    self.body.append("</span>")


def _portable(page: Page, d: Directive) -> str:
    docname = page.inline.docname
    claim = checked(page, d, lambda: on_page(read(d.argument, d.content), docname))
    return page.inline(_decided(claim), d.line) if docname == HOME else ""


FORMS = {"claim": _portable}


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("tools.book.domain")
    app.setup_extension("tools.book.elements")
    app.add_node(claim_place, html=(visit_place, depart_place))
    app.add_directive("claim", ClaimDirective)
    app.connect("doctree-read", give_ids)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
