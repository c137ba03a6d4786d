"""The command: python -m tools.check."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from tools.book.chapters import Book, Chapter
from tools.book.freshness import REPOSITORY
from tools.check import computed, limits, prose_numbers


def wrong(chapter: Chapter) -> Iterator[str]:
    """A line for all that is wrong with a page, as far as a machine sees it."""
    if computed.outputs_are_old(chapter):
        yield f"{chapter.source}: its outputs are old: python -m tools.book {chapter.slug}"
    yield from prose_numbers.unfounded(chapter)
    yield from prose_numbers.not_measured(chapter)
    yield from prose_numbers.undecided(chapter)
    if chapter.slug in limits.LESSONS or chapter.is_lab:
        yield from (f"{chapter.slug}: {line}" for line in limits.faults(chapter))


def main(arguments: list[str] | None = None, book: Book | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.check", description=__doc__)
    parser.add_argument("slugs", nargs="*", help="pages, such as softmax; all if none is named")
    slugs = parser.parse_args(arguments).slugs
    book = book or Book(REPOSITORY)
    if unknown := set(slugs) - {page.slug for page in book.pages}:
        parser.error(f"there is no {', '.join(sorted(unknown))} in _toc.yml")
    # A page without code computes nothing.
    pages = [page for page in book.chapters if not slugs or page.slug in slugs]
    lines = [line for page in pages for line in wrong(page)]
    print("".join(f"{line}\n" for line in lines), end="")
    if any("in no output" in line for line in lines):
        print(prose_numbers.HOW)
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
