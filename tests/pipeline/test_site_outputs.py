"""The site shows the stored outputs, executes nothing, has no warnings, and refuses stale ones."""

import re
import shutil
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx.errors import ExtensionError
from tiny import SMALL, build, make_book

from tools.book import notebook as notebooks
from tools.site import outputs


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = make_book(tmp_path_factory.mktemp("site"), small=SMALL)
    assert notebooks.main([], root) == 0
    # A mark that no execution would print: what the site shows must come from the notebook.
    replace(root / "notebooks/small.ipynb", '"computed once', '"stored, not computed')
    return root


@pytest.fixture
def root(made, tmp_path):
    return shutil.copytree(made, tmp_path / "copy", symlinks=True)


def built(root, **environment):
    """What the build prints, and the page that it makes."""
    printed = build(root, "-W", "-n", "--keep-going", **environment)
    return printed, (root / "_build/html/book/small.html").read_text("utf-8")


def replace(path, old, new):
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")


@pytest.mark.slow
def test_the_page_shows_what_the_notebook_holds_and_then_what_changed(root):
    """Rebuilt in the same folder, as an author does."""
    printed, page = built(root, CI="true")
    assert "WARNING" not in printed and "Executing notebook" not in printed
    assert "stored, not computed" in page and "computed once" not in page

    notebook = (root / "notebooks/small.ipynb").read_text("utf-8")
    equations = re.findall(r'<span class="eqno">\((\d+)\)', page)
    assert equations == ["1"] == re.findall(r"\\tag\{(\d+)\}", notebook)
    for text in ("Theorem 1", "Exercise 1"):
        assert text in re.sub(r"<[^>]+>", "", page) and text in notebook
    anchors = set(re.findall(r"/book/small\.html#([^)\"\\]+)\)", notebook))
    assert len(anchors) == 3 and anchors <= set(re.findall(r'id="([^"]+)"', page))

    replace(root / "notebooks/small.ipynb", "stored, not", "changed, not")
    assert "changed, not computed" in built(root, CI="true")[1]


def fill_cache(root):
    """The step before a build that looks for stale chapters."""
    config = SimpleNamespace(nb_execution_mode="cache")
    outputs.fill_cache(SimpleNamespace(config=config, srcdir=root, outdir=root / "_build/html"))


def test_a_stale_chapter_stops_the_build(root, monkeypatch):
    monkeypatch.setenv("CI", "true")
    fill_cache(root)
    replace(root / "book/small.md", '"once"', '"twice"')
    with pytest.raises(ExtensionError, match=r"small\.ipynb is stale \(book/small\.md changed\)"):
        fill_cache(root)
    (root / "notebooks/small.ipynb").unlink()
    with pytest.raises(ExtensionError, match=r"small\.ipynb is missing: run make notebooks"):
        fill_cache(root)


def test_sentences_wrap_and_wide_tables_are_smaller():
    printed = ["words " * 30, "a  b" * 30, "a  b", "for x in y:\n    x()", "c d\nand 3 of 4"]
    blocks = [nodes.literal_block(text, text, classes=["output"]) for text in printed]
    page = new_document("page")
    page += [*blocks, nodes.literal_block("code", "code", classes=["x"])]
    outputs.mark_lines(None, page)
    kinds = [" ".join(block["classes"]) for block in page]
    assert kinds == ["output wraps", "output wide", "output", "output", "output wraps", "x"]
