"""The first screen of a chapter: question, minutes, few words, then something to see.

Also what the first "Run here" of a page gives, and cells tagged `setup`, which show nothing; that
they run unseen, test_run_here sees.
"""

import re

import nbformat
import pytest
from bs4 import BeautifulSoup
from built_site import HTML, LESSONS, chapter_pages
from run_here import chapter_of, stored

from attention_src.explorables import module
from tools.check import limits

WORDS = 100
PICTURE = "svg:not([aria-hidden=true], .strip *), [data-explorable]"  # the strip is on every page


def first_screen(soup):
    """What stands between the times and the first picture: visible words, visible lines of code."""
    article = soup.find("article")
    picture = next(p for p in article.select(PICTURE) if not p.find_parent(class_="katex"))
    before = set(map(id, picture.find_all_previous()))
    for fold in article.select("details"):
        fold.decompose()
    blocks = [e for e in article.select("p, li, pre, table") if id(e) in before]
    own = [e for e in blocks if not {"question", "time-line"} & set(e.get("class", []))]
    texts = [e.get_text(" ") for e in own if not e.find_parent(["li", "pre", "table"])]
    code = [e for e in own if e.name == "pre" or e.name == "table"]
    return re.findall(r"\w[\w’'-]*", " ".join(texts)), code


def test_what_is_counted():
    page = """<article><h1>One two</h1><p class="question">A?</p><p class="time-line">3 min</p>
    <div class="strip"><div><svg role="img"></svg></div></div>
    <p>Four words stand here.</p><details><summary>Not these</summary><p>Nor this.</p></details>
    <pre>x = 1</pre><svg aria-label="A"></svg><p>Below.</p></article>"""
    words, code = first_screen(BeautifulSoup(page, "html.parser"))
    assert words == ["Four", "words", "stand", "here", "x", "1"] and len(code) == 1


@pytest.mark.parametrize("page", LESSONS)
def test_the_first_screen(page, site):
    soup = BeautifulSoup((HTML / page).read_text("utf-8"), "html.parser")
    assert soup.select_one("h1 + .question + .time-line")
    words, code = first_screen(soup)
    assert len(words) <= WORDS, f"{len(words)} words before the first picture"
    assert not code, "code or a table before the first picture"
    assert stored(page)[0][1], "what runs silently belongs into a cell tagged setup"


@pytest.mark.parametrize("width, height", [(1366, 768), (390, 844)])
@pytest.mark.parametrize("slug", limits.LESSONS)
def test_what_is_dragged_and_where_to_are_in_sight(slug, width, height, open_page):
    page = open_page(f"book/{slug}.html", width=width, height=height)
    box = page.locator("[data-explorable]").first
    box.locator(".ae-live [data-key]").first.wait_for(state="attached")
    named = module(box.get_attribute("data-explorable")).IN_SIGHT
    assert len(named) >= 2, "a handle and its target"
    for selector in named:
        seen = box.locator(selector).first.bounding_box()
        assert seen["y"] >= 0 and seen["y"] + seen["height"] <= height, selector
    assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize("page", chapter_pages())
def test_setup_cells_show_nothing(page):
    cells = nbformat.read(chapter_of(page).notebook, as_version=4).cells
    tagged = [cell for cell in cells if "setup" in cell.metadata.get("tags", [])]
    assert not [cell.source for cell in tagged if cell.outputs]
    assert all(cell.metadata.jupyter.source_hidden for cell in tagged)
