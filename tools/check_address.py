"""Check that _config.yml names the repository that publishes the book.

    python -m tools.check_address OWNER/REPO

Badges, set-up cells and links are made from repository.url. A copy of the course published from
another repository would send its readers to this one, so the Pages workflow runs this check.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.book import Book


def main(arguments: list[str] | None = None, root: Path | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check repository.url in _config.yml.")
    parser.add_argument("repository", help="OWNER/REPO, as the host names it")
    repository = parser.parse_args(arguments).repository
    if repository.count("/") != 1:
        parser.error(f"{repository!r} is not of the form OWNER/REPO")
    book = Book(root or Path(__file__).parents[1])
    if book.owner_and_name.lower() == repository.lower():
        return 0
    print(
        f"_config.yml names {book.repository}: "
        f"set repository.url to https://github.com/{repository} and run make notebooks"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
