"""The command: python -m tools.check."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from tools.book import minutes
from tools.book.chapters import Book, Chapter
from tools.book.freshness import REPOSITORY
from tools.check import claims, computed, limits, prose_numbers

HEAD = f"{'chapter':12} words code predict drawn moving  min short ex.min before right place"


def wrong(chapter: Chapter) -> Iterator[str]:
    """A line for all that is wrong with a page, as far as a machine sees it."""
    if computed.outputs_are_old(chapter):
        yield f"{chapter.source}: its outputs are old: python -m tools.book {chapter.slug}"
    yield from prose_numbers.unfounded(chapter)
    yield from prose_numbers.not_measured(chapter)
    yield from claims.undecided(chapter)
    if chapter.slug in limits.LESSONS or chapter.is_lab:
        yield from _over(chapter)


def row(chapter: Chapter) -> str:
    """One line of the table; `before` is how many words stand above the first picture."""
    b = minutes.reading(chapter)
    times = f"{minutes.reading_minutes(chapter):4} {minutes.minutes_in_short(chapter):5}"
    right = "".join(str(place.right + 1) for place in limits.places(chapter))
    return (
        f"{chapter.slug:12} {b.words:5} {b.code:4} {b.predictions:7} {b.drawn:5} {b.explorables:6} "
        f"{times} {chapter.exercise_minutes:6} {minutes.words_before_a_picture(chapter):6} {right}"
    )


def main(arguments: list[str] | None = None, book: Book | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.check", description=__doc__)
    parser.add_argument("slugs", nargs="*", help="pages, such as softmax; all if none is named")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--table", action="store_true", help="what chapters ask of their readers")
    shown.add_argument("--over", action="store_true", help="the limits that chapters exceed")
    shown.add_argument("--given", action="store_true", help="numbers that are marked as given")
    options = parser.parse_args(arguments)
    book = book or Book(REPOSITORY)
    if unknown := set(options.slugs) - {page.slug for page in book.pages}:
        parser.error(f"there is no {', '.join(sorted(unknown))} in _toc.yml")
    named = [page for page in book.pages if not options.slugs or page.slug in options.slugs]
    chapters = minutes.lessons(book) + minutes.labs(book)
    lessons = [page for page in chapters if page in named]
    if options.table:
        print(HEAD, *map(row, lessons), minutes.course_line(book), sep="\n")
    elif options.over:
        print("".join(f"{line}\n" for page in lessons for line in _over(page)), end="")
    elif options.given:
        print(*(line for page in named for line in prose_numbers.given(page)), sep="\n")
    else:
        # A page without code computes nothing.
        lines = [line for page in named if page.has_code for line in wrong(page)]
        print("".join(f"{line}\n" for line in lines), end="")
        if any("in no output" in line for line in lines):
            print(prose_numbers.HOW)
        return int(bool(lines))
    return 0


def _over(chapter: Chapter) -> Iterator[str]:
    return (f"{chapter.slug}: {line}" for line in limits.faults(chapter))


if __name__ == "__main__":
    sys.exit(main())
