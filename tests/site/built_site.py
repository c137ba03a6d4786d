"""The site under test: where it was built, and its pages."""

from tools.book import Book
from tools.site.measure import HTML

ROOT = HTML.parents[1]  # the book that was built: where _toc.yml is
THEMES = ("light", "dark")


def site_pages():
    """Every page that was built, in a stable order. Without a build, the pages of _toc.yml."""
    found = sorted(HTML.glob("book/**/*.html")) + sorted(HTML.glob("*.html"))
    # index.html only leads to the first page.
    built = [p.relative_to(HTML).as_posix() for p in found if p != HTML / "index.html"]
    return built or book_pages()


def book_pages():
    """The pages of _toc.yml, in its order."""
    return [f"{page.docname}.html" for page in Book(ROOT).pages]


def chapter_pages():
    """The pages that have a notebook."""
    return [f"{page.docname}.html" for page in Book(ROOT).chapters]
