"""The parts of Python in the page: checked, the same on each build, and a build without them."""

import io
import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest
from page_cells import sources
from tiny import REPOSITORY, make_book

from tools.book.chapters import Book
from tools.page import course, pyodide

CHAPTERS = [chapter for chapter in Book(REPOSITORY).chapters if sources(chapter)]
NOWHERE = "http://127.0.0.1:9/"  # nothing answers there
MADE_OF = ["pyodide.py", "compile.mjs", "worker/worker.js", "product/product.wasm"]
MADE_OF += ["vendor/NOTICES.md", "vendor/MPL-2.0.txt"]


@pytest.mark.parametrize("name", MADE_OF)
def test_the_version_is_another_if_a_part_is(name, tmp_path, monkeypatch):
    there = shutil.copytree(pyodide.HERE, tmp_path / "there")
    monkeypatch.setattr(pyodide, "HERE", there)
    before = pyodide.version()
    with (there / name).open("a", encoding="utf-8") as file:
        file.write("\n")
    assert pyodide.version() != before


def test_what_is_in_the_cache_needs_no_network(tmp_path, monkeypatch):
    monkeypatch.setenv("npm_config_registry", NOWHERE)
    with pytest.raises(pyodide.Unavailable, match=NOWHERE):
        pyodide.ready(tmp_path)
    tarball = tmp_path / pyodide.TARBALL
    tarball.write_bytes(b"something else")
    with pytest.raises(pyodide.Unavailable, match=r"it should be 52ea0e97"):
        pyodide.ready(tmp_path)
    assert list(tmp_path.iterdir()) == [tarball], "nothing half made is left"
    (tmp_path / pyodide.version()).mkdir()
    assert pyodide.ready(tmp_path) == tmp_path / pyodide.version()


@pytest.mark.slow
def test_a_book_without_the_parts_builds_and_says_so(tmp_path):
    root = make_book(tmp_path / "book")
    code = (
        "import pathlib, sys; from tools.page import pyodide\n"
        f"pyodide.CACHE = pathlib.Path({str(tmp_path / 'cache')!r})\n"
        "from jupyter_book.cli.main import main; main()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, "build", ".", "-q", "-W", "-n", "--keep-going"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "npm_config_registry": NOWHERE},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "no button that needs py" in ran.stdout and NOWHERE in ran.stdout
    assert not (root / "_build/html/_static/py").exists()


def test_the_course_zip_holds_what_a_page_can_use():
    made = course.archive(REPOSITORY)
    assert made == course.archive(REPOSITORY), "the same sources give the same bytes"
    files = set(zipfile.ZipFile(io.BytesIO(made)).namelist())
    assert {"slice.py", "blas.py", "jaxtyping.py", "matplotlib/letters.json"} < files
    assert not files & {"attention_src/softmax/layer.py", "attention_src/softmax/kernel.py"}
    assert "__init__.py" not in files and not [name for name in files if name.endswith(".pyc")]


RUN = """
import json, sys, types
sys.path.insert(0, sys.argv[1])
sys.modules |= dict.fromkeys(("torch", "triton", "tokenizers", "beartype", "transformers"))
sys.modules["page"] = types.SimpleNamespace(figure=lambda *svgs: None, keep=lambda *what: None)
cells = {"__name__": "__main__"}
for code in json.load(sys.stdin):
    exec(compile(code, code, "exec"), cells)
ours = [m.__file__ for name, m in sys.modules.items() if name.startswith("attention_src")]
assert all(file.startswith(sys.argv[1]) for file in ours), ours
"""


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.slug)
def test_cells_with_a_button_need_no_more_than_the_page_has(chapter, tmp_path):
    """In all chapters, by this machine's Python: with the zip and NumPy, and the stand-ins."""
    zipfile.ZipFile(io.BytesIO(course.archive(REPOSITORY))).extractall(tmp_path)
    command, cells = [sys.executable, "-c", RUN, str(tmp_path)], json.dumps(sources(chapter))
    done = subprocess.run(command, input=cells, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_part_names_a_source_map():
    for path in pyodide.ready().glob("*.*js"):
        assert "sourceMappingURL" not in path.read_text("utf-8"), path.name
