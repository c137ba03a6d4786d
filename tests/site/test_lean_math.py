"""KaTeX's formulas with fewer elements: what is left of each, and where its letters stand."""

import re
import shutil
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tools.site import fonts as site_fonts
from tools.site import math as site_math
from tools.site.server import serving

STATIC = Path(__file__).resolve().parents[2] / "book/_static"
FORMULAS = [
    "x_i",
    "x^2",
    "x_i^2",
    r"W_{\text{out}} + b",
    r"e^{-x_{i_j}^2}",
    r"\sqrt{d_k}\,f'(x), \quad y_{max} \le 3",
    r"\operatorname{softmax}\left(\frac{\Q\K^\top}{\sqrt{d_k}}\right)\V_{ab}",
    r"\frac{e^{s_i/\tau}}{\sum_{j} e^{s_j/\tau}}",
    r"\sum_{i \ne j}^n w_{\P} \hat{x}_i \mathbb{R}^{n \times d}",
    r"\lim_{x \to 0} \log x_{1,2} \ne -\infty",
    r"a \; | \; b_{\!c} = {-}1.5\%, \phantom{x}_k",
    r"\begin{pmatrix} a_1 & b^2 \\ c & d_{\frac{1}{2}} \end{pmatrix}^\top",
    r"\underbrace{\O_n}_{(n, d)} = \mathrm{Var}_x < \tfrac12 \O^{\V}",
]
# The places of all characters and lines of each paragraph, from its corner.
PLACES = """() => [...document.querySelectorAll('p')].map(p => {
  const from = p.getBoundingClientRect(), range = document.createRange(), found = [];
  const note = (what, r) => found.push([what, r.x - from.x, r.y - from.y, r.width, r.height]);
  for (const shown of p.querySelectorAll('.katex-html')) {
    const texts = document.createTreeWalker(shown, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) [...texts.currentNode.data].forEach((c, i) => {
      if (c === '\\u200b') return;
      range.setStart(texts.currentNode, i);
      range.setEnd(texts.currentNode, i + 1);
      note(c, range.getBoundingClientRect());
    });
    for (const line of shown.querySelectorAll('svg, .frac-line'))
      note('', line.getBoundingClientRect());
  }
  note('all', from);
  return found;
})"""


@pytest.fixture(autouse=True)
def our_node():
    site_math.use_our_node()


def shown(tex, display=False):
    """The part of a formula that is to be seen."""
    out = BeautifulSoup(site_math.render(tex, display=display), "html.parser")
    return out.select_one(".katex-html")


@pytest.fixture
def by_katex(monkeypatch):
    """A function: by_katex(tex, display=False), HTML as KaTeX itself writes it."""

    def render(tex, display=False):
        with monkeypatch.context() as patch:
            patch.setattr(site_math, "lean", lambda out, *, display: out)
            return site_math.render(tex, display=display)

    return render


def words(out):
    """The text of a formula, without the marks that keep KaTeX's tables upright."""
    return BeautifulSoup(out, "html.parser").get_text().replace("\u200b", "")


@pytest.mark.parametrize("tex, down", [("x_i", 0.15), ("x^i", -0.363)])
def test_a_script_alone_is_one_element(tex, down):
    letter, script = shown(tex).find_all(True)
    assert letter["class"] == ["mathnormal"] and script.get_text() == "i"
    assert {"script", "sizing", "size3", "mathnormal"} <= set(script["class"])
    top = float(re.search(r"top:(-?[\d.]+)em", script["style"])[1])
    assert top * 0.7 == pytest.approx(down, abs=1e-3)  # 0.7: an em of its own letters


def test_a_script_in_a_script_is_inside_it():
    outer, inner = shown("x_{i_j}").select(".script")
    assert inner.parent is outer and outer.get_text() == "ij" and inner.get_text() == "j"
    assert "size1" in inner["class"]


@pytest.mark.parametrize("tex, display", [("x_i^2", False), (r"\sum_i^n", True), (r"\max_i", True)])
def test_two_scripts_and_limits_stay_as_they_were(tex, display, by_katex):
    plain = BeautifulSoup(by_katex(tex, display), "html.parser")
    out = shown(tex, display)
    assert not out.select(".script")
    for kind in (".vlist-t", ".vlist > span", ".pstrut"):
        styles = [
            [e.get("style", "").strip(";") for e in html.select(kind)] for html in (out, plain)
        ]
        assert styles[0] == styles[1] and styles[0]


def test_a_coloured_letter_is_one_element():
    query, key, script = shown(r"\Q\K^\top").find_all(True)
    assert query["class"] == ["math-q", "mathnormal"] and query.get_text() == "Q"
    assert key["class"] == ["math-k", "mathnormal"] and "script" in script["class"]


def test_a_space_is_a_margin():
    out = shown("a, b")
    assert (
        not out.select(".mspace")
        and out.find(string=",").parent["style"] == "margin-right:0.1667em"
    )


def test_a_strut_is_left_to_the_style_sheet():
    out = shown("x_i")
    assert not out.select(".strut") and out["class"] == ["katex-html", "base"]
    assert "--tall:0.5806em;--low:-0.15em" in out["style"]
    css = (STATIC / "course.css").read_text("utf-8")
    assert "var(--tall)" in css and "var(--low" in css


@pytest.mark.parametrize("display", (False, True))
@pytest.mark.parametrize("tex", FORMULAS)
def test_no_text_is_lost_and_elements_are_fewer(tex, display, by_katex):
    out, plain = site_math.render(tex, display=display), by_katex(tex, display)
    assert words(out) == words(plain)
    assert out.count("<") < plain.count("<")
    assert len(BeautifulSoup(out, "html.parser").select(".katex > math.katex-mathml")) == 1


@pytest.mark.parametrize(
    "tex, said", [("n = 3", "n=3"), (r"\Q", "Q"), (r"0.5 \le a, b", "0.5≤a,b")]
)
def test_letters_in_a_row_are_read_as_they_are_shown(tex, said):
    out = BeautifulSoup(site_math.render(tex, display=False), "html.parser")
    assert not out.select("math, [aria-hidden]") and out.get_text() == said


@pytest.mark.parametrize("tex", ["x_i", "x^2", r"\sqrt{d}", r"\frac12", r"\hat{x}"])
def test_where_places_matter_mathml_is_read(tex):
    out = BeautifulSoup(site_math.render(tex, display=False), "html.parser")
    assert len(out.select(".katex > math")) == len(out.select(".katex-html[aria-hidden]")) == 1


def test_fonts_keep_characters_that_have_no_element_of_their_own():
    out = site_math.render("(x + 7)_8 < 5", display=False)
    everything, _ = site_fonts.characters([f"<p>Never. {out} Z</p>"])
    assert set("(x+7)8<5") <= set(everything) and not set("NZ.") & set(everything)


def test_letters_stand_where_katex_puts_them(new_page, tmp_path, by_katex):
    shutil.copytree(STATIC / "vendor/katex", tmp_path / "katex")
    shutil.copy(STATIC / "course.css", tmp_path)
    head = '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">'
    head += '<link rel="stylesheet" href="katex/katex.min.css">'
    head += '<link rel="stylesheet" href="course.css">'
    places = []
    page = new_page()
    asked = [(tex, display) for tex in FORMULAS for display in (False, True)]
    for render in (by_katex, lambda tex, display: site_math.render(tex, display=display)):
        body = "".join(f"<p>{render(*formula)}</p>" for formula in asked)
        (tmp_path / "index.html").write_text(head + body, "utf-8")
        with serving(tmp_path) as base:
            page.goto(base)
            page.evaluate("() => document.fonts.ready.then(() => true)")
            places.append(page.evaluate(PLACES))
    plain, lean = places
    assert len(plain) == len(lean) == len(asked)
    for formula, before, after in zip(asked, plain, lean, strict=True):
        assert [what for what, *_ in before] == [what for what, *_ in after], formula
        for (what, *one), (_, *other) in zip(before, after, strict=True):
            assert other == pytest.approx(one, abs=0.5), (formula, what)
    page.add_style_tag(content=".katex .script { position: static !important }")
    script = 1  # the second letter of the first formula
    assert abs(page.evaluate(PLACES)[0][script][2] - lean[0][script][2]) > 0.5
