"""Check that _config.yml names the repository that publishes the book, and pyproject.toml the tag.

    python -m tools.check.address OWNER/REPO TAG

Badges, set-up cells and links are made from repository.url and the version. A copy of the course
published from another repository would send its readers to this one, and a site published from
another tag to other notebooks; so the Pages workflow runs this check.
"""

from __future__ import annotations

import sys

from tools.book.chapters import Book
from tools.book.freshness import REPOSITORY


def wrong(book: Book, repository: str, tag: str) -> list[str]:
    """What would send readers elsewhere, where a book is published from here."""
    lines = []
    if book.owner_and_name.lower() != repository.lower():
        lines.append(
            f"_config.yml names {book.repository}: "
            f"set repository.url to https://github.com/{repository} and run make notebooks"
        )
    if book.release != tag:
        lines.append(f"pyproject.toml's version makes the tag {book.release}, not {tag}")
    return lines


if __name__ == "__main__":
    sys.exit("\n".join(wrong(Book(REPOSITORY), *sys.argv[1:])) or None)
