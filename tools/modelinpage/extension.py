"""Sphinx extension: writes a model into _static/minilm, and tells the explorables where it is.

An explorable that can run the model says so in its data-explorable. Its data-model is then the
folder's address, seen from the page, and its data-mb what a first press fetches. Where the weights
could not be had, it has neither, and shows what it recorded.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from tools.modelinpage import weights
from tools.site import made_once

# The beginning of its element; its style names it as well.
RUNS_IT = '<div class="attention-explorable" data-explorable="sentence72"'
TOLD = re.compile(RUNS_IT + r'(?: data-model="[^"]*" data-mb="[^"]*")?')


def write(out: Path) -> tuple[Path, int]:
    """Write _static/minilm; give the folder of the model, and the bytes that a press fetches.

    Raises:
        weights.Unavailable: they are neither here nor to be fetched
    """
    made = weights.ready()
    folder = out / "_static" / "minilm"
    made_once.copy(made, folder)
    return folder / made.name, weights.weight(made)


def write_files(app: Sphinx, error: Exception | None) -> None:
    """Write the files, and into each page that can use them where they are."""
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    pages = {page: page.read_text("utf-8") for page in out.rglob("*.html")}
    pages = {page: text for page, text in pages.items() if RUNS_IT in text}
    if not pages:
        return
    try:
        folder, size = write(out)
    except weights.Unavailable as reason:
        print(f"The pages have no button to load a model, since its weights are missing. {reason}")
        shutil.rmtree(out / "_static" / "minilm", ignore_errors=True)
        folder, size = None, 0
    for page, text in pages.items():
        new = RUNS_IT
        if folder:
            address = Path(os.path.relpath(folder, page.parent)).as_posix()
            new += f' data-model="{address}/" data-mb="{size / 1e6:.0f}"'
        if (changed := TOLD.sub(new, text)) != text:
            page.write_text(changed, "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", write_files, priority=810)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
