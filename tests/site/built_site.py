"""The site under test: where it was built, its pages, and what no page of it may do."""

import os
from pathlib import Path

import pytest

from attention_src.explorables import module
from tools.book.chapters import Book
from tools.check import limits

HTML = Path(os.environ.get("SITE_HTML", Path(__file__).parents[2] / "_build/html"))
ROOT = HTML.parents[1]  # the book that was built: where _toc.yml is
FIRST_PAGE = "book/intro.html"
THEMES = ("light", "dark")
# As if the reader had been everywhere: what is far from the window is not laid out.
OPEN_FOLDS = """() => {
  document.querySelectorAll('details').forEach(d => { d.open = true });
  document.querySelectorAll('section').forEach(s => { s.style.contentVisibility = 'visible' });
}"""

# Nothing has come for half a second. Playwright's "networkidle" never happens in Firefox.
QUIET = """async () => {
  const came = () => performance.getEntriesByType('resource').length;
  for (let before = -1; before < came();) {
    before = came();
    await new Promise((done) => setTimeout(done, 500));
  }
}"""


def some(pages, few):
    """Parameters of a test: few of the pages, and once a week the others too."""
    return [page if page in few else pytest.param(page, marks=pytest.mark.weekly) for page in pages]


def site_pages():
    """Every page that was built, in a stable order. Without a build, the pages of _toc.yml."""
    found = sorted(HTML.glob("book/**/*.html")) + sorted(HTML.glob("*.html"))
    # index.html only leads to the first page.
    built = [p.relative_to(HTML).as_posix() for p in found if p != HTML / "index.html"]
    return built or book_pages()


def book_pages():
    """The pages of _toc.yml, in its order."""
    return [f"{page.docname}.html" for page in Book(ROOT).pages]


# What has been rewritten is held to more than the other pages.
LESSONS = [f"book/{slug}.html" for slug in limits.LESSONS]


def chapter_pages():
    """The pages that have a notebook."""
    return [f"{page.docname}.html" for page in Book(ROOT).chapters]


# How many parts these have in MathML.
PARTS = dict.fromkeys(("msup", "msub", "mfrac", "munder", "mover", "mroot"), 2)
PARTS |= dict.fromkeys(("msubsup", "munderover"), 3)


def wrong_mathml(soup):
    """The elements of MathML that have a part too many or too few, as text."""
    return [
        str(element)[:200]
        for element in soup.select(", ".join(PARTS))
        if len(element.find_all(True, recursive=False)) != PARTS[element.name]
    ]


def come_near(page):
    """Scroll to each explorable, until it is built, and back up: it is built near the window."""
    for one in page.locator("[data-explorable]").all():
        one.evaluate("e => e.scrollIntoView()")
        one.and_(page.locator("[data-ready]")).wait_for(state="attached", timeout=30_000)
    page.evaluate("scrollTo(0, 0)")


def press(page, name):
    """Press what the module of an explorable says, and give its place."""
    box = page.locator(f'[data-explorable="{name}"]').first
    role, label, key = module(name).PRESS
    box.get_by_role(role, name=label, exact=True).press(key)
    return box


# Firefox says this of a formula that it draws while its second half is still on the way, and of no
# other: wrong_mathml holds for every page.
HALF_A_FORMULA = "Incorrect number of children for <m"


class Log:
    """What a page did that no page of the site may do."""

    def __init__(self, base):
        self.base, self.errors = base, []

    def watch(self, page):
        page.on("console", self.console)
        page.on("pageerror", self.script)
        page.on("request", self.request)
        page.on("response", self.response)

    def console(self, message):
        if message.type in ("error", "warning"):
            where = message.location.get("url", "")
            self.errors.append(f"console {message.type}: {message.text} {where}")

    def script(self, error):
        if not str(error).startswith(HALF_A_FORMULA):
            self.errors.append(f"script error: {error}")

    def request(self, request):
        if not request.url.startswith((self.base + "/", "data:", "blob:")):
            self.errors.append(f"request to another host: {request.url}")

    def response(self, response):
        if response.status >= 400:
            self.errors.append(f"{response.status} for {response.url}")
