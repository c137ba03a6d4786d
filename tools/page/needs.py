"""What a code cell needs that Python in the page has not, and so why it has no "Run here" button.

Nobody writes the reason down: it follows from what the cell imports, from the names that it uses,
and from what those needed where they were made.
"""

from __future__ import annotations

import ast
import functools
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.book.chapters import Chapter
from tools.book.freshness import REPOSITORY, plain
from tools.page.course import AVAILABLE, PACKAGE, at_import, package_files

# Of several reasons the first is told. What each says stands before a link to the notebook.
WORDS = {
    "explorable": "moves without Python",
    "processes": "starts processes",
    "triton": "needs Triton",
    "smollm2": "needs SmolLM2",
    "torch": "needs PyTorch",
    "time": "measures time",
    "packages": "reads packages",
    "file": "writes a file",
}
MINILM = "needs MiniLM"  # where the site could not get its weights
SETUP = "runs before the first cell"
ON_PAGE = {SETUP, WORDS["explorable"]}  # not for want of anything: no notebook is needed
# Modules that Python in the page has, or could have, but that cannot do their work there.
USES = {
    "subprocess": "processes",
    "multiprocessing": "processes",
    "torch.distributed": "processes",
    "torch.multiprocessing": "processes",
    "attention_src.ring.processes": "processes",
    "time": "time",
    "timeit": "time",
    "attention_src.timing": "time",
    "attention_src.explorables.explorable": "explorable",
    "importlib.metadata": "packages",
    "importlib.util": "packages",
    "tempfile": "file",
}
MODELS = "attention_src.models."
LOADS = MODELS + "install"  # what a model's loader imports
FIGURES = "attention_src.figures"  # has a stand-in

NOT_HERE = "notebook-only"  # the tag of a cell that cannot run in the page
DEFINES = (ast.FunctionDef, ast.ClassDef, ast.Assign, ast.Import, ast.ImportFrom)

Needs = frozenset[str]
NOTHING: Needs = frozenset()
IN_PAGE: Needs = frozenset({"minilm"})  # a page can have it, once a reader asks


@dataclass
class Cell:
    """A code cell: its source and tags, and why it has no button, "" if it has one.

    minilm: it has one where the site has MiniLM's weights, which it needs, directly or not
    """

    source: str
    tags: list[str]
    reason: str = ""
    minilm: bool = False

    @property
    def shown(self) -> bool:
        """Whether the page shows its code."""
        return not {"remove-cell", "remove-input"} & set(self.tags)

    @property
    def runs(self) -> bool:
        """Whether it has a button; without one run those that only prepare."""
        return self.shown and not {NOT_HERE, "setup"} & set(self.tags)


def cells(chapter: Chapter) -> list[Cell]:
    """The code cells of a chapter, in order."""
    known: dict[str, Needs] = {}
    maker: dict[str, Cell] = {}  # of each name: the last cell that made it
    found = []
    for read in chapter.read().cells:
        if read.cell_type != "code":
            continue
        cell = Cell(read.source, list(read.metadata.get("tags", [])))
        used, made = names(cell.source)
        if NOT_HERE in cell.tags:
            cell.reason = first_reason(needs(cell.source, known))
            if not cell.reason:  # a name may be missing for the reason of the cell that made it
                missing = [maker[n].reason for n in sorted(used - made) if n in maker]
                cell.reason = next(filter(None, missing), "")
        else:  # what it makes is there, if MiniLM is
            there = needs(cell.source, known) & IN_PAGE
            known.update(dict.fromkeys(made, there))
            cell.minilm = cell.runs and bool(there)
            cell.reason = SETUP if "setup" in cell.tags else ""
        maker.update(dict.fromkeys(made, cell))
        found.append(cell)
    for i, cell in enumerate(found):
        if NOT_HERE in cell.tags and not cell.reason:
            cell.reason = _reason_of_user(cell, found[i + 1 :])
    return found


def first_reason(found: Needs) -> str:
    """The words for the first of these needs."""
    return next((words for need, words in WORDS.items() if need in found), "")


def _reason_of_user(cell: Cell, later: list[Cell]) -> str:
    """Of a cell that does nothing but define: the reason of the first that uses what it defines."""
    tree = ast.parse(plain(cell.source))
    if not all(isinstance(s, DEFINES) for s in tree.body):
        return ""
    made = _names(tree)[1]
    users = (c for c in later if made & names(c.source)[0])
    return next((c.reason for c in users if c.reason), "")


def needs(code: str, known: dict[str, Needs]) -> Needs:
    """What a cell needs. `known` says it of names made above, and is told of those made here."""
    found: set[str] = set()
    for statement in ast.parse(plain(code)).body:
        here: set[str] = set()
        for node in ast.walk(statement):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for name, target in _imported(node):
                    known[name] = imports(target)
                    here |= known[name]
        used, made = _names(ast.Module([statement], []))
        here = here.union(*(known.get(name, NOTHING) for name in used))
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            known.update(dict.fromkeys(made, frozenset(here)))
        found |= here
    return frozenset(found)


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Each name that an import makes, and the dotted name of what it is."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, f"{node.module}.{alias.name}"
        else:
            yield alias.asname or alias.name.split(".")[0], alias.name


def names(code: str) -> tuple[set[str], set[str]]:
    """The names that a cell uses, and those that it makes or changes."""
    return _names(ast.parse(plain(code)))


def _names(code: ast.Module) -> tuple[set[str], set[str]]:
    """The names that code uses, and those that it makes or changes: x of `x = 1`, of `x[0] = 1`.

    Names inside a function, and those of a comprehension, count only if they come from outside.
    """
    table = symtable.symtable(ast.unparse(code), "cell", "exec")
    used = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    made = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    inner = list(table.get_children())
    while inner:
        scope = inner.pop()
        inner += scope.get_children()
        used |= {s.get_name() for s in scope.get_symbols() if s.is_global()}
    for node in ast.walk(code):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            made.add(ast.unparse(node).partition("[")[0].partition(".")[0])
    return used, made


@functools.cache
def imports(target: str) -> Needs:
    """What an imported module, or a name inside one, needs."""
    if target.startswith(FIGURES):
        return NOTHING
    used = {USES[module] for module in _and_parents(target) if module in USES}
    if not target.startswith(f"{PACKAGE}."):
        root = target.split(".")[0]
        return frozenset(used | ({root} - AVAILABLE))
    module = next(m for m in _and_parents(target) if m in _files())
    name = target.removeprefix(f"{module}.")
    if name in _lazy(module):
        return imports(_lazy(module)[name])
    reached = _reached(module, {module})
    for opened in reached:
        if opened.startswith(MODELS) and opened != LOADS and LOADS in _reached(opened, {opened}):
            used.add(opened.removeprefix(MODELS).split(".")[0])  # the model's name
    for parent in _and_parents(module):  # they are imported too
        reached |= _reached(parent, {parent})
    return frozenset(used | {name for name in reached - {PACKAGE} if "." not in name})


def _and_parents(dotted: str) -> Iterator[str]:
    """a.b.c, a.b, a"""
    while dotted:
        yield dotted
        dotted = dotted.rpartition(".")[0]


@functools.cache
def _files() -> dict[str, Path]:
    return package_files(REPOSITORY)


@functools.cache
def _imports_of(module: str) -> tuple[str, ...]:
    return tuple(at_import(ast.parse(_files()[module].read_text("utf-8"))))


@functools.cache
def _lazy(module: str) -> dict[str, str]:
    """The names that a module imports when they are asked for, and what they are.

    Such a module has a __getattr__, and says under TYPE_CHECKING what it gives.
    """
    body = ast.parse(_files()[module].read_text("utf-8")).body
    if "__getattr__" not in {getattr(node, "name", "") for node in body}:
        return {}
    inner = [node for part in body if isinstance(part, ast.If) for node in part.body]
    return {
        name: target
        for node in inner
        if isinstance(node, ast.ImportFrom)
        for name, target in _imported(node)
    }


def _reached(module: str, found: set[str]) -> set[str]:
    """The modules of the package that a module imports, directly or not, and the other packages."""
    for target in _imports_of(module):
        if target.split(".")[0] in AVAILABLE - {PACKAGE}:
            continue
        if not target.startswith(PACKAGE):
            found.add(target.split(".")[0])
            continue
        inner = next(m for m in _and_parents(target) if m in _files())
        if lazy := _lazy(inner).get(target.removeprefix(f"{inner}.")):
            inner = next(m for m in _and_parents(lazy) if m in _files())
        if inner not in found and not inner.startswith(FIGURES):
            found.add(inner)
            _reached(inner, found)
    return found
