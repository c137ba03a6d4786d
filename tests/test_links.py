"""Links outside the site lead somewhere: in README, CONTRIBUTING, docs/ and the notebooks. So do
paths. And each of those documents is short.

Inside the site, `make book` fails on a link, label, term or citation that does not resolve.
"""

import re
from pathlib import Path

import nbformat
import pytest

from tools.book.chapters import Book

BOOK = Book(Path(__file__).parents[1])
PAGES = [
    *(BOOK.root / name for name in ("README.md", "CONTRIBUTING.md", "AGENTS.md")),
    BOOK.root / "benchmarks/README.md",
    *sorted((BOOK.root / "docs").glob("*.md")),
]
WORDS = 900  # what somebody reads before a first change
FOLDERS = "attention_src|benchmarks|book|docs|tests|tools"
MARKDOWN = [
    *PAGES[:3],
    *(p for folder in FOLDERS.split("|") for p in (BOOK.root / folder).rglob("*.md")),
]


def name_of(page):
    return str(page.relative_to(BOOK.root))


def links(text):
    """The targets of the Markdown links, without those in code."""
    text = re.sub(r"^ *(`{3,}).*?^ *\1", "", text, flags=re.M | re.S)
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "code", text)
    return re.findall(r"\]\(([^()\s]*)\)", text)


def paths(text):
    """The files of the repository that are named in code; a * stands for any letters."""
    for code in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text):
        yield from re.findall(rf"(?<![\w./-])(?:{FOLDERS})/[\w./*-]*[\w*]\.\w+", code)


def slugs(text):
    """The anchors that GitHub gives to headings."""
    for heading in re.findall(r"^#+ (.+)$", text, re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def problem(page, target):
    """What is wrong with a link in a file of the repository; None if nothing is."""
    if re.match(r"[a-z]+:", target):
        return None  # another host: not fetched
    path, _, anchor = target.partition("#")
    place = page.parent / path if path else page
    if not place.exists():
        return f"{target}: no such file"
    if anchor and anchor not in slugs(place.read_text("utf-8")):
        return f"{target}: no such heading"
    return None


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_document_is_short(page):
    assert len(page.read_text("utf-8").split()) <= WORDS


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    targets = links(page.read_text("utf-8"))
    assert targets and [p for t in targets if (p := problem(page, t))] == []


def test_broken_links_are_found():
    text = "`[x](none.md)` [a](none.md), [b](#none)\n```\n[x](none.md)\n```\n[c](README.md#citing)"
    found = [p for t in links(text) if (p := problem(PAGES[0], t))]
    assert found == ["none.md: no such file", "#none: no such heading"]


@pytest.mark.parametrize("page", MARKDOWN, ids=name_of)
def test_files_named_in_code_exist(page):
    assert [path for path in paths(page.read_text("utf-8")) if not any(BOOK.root.glob(path))] == []


def test_files_that_do_not_exist_are_found():
    text = "`tools/none.py`, `python -m tools.book`, `tools/site/*.py`, ``tests/x.py``, tools/x.py"
    assert list(paths(text)) == ["tools/none.py", "tools/site/*.py"]
    named = {path for page in MARKDOWN for path in paths(page.read_text("utf-8"))}
    assert "attention_src/softmax/kernel.py" in named


@pytest.mark.parametrize("chapter", BOOK.chapters, ids=lambda chapter: chapter.slug)
def test_links_of_notebooks_lead_to_pages_and_files(chapter):
    cells = nbformat.read(chapter.notebook, as_version=4).cells
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    targets = links(text)
    assert BOOK.colab(chapter) in targets
    for url in (target.partition("#")[0] for target in targets):
        if url.startswith(BOOK.site):
            page = url.removeprefix(f"{BOOK.site}/").removesuffix(".html")
            assert page in {p.docname for p in BOOK.pages}, url
        else:
            assert re.match(r"https?://", url), f"{url}: a notebook may be opened anywhere"
