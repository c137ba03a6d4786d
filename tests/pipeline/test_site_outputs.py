"""The site shows the stored outputs, executes nothing, has no warnings, and refuses stale ones."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx.errors import ExtensionError
from tiny import REPOSITORY, SMALL, make_book

from tools.book import notebook as notebooks
from tools.site import outputs


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = make_book(tmp_path_factory.mktemp("site"), small=SMALL)
    assert notebooks.main([], root) == 0
    # A mark that no execution would print: what the site shows must come from the notebook.
    replace(root / "notebooks/small.ipynb", '"computed once', '"stored, not computed')
    return root


def build(root):
    """What the build prints, and the page that it makes."""
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    command = [jupyter_book, "build", ".", "-W", "-n", "--keep-going"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1"}
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    printed = ran.stdout + ran.stderr
    assert ran.returncode == 0, printed[-6000:]
    return printed, (root / "_build/html/book/small.html").read_text("utf-8")


def replace(path, old, new):
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")


@pytest.fixture(scope="module")
def page(made):
    printed, html = build(made)
    assert "WARNING" not in printed and "Executing notebook" not in printed
    return html


@pytest.fixture(scope="module")
def notebook(made):
    return (made / "notebooks/small.ipynb").read_text("utf-8")


@pytest.mark.slow
def test_stored_outputs_are_shown(page):
    assert "stored, not computed" in page
    assert "computed once" not in page


@pytest.mark.slow
def test_numbers_in_notebook_and_page_agree(notebook, page):
    equations = re.findall(r'<span class="eqno">\((\d+)\)', page)
    assert equations == ["1"] == re.findall(r"\\tag\{(\d+)\}", notebook)
    for text in ("Theorem 1", "Exercise 1"):
        assert text in re.sub(r"<[^>]+>", "", page) and text in notebook


@pytest.mark.slow
def test_links_of_the_notebook_lead_to_anchors_of_the_page(notebook, page):
    anchors = set(re.findall(r"/book/small\.html#([^)\"\\]+)\)", notebook))
    assert len(anchors) == 3
    assert anchors <= set(re.findall(r'id="([^"]+)"', page))


def fill_cache(root):
    """The step before a build that looks for stale chapters."""
    config = SimpleNamespace(nb_execution_mode="cache")
    outputs.fill_cache(SimpleNamespace(config=config, srcdir=root, outdir=root / "_build/html"))


def test_a_stale_chapter_stops_the_build(made, tmp_path):
    root = shutil.copytree(
        made, tmp_path / "stale", symlinks=True, ignore=shutil.ignore_patterns("_build")
    )
    fill_cache(root)
    replace(root / "book/small.md", '"once"', '"twice"')
    with pytest.raises(ExtensionError, match=r"small\.ipynb is stale \(book/small\.md changed\)"):
        fill_cache(root)
    (root / "notebooks/small.ipynb").unlink()
    with pytest.raises(ExtensionError, match=r"small\.ipynb is missing: run make notebooks"):
        fill_cache(root)


@pytest.mark.slow
def test_a_change_reaches_the_page(made, page):
    """Rebuilt in the same folder, as an author does."""
    replace(made / "notebooks/small.ipynb", "stored, not", "changed, not")
    assert "changed, not computed" in build(made)[1]


@pytest.mark.parametrize(
    "text, sentences",
    [
        ("one line of words\nand another, 3 of 4", True),
        ("n    time\n1    0.5", False),
        ("for x in y:\n    x()", False),
    ],
)
def test_sentences_are_told_from_columns_and_code(text, sentences):
    assert outputs.is_sentences(text) == sentences


def test_sentences_wrap_and_wide_tables_are_smaller():
    def printed(text, kind="output"):
        return nodes.literal_block(text, text, classes=[kind])

    page = new_document("page")
    page += [printed("words " * 30), printed("a  b" * 30), printed("a  b"), printed("c " * 50, "x")]
    outputs.mark_lines(None, page)
    kinds = [block["classes"] for block in page]
    assert kinds == [["output", "wraps"], ["output", "wide"], ["output"], ["x"]]
