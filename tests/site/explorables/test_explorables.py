"""Every explorable: heard, seen without scripts, in light and dark, on any width, by axe-core."""

import re
from itertools import product

import pytest
from built_site import press
from hosts import DARK_PAGES, LIGHT_PAGES, cell, finger, host, state
from marks import ALONE, rounded, stop_time
from test_accessibility import violations

from attention_src.explorables import HERE, NAMES, content, explorable_html, module


def test_an_example_is_announced_once_the_reader_pauses(show):
    page = show(*NAMES, **ALONE)
    page.wait_for_timeout(600)  # a browser that draws twice at first, as Firefox does, says so
    stop_time(page)
    for name in NAMES:
        spoken = host(page, name).locator('[aria-live="polite"]').last
        before, words = state(page, name), spoken.text_content()
        press(page, name)
        assert state(page, name) != before, name
        assert spoken.text_content() == words, name
        page.clock.run_for(600)
        assert module(name).SAYS in spoken.text_content(), name


PADS = [name for name in NAMES if "\n    drag: " in (HERE / f"{name}.js").read_text("utf-8")]


@pytest.mark.parametrize("name", PADS)
def test_a_pointer_drags_while_it_is_held(show, name):
    page = show(name, width=390)
    before = state(page, name)
    at = host(page, name).locator(".ae-pad").bounding_box()
    x, y = at["x"] + 0.7 * at["width"], at["y"] + 0.3 * at["height"]
    page.mouse.move(x, y)
    assert state(page, name) == before
    page.mouse.down()
    pressed = state(page, name)
    page.mouse.move(x - 40, y + 30)
    dragged = state(page, name)
    assert before != pressed != dragged != before
    page.mouse.move(389, 899)  # beyond the picture
    page.mouse.up()
    beyond = state(page, name)
    page.mouse.move(x, y)
    assert state(page, name) == beyond
    host(page, name).get_by_role("button", name="Reset", exact=True).click()
    assert state(page, name) == before


def test_a_finger_drags_too(show):
    page = show(*PADS, width=390, has_touch=True, is_mobile=True)
    for name in PADS:
        before = state(page, name)
        pad = host(page, name).locator(".ae-pad")
        pad.evaluate("e => e.scrollIntoView({ block: 'center' })")
        at = pad.bounding_box()
        x, y = at["x"] + 0.7 * at["width"], at["y"] + 0.3 * at["height"]
        finger(page, [(x, y), (x - 60, y)])
        dragged = rounded(state(page, name))
        finger(page, [(x - 60, y)])
        assert rounded(state(page, name)) == dragged != before, name


def test_one_is_built_when_it_comes_near(show):
    page = show("softmax", "masking")
    # From the first moment on: what is near when it is first looked at is built.
    page.add_init_script("""const far = new CSSStyleSheet();
      far.replaceSync('h1 { height: 9000px }'); document.adoptedStyleSheets = [far];""")
    page.reload()
    page.wait_for_timeout(300)
    built = page.locator("[data-ready]")
    assert built.count() == 0
    assert page.locator("[data-explorable] img").count() == 2
    room = page.locator("[data-explorable=softmax] .ae-body").bounding_box()["height"]
    page.mouse.wheel(0, 8500)
    page.locator("[data-explorable=softmax][data-ready]").wait_for()
    assert host(page, "softmax").locator(".ae-body").bounding_box()["height"] == room


def test_two_of_a_kind_on_one_page_do_not_meddle(show):
    page = show("softmax", "masking", ("softmax", "temperature"), "masking")
    every = page.locator("[data-ready]")
    assert page.locator("[data-explorable] img:visible").count() == 0
    before = [one.get_attribute("data-state") for one in every.all()]
    cell(page, 3, 1).click()
    every.nth(2).get_by_role("slider", name="temperature").press("ArrowRight")
    after = [one.get_attribute("data-state") for one in every.all()]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, False, True]


def test_without_scripts_the_picture_and_the_sentence_stay(show):
    page = show(*NAMES, java_script_enabled=False)
    for name in NAMES:
        box = page.locator(f'[data-explorable="{name}"]')
        assert box.locator("img").is_visible(), name
        assert box.locator("img").bounding_box()["height"] > 100
        assert box.get_by_text(content(name, {}).sentence).is_visible(), name
        assert box.locator(":is(button, input, select)").count() == 0


def test_on_paper_the_still_stands_in_place_of_what_moves(show):
    page = show(*NAMES, width=688)
    assert not page.locator(".ae-paper:visible").count()
    page.emulate_media(media="print")
    for name in NAMES:
        live = host(page, name).locator(".ae-live")
        assert live.locator(".ae-paper img").is_visible(), name
        assert host(page, name).get_by_text(content(name, {}).sentence).is_visible(), name
        assert not live.locator("svg:visible, :is(button, input, select):visible").count()


# What JupyterLab does to tables, pictures and paragraphs in an output.
JUPYTERLAB = """
.jp-RenderedHTMLCommon { font-size: 14px; line-height: 1.6 }
.jp-RenderedHTMLCommon table { border-collapse: collapse; font-size: 12px; margin: 0 auto 1em }
.jp-RenderedHTMLCommon :is(td, th, tr) { padding: 0.5em; border: none; text-align: right }
.jp-RenderedHTMLCommon th { font-weight: bold }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: #fff }
.jp-RenderedHTMLCommon tbody tr:nth-child(even) { background: #f5f5f5 }
.jp-RenderedHTMLCommon tbody tr:hover { background: #e0f2ff }
.jp-RenderedHTMLCommon p { text-align: left; margin: 0 0 1em }
.jp-RenderedHTMLCommon :is(img, svg) { max-width: 100%; height: auto }
"""
LOOK_OF = """where => [...where.querySelectorAll('.ae-body, .ae-body *')].map(e => {
  const { backgroundColor, height, margin, padding, font, textAlign } = getComputedStyle(e);
  return [e.tagName, e.className.baseVal ?? e.className,
    backgroundColor, height, margin, padding, font, textAlign].join(' | ');
})"""
LOOK = f"() => ({LOOK_OF})(document)"


def test_jupyterlab_s_styles_change_nothing(show):
    page = show("sentence", "softmax", "masking")
    page.wait_for_timeout(200)
    alone = page.evaluate(LOOK)
    page.evaluate("document.querySelector('main').classList.add('jp-RenderedHTMLCommon')")
    # As in JupyterLab: its own style sheet comes first.
    page.evaluate(
        "css => document.head.append(Object.assign(document.createElement('style'),"
        " { textContent: css }))",
        JUPYTERLAB,
    )
    page.wait_for_timeout(200)
    changed = [pair for pair in zip(alone, page.evaluate(LOOK), strict=True) if pair[0] != pair[1]]
    assert not changed, "\n".join("\n".join(pair) for pair in changed[:8])


@pytest.mark.parametrize("width", [390, pytest.param(1000, marks=pytest.mark.weekly)])
def test_each_looks_alone_as_it_does_among_others(show, width):
    """What they share stands in each of them: the last one's must not undo what the first says."""
    # Where a scroll bar takes room, it does on a short page, too.
    scrolls = dict(content="html { overflow-y: scroll }")
    together = show(*NAMES, width=width)
    together.add_style_tag(**scrolls)
    together.wait_for_timeout(200)
    for name in NAMES:
        alone = show(name, width=width)
        alone.add_style_tag(**scrolls)
        alone.wait_for_timeout(200)
        looks = [
            page.locator(f'[data-explorable="{name}"]').evaluate(f"e => ({LOOK_OF})(e)")
            for page in (alone, together)
        ]
        assert looks[0] == looks[1], name


@pytest.mark.parametrize("where", DARK_PAGES)
def test_dark_where_the_page_is_dark_and_light_where_it_is_light(show, where):
    dark, light = (
        show("softmax", page=pages[where])
        .locator(".ae-body")
        .evaluate("e => getComputedStyle(e).backgroundColor.match(/\\d+/g).map(Number)")
        for pages in (DARK_PAGES, LIGHT_PAGES)
    )
    assert max(dark) < 60 and min(light) > 240


def test_the_picture_takes_no_more_room_than_what_replaces_it(new_page):
    """A busy machine paints the picture before the script runs: the page must not jump then."""
    parts = "".join(explorable_html(name) for name in NAMES)
    still = re.sub(r"<script.*?</script>", "", parts, flags=re.S)
    page = new_page()
    page.set_content(f"<!doctype html><meta name='viewport' content='width=device-width'>{still}")
    for width, name in product((390, 700, 1000), NAMES):
        page.set_viewport_size({"width": width, "height": 900})
        body = page.locator(f'[data-explorable="{name}"] .ae-live')
        reserved = body.evaluate("e => parseFloat(getComputedStyle(e).minHeight)")
        assert body.bounding_box()["height"] == pytest.approx(reserved, abs=0.1), name


@pytest.mark.parametrize(
    "pages, width", [(LIGHT_PAGES, 390), (DARK_PAGES, 1280)], ids=["light", "dark"]
)
def test_axe_finds_nothing(show, pages, width):
    page = show(*NAMES, width=width, page=pages["site"])
    page.add_style_tag(content="html[data-theme=dark] body { background: #141618; color: #dfe2e6 }")
    assert violations(page) == []
    host(page, "softmax").get_by_role("slider", name="score of desk").press("PageUp")
    cell(page, 0, 1).click()
    cell(page, 4, 4).focus()
    assert violations(page) == []


def test_the_book_s_page_shows_the_picture_without_scripts(open_page):
    page = open_page("book/masking.html", java_script_enabled=False)
    assert page.locator("[data-explorable=masking] img").first.is_visible()
    assert page.get_by_text(content("masking", {}).sentence).first.is_visible()


def test_on_the_first_page(open_page):
    page = open_page("book/intro.html")
    box = host(page, "sentence")
    box.get_by_role("slider", name="Word").press("ArrowUp")
    assert abs(sum(state(page, "sentence")["weights"]) - 1) < 0.01
    live = box.locator(".ae-live").bounding_box()
    assert live["y"] + live["height"] < 900, "above the fold of a laptop"
