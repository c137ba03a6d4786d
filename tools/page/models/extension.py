"""Sphinx extension: writes models into _static, and tells what runs them where they are.

An element that runs a model is known by its beginning. Its data-model is then the folder's
address, seen from the page, and its data-mb what a first press fetches. Where the weights could not
be had, it has neither, and shows what it recorded, or why it cannot, or nothing.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from tools.page.models import smollm2, weights
from tools.page.reasons import CELL
from tools.site import cached

# How the elements begin that run a model, and what gives the bytes that the first press of each
# fetches. An explorable's style names it as well.
MINILM: dict[str, Callable[[Path], int]] = {
    '<div class="attention-explorable" data-explorable="sentence"': weights.weight,
    '<div class="attention-explorable" data-explorable="sentence72"': weights.weight,
    CELL: weights.whole,
}
SMOLLM2: dict[str, Callable[[Path], int]] = {'<div class="model-writes"': smollm2.weight}


def write_files(app: Sphinx, error: Exception | None) -> None:
    """Write the files of each model, and into each page that can use them where they are."""
    if error or app.builder.format != "html":
        return
    _tell_pages(Path(app.outdir), "minilm", weights.ready, MINILM)
    _tell_pages(Path(app.outdir), "smollm2", smollm2.ready, SMOLLM2)


def _tell_pages(
    out: Path, name: str, ready: Callable[[], Path], elements: dict[str, Callable[[Path], int]]
) -> None:
    pages = {page: page.read_text("utf-8") for page in out.rglob("*.html")}
    pages = {page: text for page, text in pages.items() if any(e in text for e in elements)}
    if not pages:
        return
    folder, served = None, out / "_static" / name
    try:
        made = ready()
        cached.copy(made, served)
        folder = served / made.name
    except cached.Unavailable as reason:
        print(f"The pages have no button to load {name}, since its weights are missing. {reason}")
        shutil.rmtree(served, ignore_errors=True)
    for page, text in pages.items():
        changed = text
        for element, size in elements.items():
            new = element
            if folder:
                address = Path(os.path.relpath(folder, page.parent)).as_posix()
                new += f' data-model="{address}/" data-mb="{size(folder) / 1e6:.0f}"'
            told = re.escape(element) + r'(?: data-model="[^"]*" data-mb="[^"]*")?'
            changed = re.sub(told, new, changed)
        if changed != text:
            page.write_text(changed, "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", write_files, priority=810)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
