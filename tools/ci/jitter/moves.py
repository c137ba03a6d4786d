"""A plugin of pytest: a cell of nbval that prints something else than what is stored says so.

Each differing line goes into the JUnit report as a property of the cell, and from there (`read`)
into a table. Timings are left out, as in the comparison; of figures only the alt text is looked at.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tools.ci.compare_outputs import NUMBER, value

Line = tuple[str, str]  # as stored, as found


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Look at what each cell compares, before `compare_outputs` makes alike what reads alike."""
    for item in items:
        if hasattr(item, "compare_outputs"):
            item.compare_outputs = _noting(item, item.compare_outputs)


def _noting(item: pytest.Item, compare: Callable[..., bool]) -> Callable[..., bool]:
    def noting(found: list, stored: list, **options: Any) -> bool:
        lines = different(_texts(stored, item), _texts(found, item))
        if lines:
            item.user_properties.append(("moves", json.dumps(lines)))
        return compare(found, stored, **options)

    return noting


def _texts(outputs: list[dict], item: Any) -> list[str]:
    """What the outputs of a cell say, without what is not compared."""
    return [item.sanitize(text_of(output)) for output in outputs]


def text_of(output: dict) -> str:
    """What stands in an output as text: as one string, as nbformat reads a file's lines."""
    text = output.get("text") or output.get("data", {}).get("text/plain") or ""
    return "".join(text)


def different(stored: list[str], found: list[str]) -> list[Line]:
    """The pairs of lines that differ; all in one pair if there are more on one side."""
    old, new = ("\n".join(texts).splitlines() for texts in (stored, found))
    if len(old) != len(new):
        return [("\n".join(old), "\n".join(new))]
    return [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]


def read(report: Path) -> tuple[dict[str, list[Line]], list[str]]:
    """Of a JUnit report: the lines that differ in each cell, and the cells that failed."""
    moved, failed = {}, []
    for case in ElementTree.parse(report).iter("testcase"):
        where = case.get("classname", "").removeprefix("notebooks.").replace("labs.", "labs/")
        cell = f"{where} {case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(cell)
        for found in case.iter("property"):
            if found.get("name") == "moves":
                moved[cell] = [(old, new) for old, new in json.loads(found.get("value", "[]"))]
    return moved, failed


def table(runs: list[dict[str, list[Line]]]) -> list[str]:
    """What the moves of several seeds come to: a line for each line of a cell that moved."""
    found: dict[tuple[str, str], list[str]] = {}
    for moved in runs:
        for cell, lines in moved.items():
            for old, new in lines:
                found.setdefault((cell, old), []).append(new)
    return [f"{cell} | {old} | {between([old, *new])}" for (cell, old), new in found.items()]


def between(texts: list[str]) -> str:
    """Texts that differ in numbers alone as one text with ranges; others one after another."""
    texts = [" ".join(text.split()) for text in texts]
    if len({tuple(NUMBER.split(text)) for text in texts}) > 1:
        return " / ".join(sorted(set(texts[1:])))
    columns = zip(*(NUMBER.findall(text) for text in texts), strict=True)
    ranges = iter([_range(column) for column in columns])
    return NUMBER.sub(lambda _: next(ranges), texts[0])


def _range(numbers: tuple[str, ...]) -> str:
    """The least and the largest of printed numbers, or the one that all are."""
    low, high = min(numbers, key=value), max(numbers, key=value)
    return low if low == high else f"{low} to {high}"
