"""A page on paper, on a desk and on a narrow phone: nothing is cut off without a sign."""

import pytest
from built_site import chapter_pages

from tools.site.measure import FIRST_PAGE

CHAPTERS = [page for page in chapter_pages() if page != FIRST_PAGE]
OPEN_FOLDS = "document.querySelectorAll('details').forEach(d => { d.open = true })"
BOXES = "article :is(pre, .scroll-x, .pst-scrollable-table-container)"
# Boxes in which something is cut off, by their first words.
CUT = f"""() => [...document.querySelectorAll({BOXES!r})]
  .filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible')
  .map(e => e.innerText.slice(0, 60))"""
BUTTONS = """() => [...document.querySelectorAll('button, .btn')]
  .filter(e => e.checkVisibility() && e.getClientRects().length).map(e => e.outerHTML)"""
BEYOND = """width => [...document.querySelectorAll('article *')]
  .filter(e => !e.closest('.katex-mathml, .katex svg')
    && e.getBoundingClientRect().right > width + 1)
  .map(e => e.outerHTML.slice(0, 100))"""
A4 = 688  # pixels between the margins
SHADOWS = f"""() => [...document.querySelectorAll({BOXES!r})].filter(e => e.clientWidth)
  .map(e => [e.scrollWidth > e.clientWidth, getComputedStyle(e).backgroundImage !== 'none'])"""


@pytest.mark.parametrize("page", CHAPTERS)
def test_on_a_desk_nothing_scrolls_sideways(page, open_page):
    opened = open_page(page, width=1440)
    opened.evaluate(OPEN_FOLDS)
    assert opened.evaluate(CUT) == []


@pytest.mark.parametrize("page", CHAPTERS)
def test_on_paper_all_is_there_in_light_colours(page, open_page):
    opened = open_page(page, theme="dark", width=A4)
    opened.emulate_media(media="print", color_scheme="dark")
    opened.wait_for_function("document.documentElement.dataset.theme === 'light'")
    colour = "e => getComputedStyle(e).backgroundColor"
    assert opened.locator("body").evaluate(colour) == "rgb(255, 255, 255)"
    assert opened.locator("h1").evaluate("e => getComputedStyle(e).color") == "rgb(0, 0, 0)"
    assert opened.locator("h1").is_visible()
    assert opened.evaluate(BUTTONS) == []
    assert opened.evaluate(CUT) == [] and opened.evaluate(BEYOND, A4) == []
    opened.emulate_media(media="screen", color_scheme="dark")
    opened.wait_for_function("document.documentElement.dataset.theme === 'dark'")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_phone_what_is_cut_shows_it(theme, open_page):
    opened = open_page(CHAPTERS[3], theme=theme, width=390)
    opened.evaluate(OPEN_FOLDS)
    opened.wait_for_timeout(300)
    shadows = opened.evaluate(SHADOWS)
    assert all(wide == shadow for wide, shadow in shadows)
    assert {wide for wide, _ in shadows} == {True, False}


def test_on_a_phone_the_number_stands_below_its_equation(open_page):
    opened = open_page(CHAPTERS[3], width=390)
    equation = opened.locator("div.math:has(.eqno)").first
    box, number = (equation.locator(s).bounding_box() for s in (".scroll-x", ".eqno"))
    assert number["y"] >= box["y"] + box["height"] - 1


@pytest.mark.parametrize("page", [FIRST_PAGE, CHAPTERS[0]])
def test_at_400_percent_the_page_fits(page, open_page):
    opened = open_page(page, width=320, height=700)
    assert opened.evaluate("document.documentElement.scrollWidth") <= 320
