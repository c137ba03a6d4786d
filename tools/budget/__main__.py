"""The command: python -m tools.budget."""

from __future__ import annotations

import argparse
import sys

from tools.book import Book, Chapter
from tools.budget import measure, rules
from tools.freshness import REPOSITORY

HEAD = f"{'chapter':12} words code predict drawn moving  min short ex.min before right place"


def row(chapter: Chapter) -> str:
    """One line of the table; `before` is how many words stand above the first picture."""
    b = measure.reading(chapter)
    times = f"{measure.reading_minutes(chapter):4} {measure.minutes_in_short(chapter):5}"
    right = "".join(str(place.right + 1) for place in rules.places(chapter))
    return (
        f"{chapter.slug:12} {b.words:5} {b.code:4} {b.predictions:7} {b.drawn:5} {b.explorables:6} "
        f"{times} {chapter.exercise_minutes:6} {measure.words_before_a_picture(chapter):6} {right}"
    )


def main(arguments: list[str] | None = None, book: Book | None = None) -> int:
    parser = argparse.ArgumentParser(description="What do the chapters ask of their readers?")
    parser.add_argument("slugs", nargs="*", help="chapters; all if none is named")
    parser.add_argument("--over", action="store_true", help="only the rules that they break")
    options = parser.parse_args(arguments)
    book = book or Book(REPOSITORY)
    pages = [p for p in measure.lessons(book) if not options.slugs or p.slug in options.slugs]
    if not options.over:
        print(HEAD, *map(row, pages), measure.course_line(book), sep="\n")
        return 0
    broken = {page.slug: list(rules.faults(page)) for page in pages}
    for slug, lines in broken.items():
        print("".join(f"{slug}: {line}\n" for line in lines), end="")
    return 1 if any(broken[slug] for slug in broken if slug in rules.REWRITTEN) else 0


if __name__ == "__main__":
    sys.exit(main())
