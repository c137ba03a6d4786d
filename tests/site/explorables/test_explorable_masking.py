"""The explorable "masking" in a browser: its cells are hidden by mouse, finger and keyboard."""

import numpy as np
from hosts import cell, finger, host, state
from marks import STEADY, assert_inside, assert_shows, said

from attention_src.explorables.masking import past

NAME = "masking"
N = 8
ALL = np.ones((N, N + 1), bool)


def assert_mask(page, mask):
    """The page has this mask, and shows what follows from it."""
    np.testing.assert_array_equal(state(page, NAME)["mask"], mask)
    pressed = host(page, NAME).locator(".ae-cells [aria-pressed]")
    values = pressed.evaluate_all("all => all.map(e => e.getAttribute('aria-pressed'))")
    assert values == np.where(mask, "true", "false").ravel().tolist()
    assert_shows(page, NAME)


def hidden(*pairs):
    mask = ALL.copy()
    mask[tuple(np.transpose(pairs))] = False
    return mask


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_click_hides_one_cell_and_shows_it(show):
    page = show(NAME, **STEADY)
    cell(page, 2, 4).click()
    assert_mask(page, hidden((2, 4)))
    assert said(page, NAME) == "6 of 7 called right."
    cell(page, 2, 4).click()
    assert_mask(page, ALL)


def test_a_drag_paints_what_its_first_cell_began(show):
    page = show(NAME, **STEADY)
    page.mouse.move(*middle(cell(page, 0, 2)))
    page.mouse.down()
    for j in range(3, 7):
        page.mouse.move(*middle(cell(page, 0, j)), steps=3)
    page.mouse.move(*middle(cell(page, 0, 2)), steps=9)  # back: still hiding, not toggling
    page.mouse.up()
    mask = hidden(*((0, j) for j in range(2, 7)))
    assert_mask(page, mask)
    # After the button is up, moving paints nothing.
    page.mouse.move(*middle(cell(page, 5, 0)), steps=5)
    assert_mask(page, mask)


PHONE = {**STEADY, "width": 390, "has_touch": True, "is_mobile": True}


def test_a_finger_paints_sideways_and_taps(show):
    page = show(NAME, **PHONE)
    cell(page, 0, 2).tap()
    finger(page, [middle(cell(page, 1, j)) for j in range(3, 6)])
    assert_mask(page, hidden((0, 2), (1, 3), (1, 4), (1, 5)))
    assert_inside(page, NAME)


def test_a_finger_that_scrolls_paints_nothing(show):
    page = show(NAME, "softmax", **PHONE)
    x, y = middle(cell(page, 5, 1))
    finger(page, [(x, y), (x, y - 200)])
    assert page.evaluate("scrollY") > 100
    assert_mask(page, ALL)


def test_a_coin_hides_and_shows_its_column(show):
    page = show(NAME, **STEADY)
    box = host(page, NAME)
    box.get_by_role("button", name="toss 3: hide it").click()
    assert_mask(page, hidden(*((i, 4) for i in range(N))))
    box.get_by_role("button", name="toss 3: show it").click()
    assert_mask(page, ALL)


def test_the_start_cannot_be_hidden(show):
    """Without it the model would be reduced to luck while the future stays in sight."""
    page = show(NAME, **STEADY)
    box = host(page, NAME)
    box.get_by_role("button", name="the start: always seen").click(force=True)
    cell(page, 3, 0).click(force=True)
    assert_mask(page, ALL)
    page.mouse.move(*middle(cell(page, 3, 0)))
    page.mouse.down()
    page.mouse.move(*middle(cell(page, 3, 2)), steps=6)
    page.mouse.up()
    assert_mask(page, hidden((3, 1), (3, 2)))


def test_calls_are_counted_since_the_mask_changed(show):
    page = show(NAME, **STEADY)
    again = host(page, NAME).get_by_role("button", name="Toss again")
    for count in (14, 21):
        again.click()
        assert said(page, NAME).endswith(f"under this mask, {count} of {count} so far.")
    cell(page, 0, 2).click()
    assert "so far" not in said(page, NAME)
    host(page, NAME).get_by_role("button", name="Hide nothing").click()
    assert_mask(page, ALL)


def test_by_keyboard(show):
    page = show(NAME, **STEADY)
    for _ in range(3):
        page.keyboard.press("Tab")  # two buttons, then one stop for the whole grid
    assert cell(page, 0, 0).evaluate("e => e === document.activeElement")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Space"):
        page.keyboard.press(key)
    assert_mask(page, hidden((1, 2)))
    for key in ("End", "Enter", "Home", "ArrowDown", "Space", "ArrowRight", "Space"):
        page.keyboard.press(key)
    assert_mask(page, hidden((1, 2), (1, 8), (2, 1)))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement === document.body")


def test_zeros_after_the_softmax_hide_nothing(show):
    page = show((NAME, "after"), **STEADY)
    box = host(page, NAME)
    np.testing.assert_array_equal(state(page, NAME)["mask"], past(N))
    assert said(page, NAME).startswith("7 of 7 called right. The largest hidden weight is 0.")
    box.get_by_role("button", name="−∞ before the softmax").click()
    assert said(page, NAME).startswith("4 of 7 called right. The largest hidden weight is 0.")
    assert said(page, NAME).endswith("Each row's sum is 1.00.")
    cell(page, 0, 2).click()
    box.get_by_role("button", name="Hide the future").click()
    np.testing.assert_array_equal(state(page, NAME)["mask"], past(N))
    assert_shows(page, NAME, state="after")
