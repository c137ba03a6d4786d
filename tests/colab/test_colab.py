"""The promise of the Colab badge: the set-up cell fetches the course, and the notebook runs.

A notebook runs from its first cell to its last in a fresh environment that has Colab's versions and
nothing of the course. Its own set-up cell installs the package with pip from the public address,
which git redirects to this repository.

The first notebook does; of the others, what they import is tried. nbval runs them all, with newer
versions; once a week all run here, and in Colab's own image (`make colab`).
"""

import ast

import nbformat
import pytest
from nbclient import NotebookClient

from tools.book.chapters import Book
from tools.book.freshness import REPOSITORY

CHAPTERS = Book(REPOSITORY).chapters
EACH = [
    pytest.param(chapter, id=chapter.slug, marks=pytest.mark.weekly if i else ())
    for i, chapter in enumerate(CHAPTERS)
]
OURS = ("attention_src", "jaxtyping", "wadler_lindig")


def code_cells(chapter):
    notebook = nbformat.read(chapter.notebook, as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture
def bare(colab):
    """Nothing of the course is installed; a model that an earlier notebook fetched may stay."""
    if colab.has("attention_src"):
        colab.forget(*OURS)
    assert not any(colab.has(name) for name in OURS)
    return colab


@pytest.mark.slow
@pytest.mark.parametrize("chapter", EACH)
def test_the_notebook_installs_the_course_and_runs_to_its_end(chapter, bare, tmp_path):
    notebook = nbformat.read(chapter.notebook, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    before = bare.versions()
    NotebookClient(
        notebook, timeout=1800, kernel_name="colab", resources={"metadata": {"path": tmp_path}}
    ).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    said = "".join(output.get("text", "") for output in code[0].outputs)
    assert "Installing the course's package" in said
    assert all(bare.has(name) for name in OURS)
    assert bare.versions() == before


def imports(chapter):
    """The import statements of a notebook, those inside functions included."""
    trees = [ast.parse(cell.source) for cell in code_cells(chapter)]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    return {ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)}


@pytest.mark.slow
def test_the_set_up_brings_what_any_notebook_imports(bare):
    bare.run("-c", code_cells(CHAPTERS[0])[0].source)
    wanted = sorted(set().union(*map(imports, CHAPTERS)))
    assert len(wanted) > len(CHAPTERS)
    bare.run("-c", "\n".join(wanted))
