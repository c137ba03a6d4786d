"""The command: python -m tools.page --count [chapters]. Which code cells run in the page."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tools.book.chapters import Book
from tools.book.freshness import REPOSITORY
from tools.page import needs


def rows(book: Book, slugs: list[str]) -> list[tuple[str, int, Counter[str]]]:
    """For each chapter: its name, how many cells run, and how many do not, by reason."""
    found = []
    for chapter in book.chapters:
        if not slugs or chapter.slug in slugs:
            shown = [cell for cell in needs.cells(chapter) if cell.shown]
            why = Counter(cell.reason for cell in shown if not cell.runs)
            found.append((chapter.slug, sum(cell.runs for cell in shown), why))
    return found


def main(arguments: list[str] | None = None, book: Book | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.page", description=__doc__)
    parser.add_argument("slugs", nargs="*", help="chapters; all if none is named")
    parser.add_argument("--count", action="store_true", required=True, help="count the cells")
    options = parser.parse_args(arguments)
    counted = rows(book or Book(REPOSITORY), options.slugs)
    total = sum((why for *_, why in counted), Counter())
    print("chapter       run  not  why not")
    for slug, run, why in [*counted, ("all", sum(run for _, run, _ in counted), total)]:
        reasons = ", ".join(f"{n} {reason}" for reason, n in why.most_common())
        print(f"{slug:12} {run:4} {why.total():4}  {reasons}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
