"""The explorable "difference" in a browser: it shows what its script computes; every control."""

import numpy as np
import pytest
from hosts import host, state
from marks import STEADY, assert_inside, assert_shows, assert_still, marks, points, said

NAME = "difference"


def drag(page, head, x, y):
    """Drag the dot of a head to a point of the plane, which may be out of its reach."""
    seen = marks(page, NAME)
    x0, y0 = points(seen["head0"])[0]
    ring = np.array([float(seen["ring"]["cx"]), float(seen["ring"]["cy"])])
    unit = ring[0] - x0  # the ring is at (1, −1)
    svg = host(page, NAME).locator("svg.ae-scene").bounding_box()
    here = np.array(state(page, NAME)["at"][head])
    for n, point in enumerate((here, [x, y])):
        spot = svg["x"] + x0 + unit * point[0], svg["y"] + y0 - unit * point[1]
        page.mouse.move(*spot, steps=1 if n == 0 else 4)
        if n == 0:
            page.mouse.down()
    page.mouse.up()


@pytest.mark.parametrize("width", [390, 688])
def test_one_head_is_dragged(show, width):
    page = show(NAME, width=width, **STEADY)
    assert_shows(page, NAME)
    for target in ((1, 0.2), (-0.3, -0.9), (1.2, -1.2), (0, 0), (1, -0.2)):
        drag(page, 0, *target)
        assert_inside(page, NAME)
    assert_shows(page, NAME)
    assert_still(page, NAME)
    assert said(page, NAME).endswith("50 % of the error is left. Your best: 50 %.")


@pytest.mark.parametrize("width", [390, 688])
def test_two_heads_are_dragged(show, width):
    page = show((NAME, "two"), width=width, **STEADY)
    assert_shows(page, NAME, state="two")
    drag(page, 1, 0, -1)
    drag(page, 0, 1, 0)
    assert state(page, NAME)["at"] == [[1, 0], [0, -1]]
    assert_shows(page, NAME, state="two")
    assert_still(page, NAME)
    assert said(page, NAME).endswith("0 % of the error is left. Your best: 0 %.")
    host(page, NAME).get_by_role("button", name="Reset").click()
    assert said(page, NAME).endswith("169 % of the error is left. Your best: 169 %.")


@pytest.mark.parametrize("width", [390, 688])
def test_weights_move_and_signs_stay(show, width):
    page = show((NAME, "signs"), width=width, **STEADY)
    box = host(page, NAME)
    slider = box.get_by_role("slider", name="head 1 on Oslo")
    for signs, left in (("equal", "125 %"), ("opposite", "25 %")):
        box.get_by_role("button", name=f"{signs} signs").click()
        slider.fill("1")
        assert f"0.0 and 1.0: {left} of the error is left" in said(page, NAME)
        assert_shows(page, NAME, state="signs")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert "weights on Oslo 0.0 and 0.9: 25 % of" in said(page, NAME)
    assert box.get_by_role("slider", name="head 0", exact=True).count() == 0
    assert_still(page, NAME)


def test_three_states_stand_on_one_page(show):
    """Each has its own state, and scripts come three times."""
    page = show(NAME, (NAME, "two"), (NAME, "signs"), **STEADY)
    every = page.locator("[data-ready]")
    for one in page.locator("[data-explorable]").all():
        one.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelectorAll('[data-ready]').length === 3")
    host(page, NAME).scroll_into_view_if_needed()
    drag(page, 0, 1, 0)
    said_by = every.locator(".ae-sentence").all_text_contents()
    assert [words.partition(" % of the error")[0].split()[-1] for words in said_by] == [
        *("50", "169", "50")
    ]


def test_a_head_stays_where_weights_can_be(show):
    """Weights are not negative: the two numbers of a head have the sign of its factor."""
    page = show(NAME, **STEADY)
    for target, kept in (((1, -0.4), [1, 0]), ((0.4, -1), [0, -1]), ((-1.2, 0.5), [-1.2, 0])):
        drag(page, 0, *target)
        assert state(page, NAME)["at"][0] == pytest.approx(kept, abs=0.02)
    assert said(page, NAME).endswith("Your best: 50 %.")


def test_by_keyboard(show):
    page = show(NAME, **STEADY)
    handle = host(page, NAME).get_by_role("slider", name="head 0")
    handle.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    assert state(page, NAME)["at"][0] == pytest.approx([0.8, 0.29])
    assert handle.get_attribute("aria-valuetext") == "0.80 of Lisbon, 0.29 of Oslo"
    assert_shows(page, NAME)


def test_by_touch_on_a_phone(show):
    page = show((NAME, "two"), width=390, has_touch=True, is_mobile=True, **STEADY)
    svg = host(page, NAME).locator("svg.ae-scene")
    (x0, y0), _ = points(marks(page, NAME)["head0"])
    svg.tap(position={"x": x0 + 60, "y": y0 - 60})
    at = state(page, NAME)["at"][0]
    assert at[0] > 0 and at[1] > 0
    assert_shows(page, NAME, state="two")
