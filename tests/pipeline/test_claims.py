"""The ledger: each claim of the documents is decided by one cell, and its evidence is printed."""

import re

import pytest
from bs4 import BeautifulSoup
from tiny import FRONT, build, make_book, ran, store

from tools.book.chapters import Book, Chapter
from tools.book.claims import FILE, VERDICTS, claims_of, is_in
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
    chapter = Chapter(tmp_path, "book/page")
    store(chapter.notebook, ran("print(o)", output), ran("pass", "8.0 KeyError", "remove-cell"))
    chapter.path.parent.mkdir()
    cell = "```{{code-cell}} ipython3\n{}\n```\n\n"
    hidden = cell.format(":tags: [remove-cell]\nprint(8.0, KeyError)")
    chapter.path.write_text(f"{FRONT}# T\n\n{cell.format('print(o)')}{hidden}")
    (tmp_path / FILE).write_text(ENTRY, "utf-8")
    found = list(undecided(chapter))
    assert found == [f"book/page.md: claim 000-09: {fault}" for fault in faults]


def test_a_number_of_the_ledger_is_one_that_was_found():
    assert [is_in(word, "8.0") for word in ("8.0", "8", "0", "9")] == [True, False, False, False]


CELL = "```{code-cell} ipython3\nprint(8.0, 'KeyError')\n```\n\n"
PART = "```{code-cell} ipython3\nprint(8.0)\n```\n\n"  # of the evidence


@pytest.mark.slow
def test_on_the_site(tmp_path):
    """Cells have anchors, the table leads to them, and only one page shows a verdict."""
    pages = {
        "page": f"# C\n\n{PART}{CELL}{CELL}",
        "documents": f"# D\n\n{PART}## S\n\n{CELL}```{{claim}} 001-02\n```\n",
        "ledger": "# L\n\nOf {found}`000-09 8.0`.\n\n```{verdicts}\n```\n\n```{claims}\n```\n",
        "wrong": "# W\n\nOf {found}`000-09 9.0`.\n\n```{claim} 9\n```\n",
    }
    root = make_book(tmp_path, **pages)
    gone = ENTRY.replace("000-09", "003-01").replace("8.0", "9.0")
    home = ENTRY.replace("000-09", "001-02").replace('"page"', '"documents"\ntaught = "page"')
    (root / FILE).write_text(ENTRY + home + gone, "utf-8")
    for chapter in Book(root).chapters:
        store(chapter.notebook, *(ran(code, code) for code in chapter.code))
    printed = build(root, "-q", "-n")
    for said in ("'9.0' is not among what claim 000-09", "has no claim 9"):
        assert said in printed
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
