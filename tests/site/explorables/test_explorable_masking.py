"""The explorable "masking" in a browser: its cells are painted by mouse, finger and keyboard."""

import numpy as np
from hosts import cell, finger, host, state
from marks import STEADY, assert_shows, said

from attention_src.attention.masks import causal_mask, document_mask
from attention_src.explorables import content
from attention_src.softmax.reference import softmax

NAME = "masking"
N = 6


def assert_mask(page, mask):
    """The page has this mask, and shows what follows from it."""
    np.testing.assert_array_equal(state(page, NAME)["mask"], mask)
    pressed = host(page, NAME).locator(".ae-cells [aria-pressed]")
    values = pressed.evaluate_all("all => all.map(e => e.getAttribute('aria-pressed'))")
    assert values == np.where(mask, "true", "false").ravel().tolist()
    assert_shows(page, NAME)


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_click_toggles_one_pair(show):
    page = show(NAME, **STEADY)
    mask = causal_mask(N)
    cell(page, 4, 1).click()
    mask[4, 1] = False
    assert_mask(page, mask)
    cell(page, 4, 1).click()
    assert_mask(page, causal_mask(N))


def test_a_drag_paints_what_its_first_cell_began(show):
    page = show(NAME, **STEADY)
    page.mouse.move(*middle(cell(page, 5, 0)))
    page.mouse.down()
    for j in range(1, 5):
        page.mouse.move(*middle(cell(page, 5, j)), steps=3)
    page.mouse.move(*middle(cell(page, 5, 0)), steps=9)  # back: still hiding, not toggling
    page.mouse.up()
    mask = causal_mask(N)
    mask[5, :5] = False
    assert_mask(page, mask)
    # After the button is up, moving paints nothing.
    page.mouse.move(*middle(cell(page, 0, 0)), steps=5)
    assert_mask(page, mask)


PHONE = {**STEADY, "width": 390, "has_touch": True, "is_mobile": True}


def test_a_finger_paints_sideways_and_taps(show):
    page = show(NAME, **PHONE)
    cell(page, 0, 3).tap()
    mask = causal_mask(N)
    mask[0, 3] = True
    assert_mask(page, mask)
    finger(page, [middle(cell(page, 5, j)) for j in range(3)])
    mask[5, :3] = False
    assert_mask(page, mask)


def test_a_finger_that_scrolls_paints_nothing(show):
    page = show(NAME, "softmax", **PHONE)
    x, y = middle(cell(page, 5, 1))
    finger(page, [(x, y), (x, y - 200)])
    assert page.evaluate("scrollY") > 100
    assert_mask(page, causal_mask(N))


def test_tokens_hide_and_show_a_whole_row_or_column(show):
    page = show(NAME, **STEADY)
    box = host(page, NAME)
    box.get_by_role("button", name="key my: hide it").click()
    mask = causal_mask(N)
    mask[:, 0] = False
    assert_mask(page, mask)
    box.get_by_role("button", name="key my: show it").click()
    mask[:, 0] = True
    assert_mask(page, mask)
    box.get_by_role("button", name="query sat").and_(box.locator(":not([aria-pressed])")).click()
    mask[2] = False
    assert_mask(page, mask)


def test_by_keyboard(show):
    page = show(NAME, **STEADY)
    for _ in range(6):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the last preset
    assert state(page, NAME)["preset"] == "documents"
    mask = document_mask([0, 0, 0, 1, 1, 1])
    page.keyboard.press("Tab")  # one stop for the whole grid
    assert cell(page, 0, 0).evaluate("e => e === document.activeElement")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Space"):
        page.keyboard.press(key)
    mask[1, 2] = False
    assert_mask(page, mask)
    for key in ("End", "Enter", "ArrowRight", "ArrowDown", "Home", "Space"):
        page.keyboard.press(key)
    mask[1, 5] = True
    mask[2] = False  # Home went to the row's token, which hides the row
    assert_mask(page, mask)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement === document.body")


def test_the_sentence_follows_the_row_one_points_at(show):
    page = show(NAME, **STEADY)
    cell(page, 1, 0).hover()
    p = softmax(content(NAME, {}).given["scores"][1][:2])
    assert said(page, NAME).endswith(f"“cat” looks at my {p[0]:.2f}, cat {p[1]:.2f}.")
