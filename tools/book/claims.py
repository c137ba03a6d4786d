"""book/claims.toml: every claim of the source documents, and the cell that decides it.

    [000-13]                          the document's number, and the claim's
    verdict = "special case"
    page = "retrieval"                the first cell of this page that prints all of `found`
    found = ['any length: dot 0.32']      decides the claim
    claim = 'Attention is a soft look-up of the nearest neighbour.'
    remark = 'If all keys have one length.'

Most chapters say nothing of a claim: their reader has never seen the documents. Claims that no
chapter needs are decided on the page of the documents, which shows what came out; such an entry
names the chapter that teaches the subject, `taught = "equation"`. Pages write

    ```{claim} 000-02
    ```                       its verdict and remark, on the page of the documents
    ```{verdicts}
    ```                       how many claims of each document got which verdict
    ```{claims}
    ```                       all of them in a table, to filter by verdict, document and chapter
    {found}`000-31 1.68`      1.68, part of what that claim's cell prints, with a link to the cell
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import tomllib
from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from tools.book.chapters import Book
from tools.book.directive import Checking, Directive, Page
from tools.book.quiz import parsed

FILE = "book/claims.toml"
HOME = "book/documents"  # decides the claims that no chapter needs, and shows the verdicts
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
_TAG = re.compile(r"<[^>]+>")
FILTER = '<div class="ledger-filter">{}<output class="ledger-count"></output></div>'
LEDGER = """\
````{list-table}
:class: ledger
:header-rows: 1

* - number
  - the claim, and what was found
  - verdict
  - chapter
"""
ROW = """\
* - {claim.id}
  - {claim.claim}

    {claim.remark}
  - {claim.verdict}
  - {{doc}}`/{claim.chapter}`

    <a class="reference internal" href="{address}">the cell</a>
"""


@dataclass(frozen=True)
class Claim:
    """One entry of the file."""

    id: str
    verdict: str
    page: str
    found: list[str]
    claim: str
    remark: str = ""
    taught: str = ""

    @property
    def anchor(self) -> str:
        return f"claim-{self.id}"

    @property
    def chapter(self) -> str:
        """The page that teaches the subject."""
        return f"book/{self.taught or self.page}"

    def cell(self, printed: Sequence[str]) -> int | None:
        """The number of the cell that decides it, of cells that print this; None if none does."""
        decide = (i for i, text in enumerate(printed) if all(is_in(w, text) for w in self.found))
        return next(decide, None)


def claims_of(root: str | Path) -> dict[str, Claim]:
    """All claims of the book in `root`, by their numbers."""
    file = Path(root, FILE)
    entries = tomllib.loads(file.read_text("utf-8")) if file.exists() else {}
    return {number: Claim(number, **entry) for number, entry in sorted(entries.items())}


def claim_of(root: str | Path, number: str) -> Claim:
    claims = claims_of(root)
    if number not in claims:
        raise ValueError(f"{FILE} has no claim {number}")
    return claims[number]


def is_in(word: str, text: str) -> bool:
    """Whether a text holds a word, not as a part of a longer number."""
    return re.search(rf"(?<![\d.]){re.escape(word)}(?!\.?\d)", text) is not None


def give_ids(app: Sphinx, doctree: nodes.document) -> None:
    """Let the ledger's links lead to the cell that decides a claim; at home, to its section."""
    docname = app.env.docname
    claims = [c for c in claims_of(app.srcdir).values() if f"book/{c.page}" == docname]
    if not claims:
        return
    app.env.note_dependency(FILE)
    cells = [n for n in doctree.findall(nodes.Element) if n.get("nb_element") == "cell_code"]
    printed = [_printed(cell) for cell in cells]
    for claim in claims:
        number = claim.cell(printed)  # `python -m tools.check` says if there is none
        if number is not None:
            cell = cells[number]
            (cell.parent if docname == HOME else cell)["ids"].append(claim.anchor)


def _printed(cell: nodes.Element) -> str:
    outputs = [n for n in cell.findall(nodes.Element) if n.get("nb_element") == "cell_code_output"]
    return "\n".join(_TAG.sub(" ", output.astext()) for output in outputs)


class ClaimDirective(Checking):
    required_arguments = 1

    def made(self) -> list[nodes.Node]:
        self.env.note_dependency(FILE)
        claim = claim_of(self.env.srcdir, self.arguments[0])
        line = nodes.paragraph("", classes=["claim-decided", css_class(claim)])
        line += self.state.inline_text(decided(claim), self.lineno)[0]
        return [line]


def decided(claim: Claim) -> str:
    """What the page of the documents says below the cell."""
    said = claim.verdict[0].upper() + claim.verdict[1:]
    return " ".join(filter(None, [f"**{said}.**", claim.remark, f"See {{doc}}`{claim.taught}`."]))


def css_class(claim: Claim) -> str:
    return f"claim-{_slug(claim.verdict)}"


class VerdictsDirective(SphinxDirective):
    def run(self) -> Sequence[nodes.Node]:
        self.env.note_dependency(FILE)
        count: Counter[tuple[str, str]] = Counter()
        for claim in claims_of(self.env.srcdir).values():
            for document in (claim.id[:3], "all"):
                count.update([(document, claim.verdict), (document, "all")])
        columns = [*DOCUMENTS, "all"]
        rows = [["verdict", *columns], ["---"] * (1 + len(columns))]
        for verdict in [*VERDICTS, "all"]:
            rows.append([verdict, *(str(count[document, verdict]) for document in columns)])
        lines = "".join(f"| {' | '.join(row)} |\n" for row in rows)
        return parsed(self, f"```{{table}}\n:class: claim-counts\n\n{lines}```", 0)


class ClaimsDirective(SphinxDirective):
    """The filter, and a row for each claim."""

    def run(self) -> Sequence[nodes.Node]:
        self.env.note_dependency(FILE)
        claims = claims_of(self.env.srcdir).values()
        taught = {claim.chapter for claim in claims}
        chapters = [page for page in Book(Path(self.env.srcdir)).pages if page.docname in taught]
        bar = [
            _select("Verdict", {f"claim-{_slug(verdict)}": verdict for verdict in VERDICTS}),
            _select("Document", {f"document-{number}": name for number, name in DOCUMENTS.items()}),
            _select("Chapter", {f"chapter-{_slug(c.docname)}": c.title for c in chapters}),
        ]
        lines = [ROW.format(claim=claim, address=_address(self.env, claim)) for claim in claims]
        table = parsed(self, LEDGER + "".join(lines) + "````", 0)
        for claim, row in zip(claims, list(table[0].findall(nodes.row))[1:], strict=True):
            row["ids"].append(claim.anchor)
            of = [f"document-{claim.id[:3]}", f"chapter-{_slug(claim.chapter)}"]
            row["classes"] += [css_class(claim), *of]
        return [nodes.raw("", FILTER.format("".join(bar)), format="html"), *table]


def _select(name: str, choices: dict[str, str]) -> str:
    options = {"": "all", **choices}
    made = [f'<option value="{value}">{escape(text)}</option>' for value, text in options.items()]
    return f"<label>{name}<select>{''.join(made)}</select></label>"


def found(
    name: str, raw: str, text: str, line: int, inliner: Inliner, *_: object
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """A number of a claim: "000-31 1.68"."""
    env = inliner.document.settings.env
    env.note_dependency(FILE)
    number, _space, word = text.partition(" ")
    claim = claims_of(env.srcdir).get(number)
    if claim is None or not any(is_in(word, each) for each in claim.found):
        said = f"{word!r} is not among what claim {number} has found"
        return [], [inliner.reporter.error(said, line=line)]
    return [nodes.reference("", word, refuri=_address(env, claim), internal=True)], []


def _address(env: BuildEnvironment, claim: Claim) -> str:
    """The address of the cell that decides a claim."""
    uri = env.app.builder.get_relative_uri(env.docname, f"book/{claim.page}")
    return f"{uri}#{claim.anchor}"


def _slug(words: str) -> str:
    return words.rsplit("/", 1)[-1].replace(",", "").replace(" ", "-")


def _portable(page: Page, d: Directive) -> str:
    return page.inline(decided(claim_of(page.book.root, d.argument)), d.line)


FORMS = {"claim": _portable}


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("claim", ClaimDirective)
    app.add_directive("verdicts", VerdictsDirective)
    app.add_directive("claims", ClaimsDirective)
    app.add_role("found", found)
    app.connect("doctree-read", give_ids)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
