"""What readers take home runs alone, tests itself, and needs NumPy or PyTorch and nothing else."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.book.chapters import Book
from tools.book.take_away import files

FILES = {page.slug: text for page, text in files(Book(Path(__file__).parents[1]))}


def _marks(text):  # a process that loads PyTorch takes three seconds for that alone
    return [pytest.mark.slow] if "import torch" in text else []


@pytest.mark.parametrize(
    "text", [pytest.param(text, id=name, marks=_marks(text)) for name, text in FILES.items()]
)
def test_it_runs_alone(text, tmp_path):
    """In a folder where nothing else lies, without the course's package."""
    path = tmp_path / "alone.py"
    path.write_text(text, "utf-8")
    program = "import runpy, sys; sys.modules['attention_src'] = None; runpy.run_path(sys.argv[1])"
    command = [sys.executable, "-I", "-c", program, str(path)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_it_is_short_needs_little_and_tests_itself(text):
    assert len(text.splitlines()) <= 60
    nodes = list(ast.walk(ast.parse(text)))
    names = {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
    names |= {n.module for n in nodes if isinstance(n, ast.ImportFrom)}
    roots = {name.split(".")[0] for name in names}
    assert roots - sys.stdlib_module_names <= {"numpy", "torch"}
    assert any(isinstance(n, ast.Assert) for n in nodes)
    assert not re.search(r"\*\* ?-0\.5", text), "write / math.sqrt(d_k)"
