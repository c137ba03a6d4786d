"""The promise of the Colab badge: the set-up cell fetches the course, and the notebook runs.

Each notebook runs from its first cell to its last in a fresh environment that has Colab's versions
and nothing of the course. Its own set-up cell installs the package with pip from the public
address, which git redirects to this repository.
"""

import nbformat
import pytest
from nbclient import NotebookClient

from tools.book import Book
from tools.freshness import REPOSITORY

CHAPTERS = Book(REPOSITORY).chapters
OURS = ("attention_src", "jaxtyping", "wadler_lindig")


@pytest.fixture
def bare(colab):
    """Nothing of the course is installed; a model that an earlier notebook fetched may stay."""
    if colab.has("attention_src"):
        colab.forget(*OURS)
    assert not any(colab.has(name) for name in OURS)
    return colab


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.slug)
def test_the_notebook_installs_the_course_and_runs_to_its_end(chapter, bare, tmp_path):
    notebook = nbformat.read(chapter.notebook, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    before = bare.versions()
    NotebookClient(
        notebook, timeout=300, kernel_name="colab", resources={"metadata": {"path": tmp_path}}
    ).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    said = "".join(output.get("text", "") for output in code[0].outputs)
    assert "Installing the course's package" in said
    assert all(bare.has(name) for name in OURS)
    assert bare.versions() == before
