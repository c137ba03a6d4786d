import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from tiny import all_cases, make_book

from tools.book import labels
from tools.book.chapters import Book


@pytest.fixture(scope="session")
def cases_book(tmp_path_factory):
    """A book whose chapter `cases` holds every construct, and the numbers that Sphinx gives it."""
    book = Book(make_book(tmp_path_factory.mktemp("cases"), cases=all_cases()))
    return book, labels.load(book)
