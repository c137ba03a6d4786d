"""Which lines a cell prints otherwise than its notebook stores them, and a table of them."""

from __future__ import annotations

from collections.abc import Iterable

from tools.ci.compare_outputs import NUMBER, value

Line = tuple[str, str, str]  # the cell, its line as stored, its line as found


def different(cell: str, stored: list[str], found: list[str]) -> list[Line]:
    """The lines of a cell's outputs that differ; all as one if there are more on one side."""
    old, new = ("\n".join(texts).splitlines() for texts in (stored, found))
    if len(old) != len(new):
        return [(cell, "\n".join(old), "\n".join(new))]
    return [(cell, *pair) for pair in zip(old, new, strict=True) if pair[0] != pair[1]]


def table(moved: Iterable[Line]) -> list[str]:
    """What several seeds moved: a line for each line of a cell."""
    found: dict[tuple[str, str], list[str]] = {}
    for cell, old, new in moved:
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
