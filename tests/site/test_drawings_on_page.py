"""The drawings in a real browser: nothing touches, and a page shows the arrangement that fits."""

import base64
import re
import sys
from functools import partial
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from built_site import QUIET
from firefox import in_firefox
from small_book import REPOSITORY, visiting

from attention_src.figures.drawings import drawing
from tools.site import drawings as on_site

sys.path.insert(0, str(REPOSITORY / "tests/figures"))
from hashes import EVERY

OVERLAPS = Path(__file__).with_name("overlaps.js").read_text("utf-8")
KATEX = REPOSITORY / "book/_static/vendor/katex/fonts"
FACE = """@font-face {{ font-family: {}; font-style: {};
  src: url(data:font/woff2;base64,{}) }}"""
# The widest of the usual fonts, one as wide as Arial, and what this system chooses.
FONTS = ("DejaVu Sans", "Liberation Sans", "system-ui")
CAPTION = "One query, one row. Follow “bank” in $\\Q$."
CELL = """\
```{{code-cell}} ipython3
---
tags: [hide-input]
mystnb:
  figure:
    name: fig:{0}
    caption: {1}
---
draw("{0}")
```
"""
SMALL_BOOK = {
    "softmax": f"""\
(ch:softmax)=
# Softmax

**How do scores become weights?**

```{{code-cell}} ipython3
from attention_src.figures import draw
```

See {{numref}}`fig:equation` and {{numref}}`fig:pages`.

{CELL.format("equation", CAPTION)}

{CELL.format("pages", "Three texts.")}
"""
}


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
def soup(small_book):
    html = (small_book / "_build/html/book/softmax.html").read_text("utf-8")
    return BeautifulSoup(html, "html.parser")


def plain(html):
    """Elements and attributes, however they are written."""
    return str(BeautifulSoup(html, "html.parser").find("svg"))


def test_both_arrangements_are_on_the_page_whole(soup):
    boxes = soup.select("figure .drawing")
    assert len(boxes) == 2
    for box, name in zip(boxes, ("equation", "pages"), strict=True):
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


def test_a_caption_has_a_number_that_text_refers_to(small_book, soup):
    numbers = [caption.get_text() for caption in soup.select("figcaption .caption-number")]
    assert [number.strip() for number in numbers] == ["Fig. 1", "Fig. 2"]
    links = [link.get_text() for link in soup.select("p > a.internal")]
    assert links == ["Fig. 1", "Fig. 2"]
    notebook = nbformat.read(small_book / "notebooks/softmax.ipynb", as_version=4)
    texts = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert "*Fig. 1.* One query, one row." in texts and "*Fig. 2.* Three texts." in texts
    assert "[Fig. 1](" in texts and "[Fig. 2](" in texts


def test_the_strip_is_under_the_title_with_its_part_lit(soup):
    (strip,) = soup.select(".drawing.strip")
    svgs = strip.select("svg")
    assert len(svgs) == 2
    for svg in svgs:
        assert svg["role"] == "img" and svg["aria-label"].endswith("is about softmax.")
        assert "softmax" in svg.get_text()
    before = strip.find_previous_siblings()
    assert {e.name for e in before} <= {"h1", "p", "span"} and len(before) <= 4


@pytest.fixture
def visit(new_page, small_site):
    with visiting(new_page, small_site) as go:
        yield partial(go, "softmax")


def test_the_arrangement_that_fits_is_shown(visit):
    page = visit()
    for width, shown in ((1280, "wide"), (820, "wide"), (390, "narrow"), (360, "narrow")):
        page.set_viewport_size({"width": width, "height": 900})
        seen = page.evaluate(
            """() => [...document.querySelectorAll(".drawing")].map(box => {
             const svg = [...box.querySelectorAll("svg")].filter(e => e.checkVisibility());
             const least = Math.min(...[...svg[0].querySelectorAll("[font-size]")]
               .map(e => parseFloat(e.getAttribute("font-size"))));
             const scale = svg[0].clientWidth / svg[0].viewBox.baseVal.width;
             return [svg.map(e => e.parentElement.className).join(), least * scale];
           })"""
        )
        assert [kind for kind, _ in seen] == [f"drawing-{shown}"] * 3
        if width >= 390:
            assert min(size for _, size in seen) >= 10.5
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_strip_moves_nothing(new_page, visit):
    """It has its size before anything else has arrived."""
    watch = """window.moved = 0;
    const add = (list) => list.getEntries().forEach((e) => { moved += e.value; });
    new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });"""
    page = new_page(width=390)
    if "layout-shift" not in page.evaluate("PerformanceObserver.supportedEntryTypes"):
        pytest.skip("Firefox does not measure what moves while a page loads")
    page.add_init_script(watch)
    visit(page=page)
    page.evaluate(QUIET)
    assert page.evaluate("moved") < 0.01
