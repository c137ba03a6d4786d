"""Check that _config.yml names the repository that publishes the book, and pyproject.toml the tag.

    python -m tools.check.address OWNER/REPO TAG

Badges, set-up cells and links are made from repository.url and the version. A copy of the course
published from another repository would send its readers to this one, and a site published from
another tag to other notebooks; so the Pages workflow runs this check.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.book.chapters import Book


def main(arguments: list[str] | None = None, root: Path | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check repository.url and the version.")
    parser.add_argument("repository", help="OWNER/REPO, as the host names it")
    parser.add_argument("tag", help="of the commit that is published: v and the version")
    options = parser.parse_args(arguments)
    repository = options.repository
    if repository.count("/") != 1:
        parser.error(f"{repository!r} is not of the form OWNER/REPO")
    book = Book(root or Path(__file__).parents[2])
    wrong = []
    if book.owner_and_name.lower() != repository.lower():
        wrong.append(
            f"_config.yml names {book.repository}: "
            f"set repository.url to https://github.com/{repository} and run make notebooks"
        )
    if book.release != options.tag:
        wrong.append(f"pyproject.toml's version makes the tag {book.release}, not {options.tag}")
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
