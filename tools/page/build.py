"""Sphinx extension: writes Python for the page, and models, into _static, and tells the pages.

An element that runs one is known by how it begins. After that stands where the parts are, and how
much a first press fetches. Where they could not be had nothing stands there: then no cell has a
button, and a model's element shows what it recorded, or why it cannot, or nothing.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from tools.page import course, pyodide
from tools.page.models import smollm2, weights
from tools.page.reasons import CELL
from tools.site import cached

ROOT = Path(__file__).parents[2]  # the course's code, also where another book is built
PYTHON = '<article class="bd-article"'
# How the elements begin that run a model, and what gives the bytes that the first press of each
# fetches. An explorable's style names it as well.
MINILM: dict[str, Callable[[Path], int]] = {
    '<div class="attention-explorable" data-explorable="sentence"': weights.weight,
    '<div class="attention-explorable" data-explorable="sentence72"': weights.weight,
    CELL: weights.whole,
}
SMOLLM2: dict[str, Callable[[Path], int]] = {'<div class="model-writes"': smollm2.weight}
# What an element was told by an earlier build.
TOLD = r'(?: data-(?:python|model)="[^"]*" data-mb="[^"]*")?'
STATIC = "{static}"  # stands for the address of _static, seen from a page


def write_files(app: Sphinx, error: Exception | None) -> None:
    """Write the files that some page needs, and into each page where they are."""
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    pages = {page: page.read_text("utf-8") for page in static.parent.rglob("*.html")}
    told: dict[str, str] = {}
    for name, write, begins in (
        ("py", python, [PYTHON]),
        ("minilm", partial(model, weights.ready, MINILM), MINILM),
        ("smollm2", partial(model, smollm2.ready, SMOLLM2), SMOLLM2),
    ):
        if any(begin in text for begin in begins for text in pages.values()):
            try:
                told |= write(static / name)
            except cached.Unavailable as reason:
                print(f"The pages have no button that needs {name}, which is missing. {reason}")
                shutil.rmtree(static / name, ignore_errors=True)
                told |= dict.fromkeys(begins, "")
    for page, text in pages.items():
        changed = text
        for begin, words in told.items():
            changed = re.sub(re.escape(begin) + TOLD, begin + words, changed)
        if changed != text:
            up = Path(os.path.relpath(static, page.parent)).as_posix()
            page.write_text(changed.replace(STATIC, up), "utf-8")


def python(folder: Path) -> dict[str, str]:
    """Write Python for the page; what to tell its element: the worker's address in _static."""
    made, zipped = pyodide.ready(), course.archive(ROOT)
    cached.copy(made, folder)
    for old in folder.glob("*.zip"):
        old.unlink()
    name = f"attention_src-{pyodide.sha256(zipped)[:8]}.zip"
    (folder / name).write_bytes(zipped)
    heard = pyodide.told(made) + len(zipped)
    address = f"py/{made.name}/worker.js?course=../{name}&amp;bytes={heard}"
    size = pyodide.weight(made) + len(zipped)
    return {PYTHON: f' data-python="{address}" data-mb="{size / 1e6:.0f}"'}


def model(
    ready: Callable[[], Path], sizes: dict[str, Callable[[Path], int]], folder: Path
) -> dict[str, str]:
    """Write a model's files; what to tell each element: their folder, seen from the page."""
    made = ready()
    cached.copy(made, folder)
    address = f"{STATIC}/{folder.name}/{made.name}/"
    return {
        begin: f' data-model="{address}" data-mb="{size(made) / 1e6:.0f}"'
        for begin, size in sizes.items()
    }


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", write_files, priority=800)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
