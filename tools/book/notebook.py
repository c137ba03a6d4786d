"""Write notebooks/*.ipynb from book/*.md: portable Markdown, executed, the same bytes every time.

python -m tools.book                 all chapters; runs only those whose code changed
python -m tools.book softmax maps    these chapters
python -m tools.book --check         write nothing; fail if a notebook would change
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.book import freshness, labels, predict, setup_cell, take_away
from tools.book.chapters import Book, Chapter
from tools.book.markup import details
from tools.book.portable import Portable

CELL_TIMEOUT = 1800  # seconds; only a cell that hangs takes this long
FOLDED = {"jupyter": {"source_hidden": True}, "cellView": "form"}  # for Jupyter, for Colab
# For JupyterLab, for others.
VEILED: dict[str, Any] = {"jupyter": {"outputs_hidden": True}, "collapsed": True}

# Where two threads parse at once, Python 3.11 may raise a SystemError (gh-106905).
_PARSING = threading.Lock()


def build(book: Book, chapter: Chapter, found: dict[str, Any]) -> nbformat.NotebookNode:
    """A chapter as a notebook without outputs; `found` is the result of `labels.load`."""
    source = chapter.read()
    page = Portable(book, chapter.docname, found)
    cells = [
        new_markdown_cell(setup_cell.first_markdown(book, chapter)),
        new_code_cell(
            setup_cell.first_code(book, chapter), metadata={"tags": ["generated"], **FOLDED}
        ),
    ]
    veiled = {place for place, labels in predict.covers(source.cells) if labels}
    for place, cell in enumerate(source.cells):
        line = chapter.line_of(cell.source)
        if cell.cell_type == "code":
            cells += _code_cells(page, cell, line, veiled=place in veiled)
        elif cell.cell_type == "markdown":
            text = page.cell(cell.source, line)
            if text:
                cells.append(new_markdown_cell(text))
        else:
            raise page.error(line, "raw cells have no portable form")
    for i, cell in enumerate(cells):
        cell["id"] = f"{chapter.slug.replace('/', '-')}-{i}"
    metadata = {
        "attention_digest": freshness.digest(chapter.code),
        "kernelspec": source.metadata.kernelspec,
        "language_info": {"name": "python"},
    }
    return new_notebook(cells=cells, metadata=metadata)


def _code_cells(
    page: Portable, cell: nbformat.NotebookNode, line: int, *, veiled: bool
) -> list[Any]:
    """A code cell, folded as on the site."""
    if cell.source.rstrip().endswith(";"):
        raise page.error(line, "a cell may not end in ';', which nbval ignores: write _ = …")
    metadata = dict(cell.metadata)
    tags = set(metadata.get("tags", []))
    if "setup" in tags and not cell.source.startswith("# "):
        raise page.error(line, "a setup cell begins with a comment that says what is in it")
    if {"setup", "hide-input", "hide-cell"} & tags:
        metadata |= FOLDED
    if veiled:  # the outputs give away the answer to a question
        metadata |= VEILED | {"jupyter": metadata.get("jupyter", {}) | VEILED["jupyter"]}
    cells = [new_code_cell(cell.source, metadata=metadata)]
    figure = metadata.get("mystnb", {}).get("figure")
    if figure:  # the caption of a figure that this cell draws
        if "name" not in figure or "caption" not in figure:
            raise page.error(line, "a cell's figure needs a caption and a name, such as fig:a")
        number = page.numbered(figure["name"], line)
        caption = page.block(figure["caption"], line)
        words = f"*Fig. {number}.* {caption}"
        cells.append(new_markdown_cell(details(predict.SUMMARY, words) if veiled else words))
    return cells


def keep_outputs(notebook: nbformat.NotebookNode, old: Path) -> None:
    """Copy the stored outputs, which belong to the same code."""
    stored = nbformat.read(old, as_version=4)
    kept = [cell for cell in stored.cells if cell.cell_type == "code"]
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell, before in zip(cells, kept, strict=True):
        cell.outputs, cell.execution_count = before.outputs, before.execution_count


def execute(
    notebook: nbformat.NotebookNode, folder: Path, environment: Mapping[str, str] = os.environ
) -> None:
    """Run all cells in `folder`, without storing anything that differs between runs."""
    NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    ).execute(env=environment)
    notebook.metadata.language_info = {"name": "python"}


def update(book: Book, chapter: Chapter, found: dict[str, Any], *, check: bool) -> str | None:
    """Bring one notebook up to date; return what was done, None if there was nothing to do."""
    path = chapter.notebook
    with _PARSING:
        notebook = build(book, chapter, found)
        stale = freshness.why_stale(chapter)
    if stale and check:
        return stale
    if stale:
        path.parent.mkdir(exist_ok=True, parents=True)
        start = time.perf_counter()
        execute(notebook, path.parent)
        done = f"{chapter.notebook_name}: run, {time.perf_counter() - start:.0f} s"
    else:
        keep_outputs(notebook, path)
        done = f"{chapter.notebook_name}: text updated"
    text = nbformat.writes(notebook, version=4) + "\n"
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return f"{done}, no change" if stale else None
    if check:
        return f"{chapter.notebook_name} differs from {chapter.source}: run make notebooks"
    path.write_text(text, encoding="utf-8", newline="\n")
    return done


def main(arguments: list[str] | None = None, root: Path = freshness.REPOSITORY) -> int:
    parser = argparse.ArgumentParser(description="Write notebooks/ from book/.")
    parser.add_argument("slugs", nargs="*", help="chapters; all if none is named")
    parser.add_argument("--check", action="store_true", help="write nothing, fail on a difference")
    options = parser.parse_args(arguments)
    book = Book(root)
    chapters = book.chapters
    unknown = set(options.slugs) - {chapter.slug for chapter in chapters}
    if unknown:
        parser.error(f"no such chapter: {', '.join(sorted(unknown))}")
    failed = False
    there = {path.relative_to(root).as_posix() for path in (root / "notebooks").rglob("*.ipynb")}
    for name in sorted(there - {chapter.notebook_name for chapter in chapters}):
        print(f"{name} has no chapter in _toc.yml: delete it")
        failed = True
    found = labels.load(book)
    wanted = [c for c in chapters if not options.slugs or c.slug in options.slugs]
    # A thread for each core: what computes is a notebook's kernel, a process of its own.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tried = [pool.submit(update, book, c, found, check=options.check) for c in wanted]
        for chapter, made in zip(wanted, tried, strict=True):
            try:
                news = made.result()
            except (ValueError, CellExecutionError) as wrong:
                cell = isinstance(wrong, CellExecutionError)
                print(f"{chapter.source}: {wrong}" if cell else wrong)
                failed = True
                continue
            if news:
                print(news, flush=True)
                failed = failed or options.check
    for news in take_away.update(book, check=options.check):
        print(news)
        failed = failed or options.check
    return 1 if failed else 0
