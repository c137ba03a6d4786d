"""The numbers that a page computes: in its stored outputs, and in its code."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

import nbformat

from tools.book.chapters import Chapter
from tools.book.freshness import own_cells, tree
from tools.book.parts import parts
from tools.check.numbers import in_code, in_output

_NOT_TEXT = re.compile(r"<(script|style|svg)\b.*?</\1>|<[^>]+>", re.S)


def literals(chapter: Chapter) -> set[float]:
    """Every number that stands in the page's code."""
    words = [cell.source for cell in chapter.read().cells if cell.cell_type == "markdown"]
    shown = [part.body for text in words for part in parts(text) if part.kind == "code"]
    return {x for code in [*chapter.code, *shown] for x in in_code(tree(code))}


def outputs(chapter: Chapter) -> set[float]:
    """Every number that the page's outputs hold, as stored in the notebook."""
    found: set[float] = set()
    for cell in cells(chapter):
        shown = Counter(x for text in _texts(cell) for x in in_output(text))
        # A number that the author typed into a string to be printed was not computed.
        typed = Counter(x for text in _printed(cell.source) for x in in_output(text))
        found |= set(shown - typed)
    return found


def cells(chapter: Chapter) -> list[nbformat.NotebookNode]:
    """The code cells of a chapter as stored in the notebook; none if there is no notebook."""
    there = chapter.notebook.exists()
    return own_cells(nbformat.read(chapter.notebook, as_version=4)) if there else []


def printed(chapter: Chapter, *, drawn: bool = True) -> list[str]:
    """What each cell that readers see has printed, and drawn, as stored in the notebook."""
    seen = [cell for cell in cells(chapter) if "remove-cell" not in cell.metadata.get("tags", [])]
    return ["\n".join(_texts(cell, drawn=drawn)) for cell in seen]


def alternatives(chapter: Chapter) -> Iterator[tuple[int, str]]:
    """The alt texts of figures, which are prose that stands in code: line and text.

    What an f-string puts in is computed; only its fixed words are returned.
    """
    for code in chapter.code:
        first = chapter.line_of(code)
        for node in ast.walk(tree(code)):
            if isinstance(node, ast.keyword) and node.arg == "alt":
                yield first + node.value.lineno - 1, " … ".join(_words(node.value))


def outputs_are_old(chapter: Chapter) -> bool:
    """Whether the notebook is missing, or holds the outputs of other code."""
    return [cell.source for cell in cells(chapter)] != chapter.code


def _texts(cell: nbformat.NotebookNode, *, drawn: bool = False) -> Iterator[str]:
    """What the outputs of a cell say; `drawn`: drawings too, by their alt texts, partly typed."""
    for output in cell.outputs:
        if output.output_type == "stream":
            yield output.text
        data = output.get("data", {})
        if "text/html" in data:
            yield _NOT_TEXT.sub(" ", data["text/html"])
        image = any(kind.startswith("image/") for kind in data)
        if "text/plain" in data and (drawn or not image):
            yield data["text/plain"]


def _printed(code: str) -> Iterator[str]:
    """The strings that a cell prints."""
    for node in ast.walk(tree(code)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print":
            yield from _words(node)


def _words(node: ast.AST) -> Iterator[str]:
    """The strings in a piece of code, without the formats of f-strings."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for name, field in ast.iter_fields(node):
        if name != "format_spec":
            for child in field if isinstance(field, list) else [field]:
                if isinstance(child, ast.AST):
                    yield from _words(child)
