"""The Sphinx extensions that make the site, where test_pages and the browser do not see enough."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx.errors import ExtensionError

from tools.book import macros
from tools.site import assets as site_assets
from tools.site import cells as site_cells
from tools.site import figures as site_figures
from tools.site import math as site_math

ROOT = Path(__file__).resolve().parents[2]
SVG = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
 role="img" aria-label="A letter" viewBox="0 0 9 9">
 <defs> <path id="a" d="M 0 0 Q 1 1 2 0 z " transform="scale(0.1)"/> </defs>
 <defs> <clipPath id="c"> <path d="M 0 0 L 9 0 L 9 9 z"/> </clipPath> </defs>
 <g clip-path="url(#c)"> <use xlink:href="#a" style="fill: #767676"/> </g>
 <path d="M 1 2 L 5 2 L 5 7 L 1 7 z " style="fill: #0072b2; stroke: #123456"/>
</svg>"""


# ---- Equations


@pytest.fixture(autouse=True)
def our_node():
    site_math.use_our_node()  # as the extension does: not every computer has a Node of its own


def test_macros_are_set_in_the_course_colours():
    out = site_math.render(r"\Q\K^\top", display=False)
    assert 'class="enclosing math-q"' in out and 'class="enclosing math-k"' in out
    assert set(macros.KATEX) == {rf"\{letter}" for letter in "QKVOP"}


def test_an_equation_that_cannot_be_set_is_a_warning(monkeypatch):
    warnings = []
    monkeypatch.setattr(site_math._log, "warning", lambda *a, **k: warnings.append((a, k)))
    out = site_math.render(r"\frac{a", display=True, location="book/x.md:3")
    assert out == r"<code>\frac{a</code>"
    assert len(warnings) == 1 and warnings[0][1]["location"] == "book/x.md:3"


# ---- Drawings


def test_a_drawing_takes_the_theme_and_ids_of_its_own_and_shares_letters():
    page = site_figures.Page()
    first, second = page.inline(SVG), page.inline(SVG)
    assert "fill: currentColor" in first and "fill: var(--figure-q); stroke: #123456" in first
    clips = [re.search(r"url\(#([^)]+)\)", svg)[1] for svg in (first, second)]
    assert clips[0] != clips[1]
    for svg, clip in zip((first, second), clips, strict=True):
        assert f'<clipPath id="{clip}">' in svg
    (letter,) = re.findall(r'href="#([^"]+)"', first)
    assert f' id="{letter}"' in first and f' id="{letter}"' not in second
    assert f'href="#{letter}"' in second


def test_shorter_paths():
    for path, short in {
        "M 1 2 L 5 2 L 5 7 L 1 7 z ": "M1 2H5V7H1z",
        "M 1 1 L 1 5 M 2 5 L 2 5.5": "M1 1V5M2 5V5.5",
        "M 0 0 L 3 -4": "M0 0L3 -4",
        "M 0 0 Q 1 1 2 0 z ": "M0 0Q1 1 2 0z",
    }.items():
        assert site_figures.shorten(path) == short


# ---- Styles


def test_an_unknown_script_is_not_lost_in_silence():
    scripts = [SimpleNamespace(filename="_static/new-widget.js", attributes={})]
    context = {"css_files": [], "script_files": scripts}
    with pytest.raises(ExtensionError, match=r"new-widget\.js"):
        site_assets.choose(None, "book/x", "page.html", context, None)


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ("light", "dark"))
def test_letters_of_equations_can_be_read(theme):
    """axe-core cannot see these: equations are hidden from it behind their MathML."""
    css = (ROOT / "book/_static/course.css").read_text("utf-8")
    block = re.search(rf'html\[data-theme="{theme}"\] {{(.*?)}}', css, re.DOTALL)[1]
    value = dict(re.findall(r"(--[\w-]+): (#\w+);", block))
    value = {k: v if len(v) == 7 else "#" + "".join(c * 2 for c in v[1:]) for k, v in value.items()}
    page, soft = value["--pst-color-background"], value["--course-soft"]
    for name in ("q", "k", "v", "o", "p", "ink"):
        assert contrast(value[f"--course-{name}"], page) >= 4.5, name
        assert contrast(value[f"--course-{name}"], soft) >= 4.5, name
    for name in "qkvop":  # areas and lines, not letters (WCAG asks 3); the output's is the palest
        assert contrast(value[f"--figure-{name}"], page) >= (2.8 if name == "o" else 3), name
    if theme == "light":
        hues = {name.lower(): hue.lower() for name, hue in macros.COLOURS.items()}
        assert hues == {name: value[f"--figure-{name}"] for name in "qkvop"}


# ---- Folded code


@pytest.mark.parametrize("tag", ["setup", "hide-input", "needs-torch"])
def test_code_is_folded_below_its_output_and_named_by_its_first_comment(tag):
    code = nodes.literal_block("", "# The sum\n\nx = 1")
    source = nodes.container("", code, nb_element="cell_code_source")
    shown = nodes.container("", nodes.Text("2"), nb_element="cell_code_output")
    cell = nodes.container("", source, shown, nb_element="cell_code", classes=[f"tag_{tag}"])
    document = new_document("book/x.md")
    document += cell
    site_cells.fold(SimpleNamespace(), document)
    if tag == "needs-torch":
        assert cell.children == [source, shown]
    else:
        assert cell[0] is shown and cell[1]["tag"] == "details"
        assert cell[1][0].astext().split() == ["The", "sum", "1", "line", "of", "code"]
        assert code in cell[1].findall()
