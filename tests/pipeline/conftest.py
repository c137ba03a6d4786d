import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from tiny import SMALL, make_book

from tools.book import labels
from tools.book.chapters import Book


@pytest.fixture(scope="session")
def small_book(tmp_path_factory):
    """A book of one chapter, and the numbers that Sphinx gives it."""
    book = Book(make_book(tmp_path_factory.mktemp("small"), small=SMALL))
    return book, labels.load(book)
