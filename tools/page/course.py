"""The part of attention_src that a page can use, as a zip for Python in the page.

A module stays out if its first lines import what no page has, PyTorch, Triton or the like. Some
others import such a module, and fail in the page as they would there with PyTorch missing. Beside
them stand slice.py and the stand-ins, for what a page has not. The same sources give the same
bytes.
"""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

STANDINS = Path(__file__).parent / "standins"
NEEDED = Path(__file__).with_name("slice.py")  # which the page asks what to run
PACKAGE = "attention_src"
ABSENT = re.compile(r"(?m)^(?:import|from) (?:torch|triton|tokenizers|beartype|pytest)\b")


def modules(root: Path) -> list[Path]:
    """The modules under root/attention_src that go in."""
    found = (root / PACKAGE).rglob("*.py")
    return [path for path in found if not ABSENT.search(path.read_text("utf-8"))]


def archive(root: Path) -> bytes:
    """The zip: these modules, the arrays, measurements and words beside them, and the stand-ins."""
    code = modules(root)
    beside = [path for folder in {p.parent for p in code} for path in folder.iterdir()]
    data = [path for path in beside if path.suffix in (".npz", ".json", ".txt")]
    files = {p.relative_to(root).as_posix(): p for p in [*code, *data]}
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
