"""The ledger: each claim of the documents is decided by one cell, and its evidence is printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_notebook, new_output
from tiny import FRONT, make_book

from tools.book.chapters import Book, Chapter
from tools.book.claims import FILE, VERDICTS, Claim, claims_of, is_in
from tools.book.freshness import REPOSITORY
from tools.book.minutes import lessons
from tools.check.prose_numbers import undecided

# How many claims a survey found in each document; they are numbered from 1.
SURVEY = {"000": 69, "001": 11, "002": 8, "003": 30, "004": 12}
CHAPTERS = {chapter.slug: chapter for chapter in Book(REPOSITORY).chapters}
CLAIMS = claims_of(REPOSITORY)
ENTRY = """
[000-09]
verdict = "special case"
page = "page"
found = ['8.0', 'KeyError']
claim = 'It is $x$.'
remark = "If *one* adds 7.5."
"""


def test_every_claim_is_decided_once():
    assert list(CLAIMS) == [f"{key}-{i:02}" for key, n in SURVEY.items() for i in range(1, n + 1)]


def test_entries_say_what_they_must():
    """A verdict, evidence, a reason unless the claim holds, and who teaches the subject."""
    taught = {slug for one in lessons(Book(REPOSITORY)) for slug in (one.slug, f"labs/{one.slug}")}
    for claim in CLAIMS.values():
        assert claim.verdict in VERDICTS and claim.found and claim.claim
        assert claim.remark or claim.verdict == "holds"
        assert bool(claim.taught) == (claim.page == CHAPTERS["documents"].slug)
        assert (claim.taught or claim.page) in taught, claim.id


@pytest.mark.parametrize("slug", sorted({claim.page for claim in CLAIMS.values()}))
def test_the_evidence_is_printed(slug):
    assert not list(undecided(CHAPTERS[slug]))


def test_the_page_of_the_documents_shows_each_of_its_verdicts():
    shown = re.findall(r"\{claim\} (\S+)", CHAPTERS["documents"].text)
    assert sorted(shown) == [claim.id for claim in CLAIMS.values() if claim.taught]


@pytest.mark.parametrize(
    "output, faults",
    [
        ("o is 8.0 or 7.5, else KeyError", []),
        ("o is 8.0 or 7.5", ["no cell prints 8.0 | KeyError"]),
        ("o is 18.0 and 8.01, KeyError, 7.5", ["no cell prints 8.0 | KeyError"]),
        ("o is 8.0, else KeyError", ["7.5 is in no output and in no code of the page"]),
    ],
)
def test_evidence_that_is_gone_is_reported(tmp_path, output, faults):
    for folder in ("book", "notebooks"):
        (tmp_path / folder).mkdir()
    (tmp_path / FILE).write_text(ENTRY, "utf-8")
    cells = "```{{code-cell}} ipython3\n{}\n```\n\n"
    hidden = cells.format(":tags: [remove-cell]\nprint(8.0, KeyError)")
    (tmp_path / "book/page.md").write_text(f"{FRONT}# T\n\n{cells.format('print(o)')}{hidden}")
    outputs = [new_output("stream", name="stdout", text=output)]
    unseen = [new_output("stream", name="stdout", text="8.0 KeyError")]
    hidden = new_code_cell("pass", outputs=unseen, metadata={"tags": ["remove-cell"]})
    notebook = new_notebook(cells=[new_code_cell("print(o)", outputs=outputs), hidden])
    nbformat.write(notebook, tmp_path / "notebooks/page.ipynb")
    found = list(undecided(Chapter(tmp_path, "book/page")))
    assert found == [f"book/page.md: claim 000-09: {fault}" for fault in faults]


def test_the_first_cell_that_prints_it_all_decides_a_claim():
    claim = Claim("000-09", "holds", "page", ["8.0", "KeyError"], "It is 8.")
    assert claim.cell(["8.0", "KeyError", "8.0 KeyError", "KeyError: 8.0"]) == 2


@pytest.mark.parametrize(
    "word, listed",
    [("8.0", True), ("KeyError", True), ("8", False), ("0", False), ("9", False)],
)
def test_a_number_of_the_ledger_is_one_that_was_found(word, listed):
    assert any(is_in(word, text) for text in ["8.0", "KeyError"]) == listed


CELL = "```{code-cell} ipython3\nprint(8.0, 'KeyError')\n```\n\n"
NOTHING = "```{code-cell} ipython3\nprint('nothing')\n```\n\n"


@pytest.mark.slow
def test_on_the_site(tmp_path):
    """Cells have anchors, the table leads to them, and only one page shows a verdict."""
    pages = {
        "page": f"# C\n\n{NOTHING}{CELL}{CELL}",
        "documents": f"# D\n\n{NOTHING}## S\n\n{CELL}```{{claim}} 001-02\n```\n",
        "ledger": "# L\n\nOf {found}`000-09 8.0`.\n\n```{verdicts}\n```\n\n```{claims}\n```\n",
        "wrong": "# W\n\nOf {found}`000-09 9.0`.\n\n```{claim} 9\n```\n",
    }
    root = make_book(tmp_path, **pages)
    gone = ENTRY.replace("000-09", "003-01").replace("8.0", "9.0")
    home = ENTRY.replace("000-09", "001-02").replace('"page"', '"documents"\ntaught = "page"')
    (root / FILE).write_text(ENTRY + home + gone, "utf-8")
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-q", "-n"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1"}
    environment.pop("CI", None)  # there, pages without a notebook are refused
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    for said in ("'9.0' is not among what claim 000-09", "has no claim 9"):
        assert said in ran.stderr
    html = {name: (root / f"_build/html/book/{name}.html").read_text("utf-8") for name in pages}
    page, documents, ledger, _ = (BeautifulSoup(text, "html.parser") for text in html.values())
    anchor = page.find(id="claim-000-09")
    assert (anchor.find_parent("div", class_="cell") or anchor) == page.select("div.cell")[1]
    assert "special case" not in page.article.get_text().lower()
    anchor = documents.find(id="claim-001-02")
    assert (anchor.find_parent("section") or anchor).h2.get_text().startswith("S")
    shown = documents.select_one(".claim-decided")
    assert shown.get_text() == "Special case. If one adds 7.5. See C."
    assert shown.a["href"] == "page.html"

    number = next(a for a in ledger.article.select("p a") if a.get_text() == "8.0")
    assert number["href"] == "page.html#claim-000-09"
    rows = ledger.select(".ledger tbody tr")
    assert [row["id"] for row in rows] == ["claim-000-09", "claim-001-02", "claim-003-01"]
    links = [[a["href"] for a in row.select("a")] for row in rows[:2]]
    cells = ["page.html#claim-000-09", "documents.html#claim-001-02"]
    assert links == [["page.html", cell] for cell in cells]
    chosen = [{o["value"] for o in s.select("option")} - {""} for s in ledger.select("select")]
    assert len(chosen) == 3
    for row in rows:
        assert all(len(values & set(row["class"])) == 1 for values in chosen)
    counts = ledger.select(".claim-counts tbody tr")
    assert [cell.get_text().strip() for cell in counts[-1].select("td")] == ["all", *"110103"]
