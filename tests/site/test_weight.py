"""A page is light: 300 KB at most on a first visit, 100 KB at most on the next page.

A chapter is 10,000 words with its code and equations, which alone take about 80 KB.
"""

import base64
import os

import pytest
from built_site import book_pages

from tools.site.server import serving
from tools.site.weigh import FIRST_PAGE, visits

BOOK = book_pages()
FIRST_VISIT, NEXT_PAGE = 300_000, 100_000


@pytest.fixture(scope="module")
def context(shared, browser):
    return shared[0] if shared else browser.new_context()


@pytest.fixture(scope="module")
def earlier(context, site):
    """Visits of the page before: the first, and the second for the first."""
    return {page: visits(context, site, page)[0] for page in (FIRST_PAGE, BOOK[1])}


@pytest.mark.parametrize("page", BOOK)
def test_weight(page, context, site, earlier):
    (visit,) = visits(context, site, page)
    first = sum(visit.bytes.values())
    following = visit.after(earlier[BOOK[1] if page == FIRST_PAGE else FIRST_PAGE])
    assert visit.foreign == []
    assert 0 < following < first <= FIRST_VISIT
    assert following <= NEXT_PAGE


def test_a_page_takes_no_more_than_is_reckoned(context, site, earlier):
    (alone,), (_, second) = (
        visits(context, site, BOOK[1]),
        visits(context, site, FIRST_PAGE, BOOK[1]),
    )
    assert sum(second.bytes.values()) <= 1.02 * alone.after(earlier[FIRST_PAGE])


def test_the_scale_counts_what_a_page_loads(context, tmp_path):
    head, heavy = (
        '<!doctype html><link rel="icon" href="data:,">',
        '<script src="heavy.js"></script>',
    )
    (tmp_path / "light.html").write_text(head)
    (tmp_path / "heavy.html").write_text(head + heavy)
    (tmp_path / "index.html").write_text(
        head + heavy + '<img alt="" src="http://localhost:9/elsewhere.png">'
    )
    # Random, so that gzip can do no better than 6 bits of 8.
    (tmp_path / "heavy.js").write_text("//" + base64.b64encode(os.urandom(90_000)).decode())
    with serving(tmp_path) as base:
        light, index = visits(context, base, "light.html", "index.html")
        heavy, cached = visits(context, base, "heavy.html", "index.html")
        (alone,) = visits(context, base, "index.html")
    assert 90_000 < sum(alone.bytes.values()) < 95_000
    assert alone.after(light) > 90_000 and sum(index.bytes.values()) > 90_000
    assert alone.after(heavy) < 1_000, "what is cached does not come over the wire"
    assert sum(cached.bytes.values()) < 1_000
    assert set(alone.foreign) == {"http://localhost:9/elsewhere.png"}
