"""python -m tools.book: executed, the same bytes each time, run again only if code changed."""

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


def test_setup_cells_are_folded_and_say_what_is_in_them(book):
    edit(book, "[hide-input]", "[setup]")
    chapter = Book(book).chapters[0]
    with pytest.raises(ValueError, match=r"tiny\.md:\d+: a setup cell begins with a comment"):
        notebooks.build(Book(book), chapter, FOUND)
    edit(book, "x = 6 * 7\n", "# The answer\nx = 6 * 7\n")
    cells = notebooks.build(Book(book), Book(book).chapters[0], FOUND).cells
    (folded,) = (cell for cell in cells if "setup" in cell.metadata.get("tags", []))
    assert folded.metadata.jupyter == {"source_hidden": True}


@pytest.mark.parametrize("has", ["caption: Two words.", "name: fig:tiny"])
def test_a_cells_figure_without_name_or_caption_stops_with_file_and_line(has, book):
    head = f"---\ntags: [hide-input]\nmystnb:\n  figure:\n    {has}\n---"
    edit(book, ":tags: [hide-input]", head)
    found = ask_sphinx(Book(book))
    with pytest.raises(
        ValueError, match=r"tiny\.md:\d+: a cell's figure needs a caption and a name"
    ):
        notebooks.build(Book(book), Book(book).chapters[0], found)


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


def test_changed_code_is_executed(book, capsys):
    edit(book, "6 * 7", "6 * 8")
    assert notebooks.main(["--check"], book) == 1
    assert "stale (book/tiny.md changed): run make notebooks" in capsys.readouterr().out
    assert notebooks.main([], book) == 0
    assert stored(book).cells[3].outputs[0].text == "48\n"


def test_an_edited_notebook_is_executed_again_to_the_same_bytes(book):
    path = book / "notebooks/tiny.ipynb"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"6 * 7", b"6 * 9"))
    assert notebooks.main(["--check"], book) == 1
    assert notebooks.main([], book) == 0
    assert path.read_bytes() == before


def test_a_change_of_the_package_is_seen(book, monkeypatch, capsys):
    monkeypatch.setattr(freshness, "digest", lambda code: "other")
    assert notebooks.main(["--check"], book) == 1
    assert "stale (attention_src changed): run make notebooks" in capsys.readouterr().out


def test_a_notebook_without_a_chapter(book, capsys):
    (book / "notebooks/gone.ipynb").write_text("{}")
    assert notebooks.main(["--check"], book) == 1
    assert "notebooks/gone.ipynb has no chapter" in capsys.readouterr().out


def test_an_unknown_chapter(book, capsys):
    with pytest.raises(SystemExit):
        notebooks.main(["nope"], book)
    assert "no such chapter: nope" in capsys.readouterr().err


def test_errors_name_file_and_line(book, capsys):
    edit(book, "Some prose.", "Some prose.\n\nA {nope}`role`.")
    line = 1 + (book / "book/tiny.md").read_text("utf-8").split("{nope}")[0].count("\n")
    assert notebooks.main([], book) == 1
    assert f"book/tiny.md:{line}: role {{nope}} has no portable form" in capsys.readouterr().out


def test_a_failing_cell_names_its_chapter_and_keeps_the_old_notebook(book, capsys):
    before = (book / "notebooks/tiny.ipynb").read_bytes()
    edit(book, "print(x)", "print(1 / 0)")
    assert notebooks.main([], book) == 1
    out = capsys.readouterr().out
    assert out.startswith("book/tiny.md: ") and "ZeroDivisionError" in out
    assert (book / "notebooks/tiny.ipynb").read_bytes() == before
