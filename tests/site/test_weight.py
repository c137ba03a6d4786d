"""A page is light: its HTML, style sheet and scripts take 230 KB of a first visit, gzipped.

A chapter is 10,000 words with its code and equations. Fonts, which are cached once, come on top.
That nothing comes from another host, conftest.py sees on every page that a test opens.
"""

import gzip
import re

import pytest
from built_site import HTML, book_pages

MOST, HERE = 230_000, 100_000  # bytes of a first visit, and of the page alone


def over_the_wire(path):
    return len(gzip.compress(path.read_bytes(), 6))


@pytest.mark.parametrize("page", book_pages())
def test_weight(page, site):
    html = (HTML / page).read_text("utf-8")
    links = re.findall(r'<(?:script|link)[^>]* (?:src|href)="([^":?]+\.(?:js|css))', html)
    shared = {(HTML / page).parent.joinpath(link).resolve() for link in links}
    assert len(shared) > 5, "one style sheet and several scripts"
    assert over_the_wire(HTML / page) <= HERE
    assert over_the_wire(HTML / page) + sum(map(over_the_wire, shared)) <= MOST
