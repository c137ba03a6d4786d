"""The part of attention_src that needs NumPy alone, as a zip for Python in the page.

A module goes in if what it imports when it is imported reaches nothing else: no PyTorch, no Triton.
Beside it stand slice.py and the stand-ins, for what a page has not. The same sources give the same
bytes.
"""

from __future__ import annotations

import ast
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

STANDINS = Path(__file__).parent / "standins"
NEEDED = Path(__file__).with_name("slice.py")  # which the page asks what to run
STOOD_IN = {path.stem for path in STANDINS.glob("[!_]*")}
PACKAGE = "attention_src"
AVAILABLE = {"numpy", PACKAGE} | STOOD_IN | sys.stdlib_module_names
ABSENT = "attention_src.explorables"  # they show HTML of a notebook


def at_import(tree: ast.AST) -> Iterator[str]:
    """The dotted names that a module imports when it is imported: not those inside functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from at_import(node)


def numpy_modules(root: Path) -> dict[str, Path]:
    """The modules under root/attention_src that need NumPy alone: dotted name to file."""
    files = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        files[".".join(parts).removesuffix(".__init__")] = path
    # A module also needs the package that it lies in.
    wants = {
        name: [name.rpartition(".")[0] or PACKAGE, *at_import(ast.parse(path.read_text("utf-8")))]
        for name, path in files.items()
    }
    good = {name for name in files if not name.startswith(ABSENT)}

    def there(target: str) -> bool:
        """Whether an import will work; the last part of `target` may be a name inside a module."""
        if target.split(".")[0] != PACKAGE:
            return target.split(".")[0] in AVAILABLE
        return target in good or (target not in files and target.rpartition(".")[0] in good)

    while bad := {name for name in good if not all(map(there, wants[name]))}:
        good -= bad
    return {name: files[name] for name in files if name in good}


def archive(root: Path) -> bytes:
    """The zip: these modules, the arrays, measurements and words beside them, and the stand-ins."""
    modules = numpy_modules(root).values()
    beside = [path for folder in {p.parent for p in modules} for path in folder.iterdir()]
    data = [path for path in beside if path.suffix in (".npz", ".json", ".txt")]
    files = {p.relative_to(root).as_posix(): p for p in [*modules, *data]}
    standins = [p for p in STANDINS.rglob("*") if p.suffix in (".py", ".json")]
    files |= {p.relative_to(STANDINS).as_posix(): p for p in standins}
    del files["__init__.py"]  # of the folder itself
    files[NEEDED.name] = NEEDED
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        for name, path in sorted(files.items()):
            entry = zipfile.ZipInfo(name)  # dated 1980
            made.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()
