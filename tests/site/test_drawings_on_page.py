"""The drawings in a real browser: nothing touches, and a page shows the arrangement that fits."""

import base64
import re
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from built_site import HTML, QUIET, ROOT
from firefox import in_firefox

from attention_src.figures.drawings import drawing
from tools.site import drawings as on_site

sys.path.insert(0, str(ROOT / "tests/figures"))
from hashes import EVERY

OVERLAPS = Path(__file__).with_name("overlaps.js").read_text("utf-8")
KATEX = ROOT / "book/_static/vendor/katex/fonts"
FACE = """@font-face {{ font-family: {}; font-style: {};
  src: url(data:font/woff2;base64,{}) }}"""
# The widest of the usual fonts, one as wide as Arial, and what this system chooses.
FONTS = ("DejaVu Sans", "Liberation Sans", "system-ui")
PAGE = "book/equation.html"
DRAWN = ("equation", "sizes", "turned_keys")  # in the figures of PAGE, besides a plot


def faces():
    """KaTeX's fonts for the letters of mathematics, as the pages have them."""
    for name, style in (("Math-Italic", "italic"), ("Main-Regular", "normal")):
        data = base64.b64encode((KATEX / f"KaTeX_{name}.woff2").read_bytes()).decode()
        yield FACE.format(f"KaTeX_{name.partition('-')[0]}", style, data)


@pytest.mark.parametrize("font", FONTS)
def test_nothing_touches(font, new_page, pytestconfig):
    if in_firefox(pytestconfig):
        pytest.skip("Firefox gives a word a box as high as its font, higher than its letters")
    page, svgs = new_page(), []
    for name, state in EVERY:
        made = drawing(name, **state)
        for kind, svg in (("wide", made.wide), ("narrow", made.narrow)):
            said = f"{name} {state} {kind}".replace("'", "")
            svgs.append(svg.replace("<svg", f"<svg data-name='{said}'", 1))
    rule = f"svg {{ font-family: '{font}', sans-serif; display: block; margin: 2rem }}"
    page.set_content(f"<style>{''.join(faces())}{rule}</style>{''.join(svgs)}")
    page.evaluate("document.fonts.ready")
    assert page.evaluate(OVERLAPS) == []


def test_words_that_touch_are_seen(new_page):
    page = new_page()
    page.set_content(
        "<svg data-name='x' width='99' height='50'><text x='5' y='20'>river</text>"
        "<text x='20' y='22'>bank</text><text x='90' y='40'>steep</text>"
        "<path d='M0 15 L60 15' stroke='red' fill='none'/></svg>"
    )
    found = page.evaluate(OVERLAPS)
    assert 'x: "river" and "bank"' in found and 'x: "steep" sticks out' in found
    assert 'x: a line through "river"' in found


@pytest.fixture(scope="module")
def soup(site):
    return BeautifulSoup((HTML / PAGE).read_text("utf-8"), "html.parser")


def plain(html):
    """Elements and attributes, however they are written."""
    return str(BeautifulSoup(html, "html.parser").find("svg"))


def test_both_arrangements_are_on_the_page_whole(soup):
    boxes = soup.select("figure .drawing:has(> .drawing-wide)")
    for box, name in zip(boxes, DRAWN, strict=True):
        made = drawing(name)
        for kind, svg in (("wide", made.wide), ("narrow", made.narrow)):
            (shown,) = box.select(f":scope > .drawing-{kind} > svg")
            assert str(shown) == plain(on_site.on_page(svg))
    assert not re.search(r"#[0-9a-f]{6}", str(boxes))


def test_colours_of_the_page_and_nothing_else_change():
    svg = drawing("equation").wide
    pattern = "|".join(map(re.escape, on_site.COLOURS.values()))
    back = re.sub(pattern, "#", on_site.on_page(svg))
    assert back == re.sub(r"#[0-9a-f]{6}", "#", svg)


def test_the_strip_is_under_the_title_with_its_part_lit(soup):
    (strip,) = soup.select(".drawing.strip")
    svgs = strip.select("svg")
    assert len(svgs) == 2
    for svg in svgs:
        assert svg["role"] == "img" and svg["aria-label"].endswith("is about attention.")
        assert "attention" in svg.get_text()
    assert strip.find_previous_sibling("h1")
    assert not strip.find_previous("h2")


def test_the_arrangement_that_fits_is_shown(open_page):
    page = open_page(PAGE)
    for width, shown in ((1280, "wide"), (820, "wide"), (390, "narrow"), (360, "narrow")):
        page.set_viewport_size({"width": width, "height": 900})
        seen = page.evaluate(
            """() => [...document.querySelectorAll(".drawing:has(> .drawing-wide)")].map(box => {
             const svg = [...box.querySelectorAll("svg")].filter(e => e.checkVisibility());
             const least = Math.min(...[...svg[0].querySelectorAll("[font-size]")]
               .map(e => parseFloat(e.getAttribute("font-size"))));
             const scale = svg[0].clientWidth / svg[0].viewBox.baseVal.width;
             return [svg.map(e => e.parentElement.className).join(), least * scale];
           })"""
        )
        assert [kind for kind, _ in seen] == [f"drawing-{shown}"] * 4
        if width >= 390:
            assert min(size for _, size in seen) >= 10.5
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_strip_moves_nothing(new_page, site):
    """It has its size before anything else has arrived."""
    watch = """window.moved = 0;
    const add = (list) => list.getEntries().forEach((e) => { moved += e.value; });
    new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });"""
    page = new_page(width=390)
    if "layout-shift" not in page.evaluate("PerformanceObserver.supportedEntryTypes"):
        pytest.skip("Firefox does not measure what moves while a page loads")
    page.add_init_script(watch)
    page.goto(f"{site}/{PAGE}", wait_until="load")
    page.evaluate(QUIET)
    assert page.evaluate("moved") < 0.01
