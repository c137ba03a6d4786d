"""The Sphinx extensions that make the site, each in small."""

import re
import socket
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup
from built_site import wrong_mathml
from docutils import nodes
from docutils.utils import new_document
from sphinx.errors import ExtensionError

from tools.book import macros
from tools.site import assets as site_assets
from tools.site import cells as site_cells
from tools.site import figures as site_figures
from tools.site import math as site_math
from tools.site.server import serving

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
    for name in "qk":
        assert re.search(rf'class="enclosing math-{name}"|class="[^"]*math-{name}', out)
    assert "katex-error" not in out and r"\Q" not in out
    assert set(macros.KATEX) == {rf"\{letter}" for letter in "QKVOP"}


@pytest.mark.parametrize("name", ("align", "gather", "equation", "alignat"))
def test_rows_get_no_second_number(name):
    size = "{1}" if name == "alignat" else ""
    out = site_math.render(rf"\begin{{{name}}}{size} a = b \end{{{name}}}", display=True)
    assert "katex-display" in out and "eqn-num" not in out and "tag" not in out


def test_the_tex_itself_is_not_in_the_page():
    assert r"\frac" not in site_math.render(r"\frac{a}{b}", display=True)


@pytest.mark.parametrize(
    "tex", [r"e^{\operatorname{lse}}", r"x_{\max}", r"\frac{\log}{2}", r"\overset{\log}{x}"]
)
def test_a_function_without_argument_is_one_element(tex):
    out = site_math.render(tex, display=False)
    assert "\u2061" in out and not wrong_mathml(BeautifulSoup(out, "html.parser"))


def test_mathml_of_the_wrong_shape_is_seen():
    math = "<math><msup><mi>e</mi><mi>lse</mi><mo>\u2061</mo></msup></math>"
    assert len(wrong_mathml(BeautifulSoup(math, "html.parser"))) == 1


def test_an_equation_that_cannot_be_set_is_a_warning(monkeypatch):
    warnings = []
    monkeypatch.setattr(site_math._log, "warning", lambda *a, **k: warnings.append((a, k)))
    out = site_math.render(r"\frac{a", display=True, location="book/x.md:3")
    assert out == r"<code>\frac{a</code>"
    assert len(warnings) == 1 and warnings[0][1]["location"] == "book/x.md:3"


# ---- Drawings


def test_a_drawing_takes_the_theme_and_ids_of_its_own():
    page = site_figures.Page()
    first, second = page.inline(SVG), page.inline(SVG)
    assert first.startswith("<svg") and "xlink" not in first
    assert "fill: currentColor" in first and "#767676" not in first
    assert "fill: var(--figure-q); stroke: #123456" in first
    ids = [re.findall(r' id="([^"]+)"', svg) for svg in (first, second)]
    assert not set(ids[0]) & set(ids[1])
    for svg in (first, second):
        clip = re.search(r"url\(#([^)]+)\)", svg)[1]
        assert f'<clipPath id="{clip}">' in svg


def test_a_letter_is_written_once_a_page():
    page = site_figures.Page()
    first, second = page.inline(SVG), page.inline(SVG)
    (letter,) = re.findall(r'href="#([^"]+)"', first)
    assert first.count(f' id="{letter}"') == 1 and second.count(f' id="{letter}"') == 0
    assert f'href="#{letter}"' in second


@pytest.mark.parametrize(
    "path, short",
    [
        ("M 1 2 L 5 2 L 5 7 L 1 7 z ", "M1 2H5V7H1z"),
        ("M 0 0 L 3 4", "M0 0L3 4"),
        ("M 1 1 L 1 5 M 2 5 L 2 5.5", "M1 1V5M2 5V5.5"),
        ("M -1.5 2 L -1.5 -3", "M-1.5 2V-3"),
        ("M 0 0 Q 1 1 2 0 z ", "M0 0Q1 1 2 0z"),
        ("M0,0h5", "M0,0h5"),
    ],
)
def test_shorter_paths(path, short):
    assert site_figures.shorten(path) == short


# ---- Styles


def test_style_sheets_become_one_and_find_their_files(tmp_path):
    (tmp_path / "_static/styles").mkdir(parents=True)
    (tmp_path / "_static/basic.css").write_text('@charset "utf-8";/* a\n { */p{b:url(c.png)}')
    theme = "@font-face{font-family:'Font Awesome 6';src:url(x)}q{r:url(s.png);t:url(data:u)}"
    (tmp_path / "_static/styles/pydata-sphinx-theme.css").write_text(theme)
    (tmp_path / "_static/vendor/katex").mkdir(parents=True)
    (tmp_path / "_static/vendor/katex/katex.min.css").write_text("k{l:url(fonts/m)}")
    assert site_assets.site_css(tmp_path / "_static") == (
        "p{b:url(./c.png)}q{r:url(styles/s.png);t:url(data:u)}k{l:url(vendor/katex/fonts/m)}"
    )


@pytest.mark.parametrize("kind", ("css_files", "script_files"))
def test_an_unknown_style_or_script_is_not_lost_in_silence(kind):
    context = {"css_files": [], "script_files": []}
    context[kind] = [SimpleNamespace(filename="_static/new-widget.js", attributes={})]
    with pytest.raises(ExtensionError, match=r"new-widget\.js"):
        site_assets.choose(None, "book/x", "page.html", context, None)


def test_the_theme_measures_no_boxes_and_a_new_theme_stops_the_build(tmp_path):
    script = tmp_path / "theme.js"
    script.write_text(f"a({site_assets.MEASURED})")
    for _ in range(2):  # a second build finds what the first has written
        site_assets.stop_measuring(script)
        assert script.read_text() == 'a(":not(*)")'
    script.write_text('a(["pre"])')
    with pytest.raises(ExtensionError, match="no longer holds"):
        site_assets.stop_measuring(script)


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


# ---- The server


def test_the_server_speaks_gzip_and_says_no(tmp_path):
    (tmp_path / "index.html").write_text("<p>" + "hello " * 500)
    with serving(tmp_path) as base:
        request = urllib.request.Request(base + "/", headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request) as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
            assert int(answer.headers["Content-Length"]) < 200
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(base + "/../../etc/hostname")


def test_a_browser_that_leaves_is_no_error(tmp_path, capsys):
    (tmp_path / "index.html").write_text("x")
    (tmp_path / "large.woff2").write_bytes(bytes(10**8))
    with serving(tmp_path) as base:
        client = socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2])))
        client.sendall(b"GET /large.woff2 HTTP/1.1\r\n\r\n")
        client.recv(10)
        client.close()
        urllib.request.urlopen(base).close()
    assert capsys.readouterr().err == ""


def test_the_server_needs_a_built_site(tmp_path):
    with pytest.raises(ValueError, match="make book"), serving(tmp_path):
        pass


# ---- Folded code


def test_a_fold_is_named_by_the_first_comment():
    code = "# Imports, and the prices\nimport numpy as np\n\nx = 1\n"
    assert site_cells.title(code) == "Imports, and the prices"
    assert site_cells.length(code) == "2 lines of code"
    assert site_cells.title("#!magic\nx = 1") == site_cells.title("x = 1  # one") == ""
    assert site_cells.length("x = 1") == "1 line of code"


@pytest.mark.parametrize("tag", ["setup", "hide-input", "needs-torch"])
def test_code_is_folded_below_its_output(tag):
    code = nodes.literal_block("", "# The sum\nx = 1")
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
        assert cell[1].astext().startswith("The sum") and code in cell[1].findall()
