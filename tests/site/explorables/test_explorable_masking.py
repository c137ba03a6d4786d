"""The explorable "masking": its masks are the package's, by mouse, finger and keyboard."""

from itertools import pairwise

import numpy as np
import pytest
from built_site import come_near
from hosts import (
    MASKING,
    PRESETS,
    assert_masking_is_right,
    background,
    cell,
    host,
    state,
)

from attention_src.softmax import reference


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_is_the_package_s_mask(show, name):
    page = show("masking")
    box = host(page, "masking")
    box.get_by_text("everything", exact=True).click()
    box.get_by_text(name, exact=True).click()
    assert_masking_is_right(page, PRESETS[name])
    pressed = box.locator('.ae-controls [aria-pressed="true"]').all_text_contents()
    assert pressed == [name]
    scores = box.locator("td button small").all_text_contents()
    assert scores == [f"{s:.1f}".replace("-", "−") for row in MASKING["scores"] for s in row]


def test_a_click_toggles_one_pair(show):
    page = show("masking")
    mask = PRESETS["causal"].copy()
    cell(page, 4, 1).click()
    mask[4, 1] = False
    assert_masking_is_right(page, mask)
    assert state(page, "masking")["preset"] is None
    text = host(page, "masking").locator(".ae-sentence").text_content()
    assert text == f"Your own mask: {mask.sum()} of 36 pairs may look."
    cell(page, 4, 1).click()
    assert_masking_is_right(page, PRESETS["causal"])


def test_a_drag_paints_what_its_first_cell_began(show):
    page = show("masking")
    page.mouse.move(*middle(cell(page, 5, 0)))
    page.mouse.down()
    for j in range(1, 5):
        page.mouse.move(*middle(cell(page, 5, j)), steps=3)
    page.mouse.move(*middle(cell(page, 5, 0)), steps=9)  # back: still hiding, not toggling
    page.mouse.up()
    mask = PRESETS["causal"].copy()
    mask[5, :5] = False
    assert_masking_is_right(page, mask)
    # After the button is up, moving paints nothing.
    page.mouse.move(*middle(cell(page, 0, 0)), steps=5)
    assert_masking_is_right(page, mask)


def finger(page, points):
    """Put a finger down on the first point, move it through the others, and lift it."""
    session = page.context.new_cdp_session(page)

    def touch(kind, *at):
        touches = [{"x": x, "y": y} for x, y in at]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    touch("touchStart", points[0])
    for (x0, y0), (x1, y1) in pairwise(points):
        for share in np.linspace(0.1, 1, 10):
            touch("touchMove", (x0 + share * (x1 - x0), y0 + share * (y1 - y0)))
            page.wait_for_timeout(20)
    touch("touchEnd")
    page.wait_for_timeout(300)


PHONE = {"width": 390, "has_touch": True, "is_mobile": True}


def test_a_finger_paints_sideways_and_taps(show):
    page = show("masking", **PHONE)
    cell(page, 0, 3).tap()
    mask = PRESETS["causal"].copy()
    mask[0, 3] = True
    assert_masking_is_right(page, mask)
    finger(page, [middle(cell(page, 5, j)) for j in range(3)])
    mask[5, :3] = False
    assert_masking_is_right(page, mask)


def test_a_finger_that_scrolls_paints_nothing(show):
    page = show("masking", "softmax", **PHONE)
    x, y = middle(cell(page, 5, 1))
    finger(page, [(x, y), (x, y - 200)])
    assert page.evaluate("scrollY") > 100
    assert_masking_is_right(page, PRESETS["causal"])


def test_tokens_hide_and_show_a_whole_row_or_column(show):
    page = show("masking")
    box = host(page, "masking")
    box.locator("thead button").nth(0).click()
    mask = PRESETS["causal"].copy()
    mask[:, 0] = False
    assert_masking_is_right(page, mask)
    box.locator("thead button").nth(0).click()
    mask[:, 0] = True
    assert_masking_is_right(page, mask)
    box.locator("tbody th button").nth(2).click()
    mask[2] = False
    assert_masking_is_right(page, mask)


def test_a_row_that_sees_nothing_is_zero_and_says_so(show):
    page = show("masking")
    cell(page, 0, 0).click()
    mask = PRESETS["causal"].copy()
    mask[0, 0] = False
    assert_masking_is_right(page, mask)
    said = host(page, "masking").locator(".ae-entropy").text_content()
    assert said.startswith("“my” may look at nothing: all weights are 0")


def test_masking_by_keyboard(show):
    page = show("masking")
    for _ in range(len(PRESETS)):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the last preset
    assert_masking_is_right(page, PRESETS["documents"])
    page.keyboard.press("Tab")  # one stop for the whole grid
    assert cell(page, 0, 0).evaluate("e => e === document.activeElement")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Space"):
        page.keyboard.press(key)
    mask = PRESETS["documents"].copy()
    mask[1, 2] = False
    assert_masking_is_right(page, mask)
    for key in ("End", "Enter", "ArrowRight", "ArrowDown", "Home", "Space"):
        page.keyboard.press(key)
    mask[1, 5] = True
    mask[2] = False  # Home went to the row's token, which hides the row
    assert_masking_is_right(page, mask)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement === document.body")


def test_the_sentence_follows_the_row_one_points_at(show):
    page = show("masking")
    cell(page, 1, 0).hover()
    p = reference.softmax(MASKING["scores"][1][:2])
    said = host(page, "masking").locator(".ae-entropy").text_content()
    assert said == f"“cat” looks at my {p[0]:.2f}, cat {p[1]:.2f}."


@pytest.mark.parametrize("theme, width", [("light", 390), ("dark", 1280)])
def test_on_the_masking_page(open_page, theme, width):
    page = open_page("book/masking.html", theme=theme, width=width)
    come_near(page)
    assert_masking_is_right(page, PRESETS["causal"])
    host(page, "masking").get_by_text("prefix", exact=True).click()
    cell(page, 2, 2).click()
    mask = PRESETS["prefix"].copy()
    mask[2, 2] = False
    assert_masking_is_right(page, mask)
    assert (max(background(page, "masking")) < 60) == (theme == "dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
