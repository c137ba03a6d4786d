"""python -m tools.book: executed, the same bytes each time, run again only if code changed."""

import re
import shutil

import nbformat
import pytest
from tiny import make_book

from tools.book import freshness, labels
from tools.book import notebook as notebooks
from tools.book.chapters import Book

CHAPTER = """\
# Tiny

```{code-cell} ipython3
:tags: [hide-input]
x = 6 * 7
print(x)
```

Some prose.

```{code-cell} ipython3
x
```
"""


ask_sphinx = labels.load
FOUND = {"labels": {}, "docs": {}, "terms": {}, "cites": {}}  # numbers of a book without any


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    root = make_book(tmp_path_factory.mktemp("made"), tiny=CHAPTER)
    assert notebooks.main([], root) == 0
    return root, labels.load(Book(root))


@pytest.fixture
def book(made, tmp_path, monkeypatch):
    """A copy of a book whose notebook is up to date. Sphinx is not asked again for its numbers."""
    root, found = made
    monkeypatch.setattr(labels, "load", lambda book: found)
    return shutil.copytree(root, tmp_path / "book", symlinks=True)


@pytest.fixture
def never_execute(monkeypatch):
    def refuse(*_):
        raise AssertionError("executed again")

    monkeypatch.setattr(notebooks, "execute", refuse)


def edit(book, old, new):
    source = book / "book/tiny.md"
    text = source.read_text("utf-8")
    assert old in text
    source.write_text(text.replace(old, new), "utf-8")


def stored(book):
    return nbformat.read(book / "notebooks/tiny.ipynb", as_version=4)


def test_setup_cells_are_folded(book):
    edit(book, "[hide-input]\n", "[setup]\n# The answer\n")
    cells = notebooks.build(Book(book), Book(book).chapters[0], FOUND).cells
    (folded,) = (cell for cell in cells if "setup" in cell.metadata.get("tags", []))
    assert folded.metadata.jupyter == {"source_hidden": True}


QUESTION = "````{predict} pr:tiny\nQ?\n\n- [x] a\n\n  b\n\n- [ ] c\n\n  d\n````\n\n"
REVEAL = "```{reveal}\nSo.\n```\n\n"


@pytest.mark.parametrize(
    ("between", "end", "collapsed"),
    [
        ("", REVEAL, [True, True]),
        (REVEAL, "", [True, False]),
        (REVEAL, REVEAL, [True, True]),
        ("## A heading\n\n", REVEAL, [False, False]),
        (REVEAL + "## A heading\n\n", REVEAL, [True, False]),
        (QUESTION.replace(":tiny", ":more"), REVEAL, [False, True]),
    ],
)
def test_outputs_between_a_question_and_its_last_reveal_are_collapsed(
    between, end, collapsed, book
):
    edit(book, "# Tiny\n", f"# Tiny\n\n{QUESTION}")
    edit(book, "Some prose.", f"{between}Some prose.")
    text = (book / "book/tiny.md").read_text("utf-8")
    (book / "book/tiny.md").write_text(f"{text}\n\n{end}", "utf-8")
    made = notebooks.build(Book(book), Book(book).chapters[0], FOUND)
    nbformat.validate(made)
    code = [cell for cell in made.cells if cell.cell_type == "code"][1:]
    assert ["collapsed" in cell.metadata for cell in code] == collapsed
    assert ["outputs_hidden" in cell.metadata.get("jupyter", {}) for cell in code] == collapsed


def test_nothing_to_do(book, never_execute, capsys):
    assert notebooks.main([], book) == 0
    assert notebooks.main(["--check"], book) == 0
    assert capsys.readouterr().out == ""


def test_changed_prose_keeps_the_outputs(book, never_execute, capsys, monkeypatch):
    monkeypatch.setattr(labels, "load", ask_sphinx)
    outputs = [cell.get("outputs") for cell in stored(book).cells]
    edit(book, "Some prose.", "Other prose, see {doc}`notation`.")
    assert notebooks.main(["--check"], book) == 1
    assert "differs from book/tiny.md" in capsys.readouterr().out
    assert notebooks.main(["tiny"], book) == 0
    assert [cell.get("outputs") for cell in stored(book).cells] == outputs
    assert "Other prose, see [Notation](" in stored(book).cells[4].source
    assert notebooks.main(["--check"], book) == 0


def test_changed_code_is_executed_and_changed_back_gives_the_same_bytes(book, capsys):
    before = (book / "notebooks/tiny.ipynb").read_bytes()
    edit(book, "6 * 7", "6 * 8")
    assert notebooks.main(["--check"], book) == 1
    assert "stale (book/tiny.md changed): run make notebooks" in capsys.readouterr().out
    assert notebooks.main([], book) == 0
    assert stored(book).cells[3].outputs[0].text == "48\n"
    edit(book, "6 * 8", "6 * 7")
    assert notebooks.main([], book) == 0
    assert (book / "notebooks/tiny.ipynb").read_bytes() == before


def test_what_does_not_belong_together_is_told(book, monkeypatch, capsys):
    monkeypatch.setattr(freshness, "digest", lambda code: "other")
    (book / "notebooks/gone.ipynb").write_text("{}")
    assert notebooks.main(["--check"], book) == 1
    assert capsys.readouterr().out.splitlines() == [
        "notebooks/gone.ipynb has no chapter in _toc.yml: delete it",
        "notebooks/tiny.ipynb is stale (attention_src changed): run make notebooks",
    ]


FIGURE = "---\ntags: [hide-input]\nmystnb:\n  figure:\n    caption: Two words.\n---"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[hide-input]", "[setup]", r":\d+: a setup cell begins with a comment"),
        (":tags: [hide-input]", FIGURE, r":\d+: a cell's figure needs a caption and a name"),
        ("Some prose.", "Prose.\n\nA {nope}`role`.", r":24: role \{nope\} has no portable form"),
    ],
)
def test_errors_name_file_and_line(old, new, message, book, never_execute, capsys):
    edit(book, old, new)
    assert notebooks.main([], book) == 1
    assert re.match(rf"book/tiny\.md{message}", capsys.readouterr().out)


def test_a_failing_cell_names_its_chapter_and_keeps_the_old_notebook(book, capsys):
    before = (book / "notebooks/tiny.ipynb").read_bytes()
    edit(book, "print(x)", "print(1 / 0)")
    assert notebooks.main([], book) == 1
    out = capsys.readouterr().out
    assert out.startswith("book/tiny.md: ") and "ZeroDivisionError" in out
    assert (book / "notebooks/tiny.ipynb").read_bytes() == before
