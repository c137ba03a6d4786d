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
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

from tools.page.models import smollm2, weights
from tools.page.reasons import CELL
from tools.site import cached


@dataclass(frozen=True)
class Model:
    """A model: its name, what makes its files, and how the elements begin that run it.

    With each beginning stands what gives the bytes that its first press fetches.
    """

    name: str
    maker: ModuleType
    elements: dict[str, Callable[[Path], int]]  # an explorable's style names its own as well


MINILM = Model(
    "minilm",
    weights,
    {
        '<div class="attention-explorable" data-explorable="sentence"': weights.weight,
        '<div class="attention-explorable" data-explorable="sentence72"': weights.weight,
        CELL: weights.whole,
    },
)
SMOLLM2 = Model("smollm2", smollm2, {'<div class="model-writes"': smollm2.weight})


def write(out: Path, model: Model = MINILM) -> Path:
    """Write _static/<name>; give the folder of the model.

    Raises:
        cached.Unavailable: the weights are neither here nor to be fetched
    """
    made = model.maker.ready()
    folder = out / "_static" / model.name
    cached.copy(made, folder)
    return folder / made.name


def write_files(app: Sphinx, error: Exception | None) -> None:
    """Write the files of each model, and into each page that can use them where they are."""
    if error or app.builder.format != "html":
        return
    for model in (MINILM, SMOLLM2):
        _tell_pages(Path(app.outdir), model)


def _tell_pages(out: Path, model: Model) -> None:
    pages = {page: page.read_text("utf-8") for page in out.rglob("*.html")}
    pages = {page: text for page, text in pages.items() if any(e in text for e in model.elements)}
    if not pages:
        return
    folder = None
    try:
        folder = write(out, model)
    except cached.Unavailable as reason:
        said = f"The pages have no button to load {model.name}, since its weights are missing."
        print(said, reason)
        shutil.rmtree(out / "_static" / model.name, ignore_errors=True)
    for page, text in pages.items():
        changed = text
        for element, size in model.elements.items():
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
