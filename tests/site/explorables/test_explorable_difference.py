"""The explorable "difference" in a browser: it shows what its script computes; every control."""

import numpy as np
import pytest
from hosts import host, state
from marks import STEADY, assert_inside, assert_shows, assert_still, marks, points, said

NAME = "difference"


def drag(page, head, x, y):
    """Drag the dot of a head to a point of the plane, which may be out of its reach."""
    seen = marks(page, NAME)
    (x0, y0), _ = points(seen[f"head{head}"])
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
def test_heads_are_dragged(show, width):
    page = show(NAME, width=width, **STEADY)
    assert_shows(page, NAME)
    for target in ((1, 0.2), (-0.3, -0.9), (1.2, -1.2), (0, 0)):
        drag(page, 0, *target)
        assert_inside(page, NAME)
    host(page, NAME).get_by_role("button", name="two heads").click()
    drag(page, 1, 0, -1)
    drag(page, 0, 1, 0)
    assert state(page, NAME)["at"] == [[1, 0], [0, -1]]
    assert_shows(page, NAME)
    assert_still(page, NAME)
    assert said(page, NAME).endswith("One head brings the plus, the other the minus.")


def test_a_head_stays_where_weights_can_be(show):
    """Weights are not negative: the two numbers of a head have the sign of its factor."""
    page = show(NAME, **STEADY)
    for target, kept in (((1, -0.4), [1, 0]), ((0.4, -1), [0, -1]), ((-1.2, 0.5), [-1.2, 0])):
        drag(page, 0, *target)
        assert state(page, NAME)["at"][0] == pytest.approx(kept, abs=0.02)
    assert "One head gets no further" not in said(page, NAME)
    drag(page, 0, 1, -0.2)
    assert said(page, NAME).endswith("One head gets no further.")


def test_by_keyboard(show):
    page = show(NAME, **STEADY)
    handle = host(page, NAME).get_by_role("slider", name="head 0")
    handle.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    assert state(page, NAME)["at"][0] == pytest.approx([0.6, 0.49])
    assert handle.get_attribute("aria-valuetext") == "0.60 of Lisbon, 0.49 of Oslo"
    assert_shows(page, NAME)


def test_by_touch_on_a_phone(show):
    page = show(NAME, width=390, has_touch=True, is_mobile=True, **STEADY)
    host(page, NAME).get_by_role("button", name="two heads").tap()
    assert state(page, NAME)["heads"] == 2
    svg = host(page, NAME).locator("svg.ae-scene")
    (x0, y0), _ = points(marks(page, NAME)["head1"])
    svg.tap(position={"x": x0 - 60, "y": y0 + 60})
    at = state(page, NAME)["at"][1]
    assert at[0] < 0 and at[1] < 0
    assert_shows(page, NAME)
