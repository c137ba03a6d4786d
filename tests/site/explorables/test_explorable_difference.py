"""The explorable "difference" in a browser: its heads are dragged, tapped and moved by keys."""

import numpy as np
import pytest
from drawn import points
from hosts import host, mouse, state
from marks import STEADY, assert_shows, assert_still, marks, said

NAME = "difference"


def drag(page, head, goal):
    """Drag the dot of a head to a point of the plane, which may be out of its reach."""
    seen = marks(page, NAME)
    zero = points(seen["head0"])[0]
    unit = float(seen["ring"]["cx"]) - zero[0]  # the ring is at (1, −1)
    svg = host(page, NAME).locator("svg.ae-scene").bounding_box()
    ends = np.array([state(page, NAME)["at"][head], goal]) * [unit, -unit]
    mouse(page, ends + zero + [svg["x"], svg["y"]])


def test_heads_are_dragged_to_where_weights_can_be(show):
    """Weights are not negative: the two numbers of a head have the sign of its factor."""
    page = show((NAME, "two"), width=390, **STEADY)
    for goal, kept in (((1, -0.4), [1, 0]), ((0.4, -1), [0, -1]), ((-1.2, 0.5), [-1.2, 0])):
        drag(page, 1, goal)
        assert state(page, NAME)["at"][1] == pytest.approx(kept, abs=0.02)
    drag(page, 1, (0, -1))
    drag(page, 0, (1, 0))
    assert state(page, NAME)["at"] == [[1, 0], [0, -1]]
    assert_shows(page, NAME)
    assert said(page, NAME).endswith("0 % of the error is left. Your best: 0 %.")
    host(page, NAME).get_by_role("button", name="Reset").click()
    assert said(page, NAME).endswith("169 % of the error is left. Your best: 169 %.")
    assert_still(page, NAME)


def test_weights_move_and_signs_stay(show):
    page = show((NAME, "signs"), **STEADY)
    box = host(page, NAME)
    slider = box.get_by_role("slider", name="head 1 on Oslo")
    for signs, left in (("equal", "125 %"), ("opposite", "25 %")):
        box.get_by_role("button", name=f"{signs} signs").click()
        slider.fill("1")
        assert f"0.0 and 1.0: {left} of the error is left" in said(page, NAME)
        assert_shows(page, NAME)
    slider.press("ArrowLeft")
    assert "weights on Oslo 0.0 and 0.9: 25 % of" in said(page, NAME)
    assert box.get_by_role("slider", name="head 0", exact=True).count() == 0


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
    assert_shows(page, NAME)
