"""axe-core finds nothing, of any impact, in light and in dark; the keyboard reaches everything."""

from pathlib import Path

import pytest
from built_site import site_pages

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
PAGES = site_pages()
OF_COLOUR = ["color-contrast", "link-in-text-block"]  # the rules to which dark mode matters
OF_WIDTH = ["scrollable-region-focusable", "target-size", "meta-viewport", "css-orientation-lock"]
OPEN_FOLDS = "document.querySelectorAll('details').forEach(d => { d.open = true })"

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
FOCUSED = """() => {
  const e = document.activeElement;
  const index = window.controls.findIndex(
    c => c === e || (e.type === 'radio' && c.name === e.name));
  const style = getComputedStyle(e);
  const ring = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
  return [index, ring, e.outerHTML.slice(0, 120)];
}"""


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
    total = page.evaluate(CONTROLS)
    reached, dim = set(), []
    for _ in range(2 * total + 5):
        page.keyboard.press("Tab")
        index, ring, text = page.evaluate(FOCUSED)
        if index in reached and len(reached) == total:
            break
        if index >= 0:
            reached.add(index)
            if not ring:
                dim.append(text)
    missed = sorted(set(range(total)) - reached)
    texts = page.evaluate("m => m.map(i => window.controls[i].outerHTML.slice(0, 120))", missed)
    return texts, dim


def check_keyboard(page):
    page.evaluate("document.activeElement.blur()")
    missed, dim = unreached(page)
    assert not missed
    assert not dim, "these do not show that they have the focus"


@pytest.mark.parametrize("page", PAGES)
def test_on_a_desk(page, open_page):
    opened = open_page(page)
    opened.evaluate(OPEN_FOLDS)
    opened.wait_for_timeout(200)  # boxes that came into view get their tab stop
    assert not violations(opened)
    check_keyboard(opened)


@pytest.mark.parametrize("page", PAGES)
def test_in_the_dark(page, open_page):
    opened = open_page(page, theme="dark")
    opened.evaluate(OPEN_FOLDS)
    assert not violations(opened, OF_COLOUR)


@pytest.mark.parametrize("page", PAGES)
def test_on_a_phone(page, open_page):
    opened = open_page(page, width=390, height=844)
    for _ in range(2):
        assert opened.evaluate("document.documentElement.scrollWidth") <= 390, "scrolls sideways"
        opened.evaluate(OPEN_FOLDS)
    opened.wait_for_timeout(200)
    assert not violations(opened, OF_WIDTH)
    check_keyboard(opened)


def test_the_menu_on_a_phone(open_page):
    opened = open_page(PAGES[0], width=390, height=844)
    opened.click(".primary-toggle")
    assert not violations(opened)


def test_axe_would_see_a_violation(open_page):
    opened = open_page(PAGES[0])
    opened.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<img src>')")
    assert any("image-alt" in line for line in violations(opened))
    pale = "<p style='color: #ccc; background: #fff'>pale</p>"
    opened.evaluate("p => document.querySelector('main').insertAdjacentHTML('beforeend', p)", pale)
    assert any("pale" in line for line in violations(opened, OF_COLOUR))
