"""axe-core finds nothing, of any impact, in light and in dark; the keyboard reaches everything.

axe-core takes seconds on a long page, most of them on each letter of an equation and each token of
code. So it gets equations as text, and of each kind of token the first. And what it finds is mostly
in what many pages share: it tries those that are unlike each other, once a week all.
"""

from pathlib import Path

import pytest
from built_site import FIRST_PAGE, OPEN_FOLDS, chapter_pages, come_near, site_pages, some

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
PAGES = site_pages()
# All that are no chapters, and chapters of each kind.
SLUGS = "intro llm maps multihead"
FEW = {*PAGES} - {*chapter_pages()} | {f"book/{slug}.html" for slug in SLUGS.split()}
CHAPTER = next(page for page in chapter_pages() if page != FIRST_PAGE)
OF_COLOUR = ["color-contrast", "link-in-text-block"]  # the rules to which dark mode matters
OF_WIDTH = ["scrollable-region-focusable", "target-size", "meta-viewport", "css-orientation-lock"]
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}

# Everything a reader can act on and see. Of a group of radio buttons Tab reaches one, as it should:
# the arrow keys reach the others.
CONTROLS = """() => {
  const seen = new Set(), found = [];
  const all = 'a[href], button, summary, input, select, textarea, iframe, [tabindex="0"]';
  for (const e of document.querySelectorAll(all)) {
    const hidden = !e.checkVisibility({ visibilityProperty: true }) || !e.getClientRects().length;
    const group = e.type === 'radio' && 'radio ' + e.name;
    if (hidden || e.disabled || e.tabIndex < 0 || seen.has(group)) continue;
    if (group) seen.add(group);
    found.push(e);
  }
  window.controls = found;
  return found.length;
}"""
# Notes which of them get the focus, and which do not show it.
WATCH = """() => {
  window.reached = new Set(), window.dim = new Set();
  document.addEventListener('focusin', ({ target: e }) => {
    const index = window.controls.findIndex(
      c => c === e || (e.type === 'radio' && c.name === e.name));
    const style = getComputedStyle(e);
    window.reached.add(index);
    const ring = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
    if (index >= 0 && !ring) window.dim.add(e);
  });
}"""
MISSED = """() => [window.controls.filter((_, i) => !window.reached.has(i)), [...window.dim]]
  .map(all => all.map(e => e.outerHTML.slice(0, 120)))"""
# The letters of equations are hidden from axe-core anyway; test_extensions looks at them. A box as
# wide as the equation keeps what scrolls on a phone.
EQUATIONS_AS_TEXT = """() => {
  const all = [...document.querySelectorAll('.katex')];
  const sizes = all.map(e => e.getBoundingClientRect());
  const widths = all.map((e, i) => Math.max(sizes[i].width, e.scrollWidth));
  all.forEach((e, i) => {
    const box = document.createElement('span');
    box.textContent = (e.querySelector('.katex-mathml') ?? e).textContent;
    box.style = 'display: inline-block; overflow: hidden; white-space: nowrap; '
      + `width: ${widths[i]}px; height: ${sizes[i].height}px`;
    e.replaceWith(box);
  });
}"""
# Colours fade over, on a busy computer after more than a second.
IN_DARK = """() => document.documentElement.dataset.theme === 'dark'
  && document.getAnimations().every(fade => fade.playState !== 'running')"""
FEW_TOKENS = """() => {
  const kinds = new Set();
  for (const token of document.querySelectorAll('.highlight pre span[class]')) {
    if (kinds.has(token.className)) token.replaceWith(...token.childNodes);
    kinds.add(token.className);
  }
}"""


def go_dark(page):
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_function(IN_DARK)


def violations(page, rules=None):
    """What axe-core finds, one line each; by all its rules, or by some."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text("utf-8"))
    options = {"resultTypes": ["violations"]}
    if rules is not None:
        options["runOnly"] = rules
    result = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{v['impact']}: {v['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for v in result["violations"]
        for node in v["nodes"][:3]
    ]


def unreached(page):
    """Controls that Tab does not reach, and controls that do not show that they have the focus."""
    many = page.evaluate(CONTROLS)
    page.evaluate(WATCH)
    for _ in range(many + 20):  # in between it stops at boxes that scroll
        page.keyboard.press("Tab")
    return page.evaluate(MISSED)


@pytest.mark.parametrize("page", some(PAGES, FEW))
def test_on_a_phone_and_on_a_desk(page, open_page):
    opened = open_page(page, **PHONE)
    for _ in range(2):
        assert opened.evaluate("document.documentElement.scrollWidth") <= 390, "scrolls sideways"
        opened.evaluate(OPEN_FOLDS)
    opened.wait_for_timeout(200)  # boxes that came into view get their tab stop
    assert not opened.locator(".katex :is(a, button, [tabindex])").count()
    opened.evaluate(FEW_TOKENS)
    opened.evaluate(EQUATIONS_AS_TEXT)
    assert not violations(opened, OF_WIDTH)
    opened.set_viewport_size(DESK)
    come_near(opened)  # so that no control is new to the list of them
    opened.wait_for_timeout(600)  # the theme looks 300 ms later which boxes still scroll
    assert unreached(opened) == [[], []]
    assert not violations(opened)
    go_dark(opened)
    assert not violations(opened, OF_COLOUR)


def test_the_menu_on_a_phone(open_page):
    opened = open_page(PAGES[0], **PHONE)
    opened.click(".primary-toggle")
    assert not violations(opened)


def test_axe_would_see_a_violation_and_a_pale_token(open_page):
    opened = open_page(CHAPTER)
    opened.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<img src>')")
    opened.evaluate(OPEN_FOLDS)  # imports may be folded
    opened.add_style_tag(content=".highlight .kn { color: #ccc !important }")
    opened.evaluate(FEW_TOKENS)
    opened.evaluate(EQUATIONS_AS_TEXT)
    assert any("image-alt" in line for line in violations(opened))
    assert any('<span class="kn">' in line for line in violations(opened, OF_COLOUR))


def test_tab_would_see_what_it_cannot_reach(open_page):
    opened = open_page(PAGES[0])
    opened.evaluate(
        """document.querySelector('main').insertAdjacentHTML('beforeend',
          '<a id=dim href=#>dim</a><button id=lost onfocus="this.blur()">lost</button>')"""
    )
    opened.add_style_tag(content="#dim { outline: none !important; box-shadow: none !important }")
    missed, dim = unreached(opened)
    assert [text[:16] for text in missed] == ['<button id="lost'] and "dim" in dim[0]
