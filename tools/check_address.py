"""Does _config.yml name the repository that it is published from?

    python -m tools.check_address OWNER/REPO

Badges, set-up cells and links are made from repository.url. A copy of the course published under
another address would send its readers to this one, so the Pages workflow stops here.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.book import Book


def main(arguments: list[str] | None = None, root: Path | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check repository.url in _config.yml.")
    parser.add_argument("repository", help="OWNER/REPO, as the host names it")
    wanted = parser.parse_args(arguments).repository
    if wanted.count("/") != 1:
        parser.error(f"{wanted!r} is not of the form OWNER/REPO")
    book = Book(root or Path(__file__).parents[1])
    if book.owner_and_name.lower() == wanted.lower():
        return 0
    print(
        f"_config.yml names {book.repository}: set repository.url to https://github.com/{wanted} "
        "and run make notebooks"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
