"""Whether the stored outputs of a chapter still belong to its code.

A notebook stores a digest of its code cells and of the files of attention_src that they import,
directly or indirectly. While the digest is the same, the outputs are kept. Of a file, only its
behaviour counts: the syntax tree without comments, docstrings and imports inside functions. Those
imports are not followed either, since they load a kernel or a library on demand. A chapter that
runs a kernel imports it in a cell, so that its file counts. A drawing counts where it is drawn, and
an explorable, with its scripts, where it is shown.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat

from attention_src.explorables import bundling
from tools.book.chapters import Chapter

PACKAGE = "attention_src"
_DRAWN = re.compile(r'\bdraw\("(\w+)"')
_SHOWN = re.compile(r'\bexplorable\(\s*"(\w+)"')
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DOCUMENTED = (ast.Module, ast.ClassDef, *_FUNCTIONS)
_IMPORTS = (ast.Import, ast.ImportFrom)
REPOSITORY = Path(__file__).parents[2]


def digest(code: list[str]) -> str:
    """A fingerprint of a chapter's code cells and of what they import from attention_src."""
    parts = [cell.encode() for cell in code]
    for file in reached_files(code):
        parts.append(file.relative_to(REPOSITORY).as_posix().encode())
        parts.append(_meaning(file))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:20]


def _meaning(file: Path) -> bytes:
    """What counts in a file: the syntax tree of Python, the bytes of anything else."""
    if file.suffix != ".py":
        return file.read_bytes().replace(b"\r\n", b"\n")  # the same on every system
    return _parsed(file.read_text(encoding="utf-8"))[0]


@functools.cache  # most chapters reach the same files
def _parsed(text: str) -> tuple[bytes, list[Path]]:
    """What counts in a Python file with this text, and the files that it imports."""
    tree = ast.parse(text)
    _leave_out_words(tree)
    return _written(tree).encode(), _files(_imported(tree))


def _leave_out_words(node: ast.AST, *, inside: bool = False) -> None:
    """Take out docstrings, and imports inside functions (`inside` one already)."""
    if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
        del node.body[0]
    inside = inside or isinstance(node, _FUNCTIONS)
    body = getattr(node, "body", None)
    if inside and isinstance(body, list):
        body[:] = [x for x in body if not isinstance(x, _IMPORTS)]
    for part in _blocks(node):
        _leave_out_words(part, inside=inside)


def _blocks(node: ast.AST) -> Iterable[ast.AST]:
    """The statements of a block, and the parts of a statement that hold blocks."""
    holders = (ast.stmt, ast.ExceptHandler, ast.match_case)
    return (part for part in ast.iter_child_nodes(node) if isinstance(part, holders))


def _written(node: Any) -> str:
    """A syntax tree as text, without empty fields, which differ between versions of Python."""
    if isinstance(node, list):
        return f"[{','.join(map(_written, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [(name, x) for name, x in ast.iter_fields(node) if x is not None and x != []]
    return f"{type(node).__name__}({','.join(f'{name}={_written(x)}' for name, x in fields)})"


def why_stale(chapter: Chapter) -> str | None:
    """One line that says why a chapter's notebook is stale; None if it is fresh."""
    if not chapter.notebook.exists():
        return f"{chapter.notebook_name} is missing: run make notebooks"
    stored = nbformat.read(chapter.notebook, as_version=4)
    if own_code(stored) != chapter.code:
        return f"{chapter.notebook_name} is stale ({chapter.source} changed): run make notebooks"
    if stored.metadata.get("attention_digest") != digest(chapter.code):
        return f"{chapter.notebook_name} is stale ({PACKAGE} changed): run make notebooks"
    return None


def own_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The code cells that come from the chapter, without the generated set-up cell."""
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and "generated" not in cell.metadata.get("tags", [])
    ]


def own_code(notebook: nbformat.NotebookNode) -> list[str]:
    """The source of each of these cells."""
    return [cell.source for cell in own_cells(notebook)]


def reached_files(code: list[str]) -> list[Path]:
    """The files of attention_src that this code imports, directly or indirectly, draws or shows.

    Files beside a module that are not Python count as well.
    """
    found: set[Path] = set()
    todo = [f for cell in code for f in _files(_imported(ast.parse(plain(cell))))]
    drawn = {name for cell in code for name in _DRAWN.findall(cell)}
    todo += _files(f"{PACKAGE}.figures.drawings.{name}" for name in drawn)
    shown = {name for cell in code for name in _SHOWN.findall(cell)}
    todo += _files(f"{PACKAGE}.explorables.{name}" for name in shown)
    scripts = {"explorable", *(script for name in shown for script in bundling.scripts(name))}
    while todo:
        file = todo.pop()
        if file in found:
            continue
        found.add(file)
        todo += _parsed(file.read_text(encoding="utf-8"))[1]
    folders = {file.parent for file in found}
    beside = {f for folder in folders for f in folder.iterdir() if f.is_file()}
    data = {f for f in beside if f.suffix != ".py"}
    data = {f for f in data if f.parent != bundling.HERE or f.stem in scripts}
    return sorted(found | data)


def plain(cell: str) -> str:
    """A cell in which `pass` replaces IPython's magics and shell lines, so that it parses."""
    return re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", cell)


def _imported(tree: ast.Module) -> set[str]:
    """The names of the package that a piece of source code imports."""
    names: set[str] = set()
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        todo += _blocks(node)
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "modules are named in full"
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {f"{node.module}"}
    return {name for name in names if name.split(".")[0] == PACKAGE}


def _files(names: Iterable[str]) -> list[Path]:
    """ "a.b.c" → those of a/__init__.py, a/b/__init__.py and a/b/c.py that exist."""
    paths = {name.replace(".", "/") for name in names}
    paths |= {str(parent) for path in paths for parent in Path(path).parents} - {"."}
    files = {f"{path}{end}" for path in paths for end in (".py", "/__init__.py")}
    return [REPOSITORY / file for file in sorted(files) if (REPOSITORY / file).is_file()]


def tree(code: str) -> ast.Module:
    """The syntax tree of a cell, without IPython's magics; an empty one if it is not Python."""
    try:
        return ast.parse(plain(code))
    except SyntaxError:
        return ast.parse("")
