"""What cells of the page need, as their tags say: held against their code, and by running them."""

import ast
import os
import sys

import pytest
from page_cells import names

from tools.book.chapters import Book
from tools.book.freshness import REPOSITORY
from tools.page import needs, reasons

BOOK = Book(REPOSITORY)
FOLDS = {"hide-input", "hide-cell", "hide-output", "remove-cell", "remove-input"}
OTHERS = FOLDS | {"slow", "take-away", "minilm"}
NOT_HERE = ("torch", "triton", "transformers")  # in the page's Python
LACKING = {"needs-torch", "needs-triton", "needs-smollm2"}
FEW = ("scores", "gradients", "costs")
each_page = pytest.mark.parametrize("page", BOOK.chapters, ids=lambda page: page.slug)


@pytest.mark.parametrize(
    ("tags", "reason", "runs", "minilm"),
    [
        (["hide-input", "slow"], "", True, False),
        (["hide-input", "explorable"], "moves without Python", False, False),
        (["minilm"], "", True, True),
        (["remove-cell"], "", False, False),
    ],
)
def test_a_tag_decides(tags, reason, runs, minilm):
    cell = needs.Cell("x = 1", tags)
    assert (cell.reason, cell.runs, cell.minilm) == (reason, runs, minilm)


@each_page
def test_every_tag_is_known(page):
    for cell in needs.cells(page):
        assert set(cell.tags) <= OTHERS | needs.WORDS.keys(), cell.source


@each_page
def test_what_was_computed_with_minilm_is_tagged_so(page):
    made = set()
    for cell in needs.cells(page):
        uses, makes = names(cell.source)
        if cell.runs:
            touches = "models.minilm import" in cell.source and "sentences" not in cell.source
            assert cell.minilm or not (touches or uses & made - makes), cell.source
            made = made | makes if cell.minilm else made - makes


def lacks_it_later(code):
    """Whether it makes functions, acts on a condition, or says itself that Triton is not there."""
    quiet = ast.FunctionDef | ast.ClassDef | ast.If
    only = all(isinstance(part, quiet) for part in ast.parse(code).body)
    return only or "where_triton_compiles" in code


def runs(code, there):
    """Whether a cell runs in a process that branches off."""
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            exec(compile(code, "cell", "exec"), there)
        except Exception:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="tries each cell in a process of its own")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if page.slug in FEW else pytest.mark.weekly, id=page.slug)
        for page in BOOK.chapters
    ],
)
def test_a_cell_that_lacks_something_does_not_run_without_it(page, monkeypatch):
    parts = [name for name in sys.modules if name.split(".")[0] in NOT_HERE]
    for name in {*NOT_HERE, *parts}:
        monkeypatch.setitem(sys.modules, name, None)
    there = {"__name__": "__main__"}
    for cell in needs.cells(page):
        if cell.runs or cell.reason == needs.WORDS["setup"]:
            exec(compile(cell.source, "cell", "exec"), there)
        elif LACKING & set(cell.tags) and cell.shown and not lacks_it_later(cell.source):
            assert not runs(cell.source, there), cell.source


@each_page
def test_what_runs_uses_nothing_that_only_other_cells_make(page):
    made_elsewhere, here = set(), set()
    for cell in needs.cells(page):
        used, made = names(cell.source)
        if cell.runs or cell.reason == needs.WORDS["setup"]:
            assert not (used - here - made) & made_elsewhere, cell.source
            here |= made
        else:
            made_elsewhere |= made


def test_the_line_links_to_the_notebook_where_that_helps():
    link = reasons.notebook(BOOK, BOOK.chapters[1])
    assert "colab" in link and BOOK.chapters[1].notebook_name in link
    assert reasons.line("needs Triton", link) == f'<p class="run-why">needs Triton: {link}</p>'
    assert "<a" not in reasons.line("moves without Python", link)
    minilm = reasons.model_line(link)
    assert minilm.startswith(reasons.CELL) and minilm.endswith(f">needs MiniLM: {link}</p>")
