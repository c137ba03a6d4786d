"""The ledger: each claim of the documents is decided by one cell, and its evidence is printed."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_notebook, new_output
from tiny import FRONT, make_book

from tools.book.chapters import Book, Chapter
from tools.book.claims import HOME, on_page, read
from tools.book.freshness import REPOSITORY
from tools.book.ledger import is_found
from tools.book.minutes import lessons
from tools.book.portable import Portable
from tools.check.claims import decided, undecided

# How many claims a survey found in each document; they are numbered from 1.
SURVEY = {"000": 69, "001": 11, "002": 8, "003": 30, "004": 12}
CHAPTERS = {chapter.slug: chapter for chapter in Book(REPOSITORY).chapters}
GOOD = ":verdict: special case\n:found: 8.0 | KeyError\n\nIt is 8.\n\nIf one adds."


def test_every_claim_is_decided_once():
    """By a cell of a chapter or of the page of the documents."""
    found = [claim.id for chapter in CHAPTERS.values() for claim, _ in decided(chapter)]
    assert sorted(found) == [f"{key}-{i:02}" for key, n in SURVEY.items() for i in range(1, n + 1)]


@pytest.mark.parametrize("slug", CHAPTERS)
def test_a_claim_says_where_its_subject_is_taught(slug):
    """The chapter itself, or the one that the page of the documents names."""
    chapter = CHAPTERS[slug]
    taught = {on_page(claim, chapter.docname).chapter for claim, _ in decided(chapter)}
    assert taught <= {lesson.slug for lesson in lessons(Book(REPOSITORY))} | {""}


@pytest.mark.parametrize("slug", CHAPTERS)
def test_the_evidence_is_printed(slug):
    assert not list(undecided(CHAPTERS[slug]))


def test_a_claim_is_read():
    claim = read("000-09", GOOD)
    assert (claim.verdict, claim.found) == ("special case", ["8.0", "KeyError"])
    assert (claim.text, claim.remark) == ("It is 8.", "If one adds.")


@pytest.mark.parametrize(
    "argument, content, message",
    [
        ("9", GOOD, "000-09; it is '9'"),
        ("005-01", GOOD, "it is '005-01'"),
        ("000-09", GOOD.replace("special case", "true"), "it is 'true'"),
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


AT_HOME = GOOD.replace("\n\n", "\n:chapter: softmax\n\n", 1)


def test_a_claim_names_a_chapter_on_the_page_of_the_documents_only():
    assert on_page(read("000-09", AT_HOME), HOME).chapter == "softmax"
    for content, page in ((GOOD, HOME), (AT_HOME, "book/softmax")):
        with pytest.raises(ValueError, match="':chapter:'"):
            on_page(read("000-09", content), page)


@pytest.mark.parametrize(
    "word, listed", [("8.0", True), ("KeyError", True), ("8", False), ("0", False), ("9", False)]
)
def test_a_number_of_the_ledger_is_one_that_was_found(word, listed):
    assert is_found(read("000-09", GOOD), word) == listed


def test_only_the_page_of_the_documents_shows_a_verdict(tmp_path):
    found = {"labels": {}, "docs": {"book/softmax": "Softmax"}, "terms": {}, "cites": {}}
    book = Book(make_book(tmp_path))
    for name, content in {"softmax": GOOD, "documents": AT_HOME}.items():
        page = Portable(book, f"book/{name}", found)
        shown = page.cell(f"Above.\n\n```{{claim}} 000-09\n{content}\n```\n\nBelow.", 1)
        link = f"[Softmax]({book.site}/book/softmax.html)"
        verdict = f"**Special case.** If one adds. See {link}.\n\n" * (name == "documents")
        assert shown == f"Above.\n\n{verdict}Below."


CELL = "```{code-cell} ipython3\nprint(8.0, 'KeyError')\n```\n\n"
CLAIM = f"```{{claim}} 000-09\n{GOOD}\n```\n\n"
OTHER = f"```{{claim}} 001-02\n{AT_HOME}\n```\n\n".replace("softmax", "chapter")
LEDGER = "# L\n\nOf {found}`000-09 8.0`.\n\n```{verdicts}\n```\n\n```{claims}\n```\n"


def built(root, **pages):
    """What a site of these pages says while it is built, and its pages."""
    make_book(root, **pages)
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-q", "-n"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1"}
    environment.pop("CI", None)  # there, pages without a notebook are refused
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    html = {name: (root / f"_build/html/book/{name}.html").read_text("utf-8") for name in pages}
    return ran.stderr, {name: BeautifulSoup(text, "html.parser") for name, text in html.items()}


@pytest.mark.slow
def test_on_the_site_a_claim_is_the_anchor_of_its_cell(tmp_path):
    said, soups = built(
        tmp_path,
        chapter=f"# C\n\n{CELL}{CELL}{CLAIM}Text.\n",
        documents=f"# D\n\n{CELL}## S\n\n{CELL}{OTHER}",
        ledger=LEDGER,
    )
    assert "is not among" not in said
    anchor = soups["chapter"].find(id="claim-000-09")
    cell = anchor.find_parent("div", class_="cell") or anchor
    assert cell == soups["chapter"].select("div.cell")[1]
    assert "special case" not in soups["chapter"].article.get_text().lower()
    anchor = soups["documents"].find(id="claim-001-02")
    assert (anchor.find_parent("section") or anchor).h2.get_text().startswith("S")
    shown = soups["documents"].select_one(".claim-decided")
    assert shown.get_text() == "Special case. If one adds. See C."
    assert shown.a["href"] == "chapter.html"


@pytest.mark.slow
def test_the_ledger_lists_all_claims_and_what_they_can_be_filtered_by(tmp_path):
    pages = {"chapter": CELL + CLAIM, "documents": CELL + OTHER}
    pages = {name: f"# {name}\n\n{text}" for name, text in pages.items()}
    wrong = LEDGER.replace("8.0", "9.0").replace("# L", "# W")
    said, soups = built(tmp_path, **pages, ledger=LEDGER, wrong=wrong)
    assert "'9.0' is not among what claim 000-09 has found" in said
    ledger = soups["ledger"]
    number = next(a for a in ledger.article.select("p a") if a.get_text() == "8.0")
    assert number["href"] == "chapter.html#claim-000-09"
    rows = ledger.select(".ledger tbody tr")
    assert [row["id"] for row in rows] == ["claim-000-09", "claim-001-02"]
    links = [[a["href"] for a in row.select("a")] for row in rows]
    cells = ["chapter.html#claim-000-09", "documents.html#claim-001-02"]
    assert links == [["chapter.html", cell] for cell in cells]
    chosen = [{o["value"] for o in s.select("option")} - {""} for s in ledger.select("select")]
    assert len(chosen) == 3
    for row in rows:
        assert all(len(values & set(row["class"])) == 1 for values in chosen)
    counts = ledger.select(".claim-counts tbody tr")
    assert [cell.get_text().strip() for cell in counts[-1].select("td")] == ["all", *"110002"]
