"""What readers take home runs alone, tests itself, and needs NumPy or PyTorch and nothing else."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "take_away").glob("*.py"))
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def _marks(path):  # a process that loads PyTorch takes three seconds for that alone
    return [pytest.mark.slow] if "import torch" in path.read_text("utf-8") else []


@pytest.mark.parametrize("path", [pytest.param(p, id=p.stem, marks=_marks(p)) for p in FILES])
def test_it_runs_alone(path, tmp_path):
    """In a folder where nothing else lies, without the course's package."""
    program = "import runpy, sys; sys.modules['attention_src'] = None; runpy.run_path(sys.argv[1])"
    command = [sys.executable, "-I", "-c", program, str(path)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@each_file
def test_it_is_short_needs_little_and_tests_itself(path):
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= 60
    nodes = list(ast.walk(ast.parse(text)))
    names = {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
    names |= {n.module for n in nodes if isinstance(n, ast.ImportFrom)}
    roots = {name.split(".")[0] for name in names}
    assert roots - sys.stdlib_module_names <= {"numpy", "torch"}
    assert any(isinstance(n, ast.Assert) for n in nodes)
    assert not re.search(r"\*\* ?-0\.5", text), "write / math.sqrt(d_k)"
