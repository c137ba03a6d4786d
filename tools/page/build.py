"""Sphinx extension: writes Python for the page into _static/py, and tells the pages where it is.

A page with code cells loads run-here.js; data-python of its article says where the worker is. Where
the parts could not be had, that is empty, and the script does nothing.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from tools.page import course, pyodide
from tools.site import cached

ROOT = Path(__file__).parents[2]  # the course's code, also where another book is built


def write(out: Path) -> tuple[str, int]:
    """Write _static/py; give the worker's address in _static, and the bytes that a press fetches.

    Raises:
        pyodide.Unavailable: the parts are neither here nor to be fetched
    """
    folder = out / "_static" / "py"
    made = pyodide.ready()
    zipped = course.archive(ROOT)
    name = f"attention_src-{pyodide.sha256(zipped)[:8]}.zip"
    cached.copy(made, folder)
    for old in folder.glob("*.zip"):
        old.unlink()
    (folder / name).write_bytes(zipped)
    heard = pyodide.told(made) + len(zipped)
    address = f"py/{made.name}/worker.js?course=../{name}&amp;bytes={heard}"
    return address, pyodide.weight(made) + len(zipped)


def write_files(app: Sphinx, error: Exception | None) -> None:
    """Write the files, and into each page where they are."""
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    try:
        address, size = write(out)
    except pyodide.Unavailable as reason:
        print(f"The pages have no button to run code, since its parts are missing. {reason}")
        shutil.rmtree(out / "_static" / "py", ignore_errors=True)
        address, size = "", 0
    new = f'data-python="{address}" data-mb="{size / 1e6:.0f}"'
    for page in out.rglob("*.html"):
        text = page.read_text("utf-8")
        changed = re.sub(r'data-python="[^"]*" data-mb="[^"]*"', new, text)
        if changed != text:
            page.write_text(changed, "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", write_files, priority=800)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
