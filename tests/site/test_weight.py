"""A page is light: 300 KB at most on a first visit, 100 KB at most on the next page.

A chapter is 10,000 words with its code and equations, which alone take about 80 KB.
"""

import base64
import os

import pytest
from built_site import book_pages

from tools.site.measure import FIRST_PAGE, weigh
from tools.site.server import serving

BOOK = book_pages()
FIRST_VISIT, NEXT_PAGE = 300_000, 100_000


@pytest.mark.parametrize("page", BOOK)
def test_weight(page, browser, site):
    before = next(p for p in (FIRST_PAGE, *BOOK) if p != page)
    weight = weigh(browser, site, page, before)
    assert weight["foreign"] == []
    assert 0 < weight["next"] < weight["first"] <= FIRST_VISIT
    assert weight["next"] <= NEXT_PAGE


def test_the_scale_counts_what_a_page_loads(browser, tmp_path):
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
        after_light = weigh(browser, base, "index.html", before="light.html")
        after_heavy = weigh(browser, base, "index.html", before="heavy.html")
    assert 90_000 < after_light["first"] < 95_000 and after_light["next"] > 90_000
    assert after_heavy["next"] < 1_000, "what is cached does not come over the wire"
    assert set(after_light["foreign"]) == {"http://localhost:9/elsewhere.png"}
