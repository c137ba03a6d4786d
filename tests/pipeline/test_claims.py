"""The ledger: each claim of a written chapter is there, and its evidence is printed."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_notebook, new_output
from tiny import FRONT, make_book

from tools.book import Book, Chapter
from tools.check_claims import decided, undecided
from tools.freshness import REPOSITORY
from tools.instruments.claims import read
from tools.notebook.portable import Portable

# The claims that a survey of the documents found, by the chapter that decides them.
BELONG = {
    "history": "000-01 000-03 000-04 001-02 002-06 003-01 003-02 003-28",
    "retrieval": "000-08 000-09 000-13 003-29",
    "embeddings": "000-11 000-12 000-14 000-15 000-17",
    "scores": "000-16 000-18 000-20 003-03",
    "softmax": "000-10 000-21 000-22 000-23 000-24 000-25 002-05 003-09 003-11 003-13 003-15 "
    "003-16 003-17 003-18",
    "scaling": "000-19 000-28 000-29 000-30 000-31 000-32 001-05 001-06 001-07 003-05 003-06 "
    "003-07 003-10 004-05 004-06 004-08 004-09",
    "projections": "000-05 000-06 000-34 001-01 001-04 002-03 002-04 003-04 003-19 004-04",
    "masking": "000-43 000-44 000-46 002-07 003-22 003-23 003-24 003-25 003-26 003-27",
    "gradients": "003-12 004-07",
    "rope": "000-52 000-53 000-54 000-55",
    "gqa": "000-50 000-51",
    "maps": "000-26 000-27 000-35 000-36 000-37 000-38 000-39",
    "gpu": "000-49 000-68",
    "flash": "000-47 000-48 002-01",
    "costs": "000-64 000-66 000-69 001-11 003-21 004-10 004-11",
    "ssm": "000-58 000-59",
    "linear": "000-56 000-57 000-65 003-08 003-14 004-12",
    "longcontext": "000-67",
    "documents": "000-02 000-33 000-40 000-41 000-42 000-45 000-60 000-61 000-62 000-63 001-03 "
    "001-08 001-09 001-10 002-02 002-08 003-20 004-01 004-03",
    "llm": "000-07 003-30 004-02",
}
LATER = ()
CHAPTERS = {chapter.slug: chapter for chapter in Book(REPOSITORY).chapters}
GOOD = ":verdict: holds if\n:found: 8.0 | KeyError\n\nIt is 8.\n\nIf one adds."


@pytest.mark.parametrize("slug", [s for s in BELONG if s in CHAPTERS and s not in LATER])
def test_every_claim_of_a_chapter_is_decided_there(slug):
    assert sorted(claim.id for claim, _ in decided(CHAPTERS[slug])) == BELONG[slug].split()


@pytest.mark.parametrize("slug", CHAPTERS)
def test_the_evidence_is_printed(slug):
    assert not list(undecided(CHAPTERS[slug]))


def test_a_claim_is_read():
    claim = read("000-09", GOOD)
    assert (claim.verdict, claim.found) == ("holds if", ["8.0", "KeyError"])
    assert (claim.text, claim.remark) == ("It is 8.", "If one adds.")


@pytest.mark.parametrize(
    "argument, content, message",
    [
        ("9", GOOD, "000-09; it is '9'"),
        ("005-01", GOOD, "it is '005-01'"),
        ("000-09", GOOD.replace("holds if", "true"), "it is 'true'"),
        ("000-09", GOOD.replace("found", "seen"), r"not ':seen: 8.0 \| KeyError'"),
        ("000-09", GOOD.replace("\n\nIf one adds.", ""), "has 2 to 2 paragraphs"),
        ("000-09", GOOD + "\n\nMore.", "has 2 to 2 paragraphs"),
        ("000-09", GOOD.replace(":found: 8.0 | KeyError\n", ""), "needs ':found:'"),
    ],
)
def test_what_is_malformed_is_refused(argument, content, message):
    with pytest.raises(ValueError, match=message):
        read(argument, content)


@pytest.mark.parametrize(
    "output, missing",
    [
        ("o is 8.0, else KeyError", []),
        ("o is 8.0", ["KeyError"]),
        ("o is 18.0 and 8.01, KeyError", ["8.0"]),
        ("", ["8.0", "KeyError"]),
    ],
)
def test_evidence_that_is_gone_is_reported(tmp_path, output, missing):
    for folder in ("book", "notebooks"):
        (tmp_path / folder).mkdir()
    cells = "```{{code-cell}} ipython3\n{}\n```\n\n"
    hidden = cells.format(":tags: [remove-cell]\nprint(8.0, KeyError)")
    text = f"# T\n\n{cells.format('print(o)')}{hidden}```{{claim}} 000-09\n{GOOD}\n```\n"
    (tmp_path / "book/page.md").write_text(FRONT + text, encoding="utf-8")
    outputs = [new_output("stream", name="stdout", text=output)] if output else []
    notebook = [new_code_cell("print(o)", outputs=outputs), new_code_cell("print(8.0, KeyError)")]
    nbformat.write(new_notebook(cells=notebook), tmp_path / "notebooks/page.ipynb")
    found = [line.split("'")[1] for line in undecided(Chapter(tmp_path, "book/page"))]
    assert found == missing


def test_only_the_page_of_the_documents_shows_a_verdict(tmp_path):
    found = {"labels": {}, "docs": {}, "terms": {}, "cites": {}}
    text = f"Above.\n\n```{{claim}} 000-09\n{GOOD}\n```\n\nBelow."
    book = Book(make_book(tmp_path))
    pages = {name: Portable(book, f"book/{name}", found) for name in ("softmax", "documents")}
    assert pages["softmax"].cell(text, 1) == "Above.\n\nBelow."
    shown = pages["documents"].cell(text, 1).split("\n\n")[1]
    link = f"*[Claim 000-09]({book.site}/book/claims.html#claim-000-09)*"
    assert shown == f"**Holds if:** If one adds. ({link})"


CLAIM = f"```{{claim}} 000-09\n{GOOD}\n```\n\n"
CELL = "```{code-cell} ipython3\nprint(8.0)\n```\n\n"


def test_on_the_site_a_claim_is_the_anchor_of_its_cell(tmp_path):
    """The chapter says the same as that page, which comes first in the ledger."""
    pages = {
        "chapter": f"# C\n\n{CELL}{CELL}{CLAIM}Text.\n",
        "documents": f"# D\n\n{CELL}## S\n\n{CELL}{CLAIM}",
        "ledger": "# L\n\n```{claims}\n```\n",
    }
    root = make_book(tmp_path, **pages)
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-q", "-n"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1"}
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0 and "decided twice" not in ran.stderr, ran.stderr[-3000:]
    soups = {
        name: BeautifulSoup(
            (root / f"_build/html/book/{name}.html").read_text("utf-8"), "html.parser"
        )
        for name in pages
    }
    anchors = {name: soup.find(id="claim-000-09") for name, soup in soups.items()}
    cell = anchors["chapter"].find_parent("div", class_="cell") or anchors["chapter"]
    assert cell == soups["chapter"].select("div.cell")[1]
    assert "holds" not in soups["chapter"].article.get_text().lower()
    section = anchors["documents"].find_parent("section") or anchors["documents"]
    assert section.h2.get_text().startswith("S")
    assert "Holds if: If one adds." in soups["documents"].article.get_text()
    link = soups["ledger"].select_one(".claim-row a")
    assert link["href"] == "documents.html#claim-000-09"
