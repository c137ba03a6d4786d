"""The explorable "masking" in a browser: its cells are hidden by mouse, finger and keyboard."""

import numpy as np
from hosts import cell, finger, host, middle, mouse, state
from marks import STEADY, assert_shows, said

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


def test_a_click_hides_a_cell_or_a_column_and_shows_it(show):
    page = show(NAME, **STEADY)
    coin = host(page, NAME).get_by_role("button", name="toss 3:")
    column = hidden(*((i, 4) for i in range(N)))
    for place, mask in ((cell(page, 2, 4), hidden((2, 4))), (coin, column)):
        place.click()
        assert_mask(page, mask)
        assert said(page, NAME) == "6 of 7 called right."
        place.click()
        assert_mask(page, ALL)


def test_a_drag_paints_what_its_first_cell_began(show):
    page = show(NAME, **STEADY)
    # There and back: still hiding, not toggling.
    mouse(page, [middle(cell(page, 0, j)) for j in (2, 3, 4, 5, 6, 5, 4, 3, 2)])
    mask = hidden(*((0, j) for j in range(2, 7)))
    assert_mask(page, mask)
    # After the button is up, moving paints nothing.
    page.mouse.move(*middle(cell(page, 5, 0)), steps=5)
    assert_mask(page, mask)


def test_the_start_cannot_be_hidden(show):
    """Without it the model would be reduced to luck while the future stays in sight."""
    page = show(NAME, **STEADY)
    start = host(page, NAME).get_by_role("button", name="the start: always seen")
    for place in (start, cell(page, 3, 0)):
        place.click(force=True)
    assert_mask(page, ALL)
    mouse(page, [middle(cell(page, 3, j)) for j in range(3)])
    assert_mask(page, hidden((3, 1), (3, 2)))


def test_a_finger_paints_sideways_and_taps_and_where_it_scrolls_it_paints_nothing(show):
    page = show(NAME, "softmax", width=390, has_touch=True, is_mobile=True, **STEADY)
    cell(page, 0, 2).tap()
    finger(page, [middle(cell(page, 1, j)) for j in range(3, 6)])
    mask = hidden((0, 2), (1, 3), (1, 4), (1, 5))
    assert_mask(page, mask)
    x, y = middle(cell(page, 5, 1))
    finger(page, [(x, y), (x, y - 200)])
    assert page.evaluate("scrollY") > 100
    assert_mask(page, mask)


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
    assert_shows(page, NAME)
