"""The explorable "difference": weights, error and bars are what NumPy says; every control."""

import numpy as np
import pytest
from hosts import host, state
from marks import STEADY, assert_still, box, marks, points, said, until

from attention_src.explorables.difference import START, error_left, weigh

NAME = "difference"
REPORTS = np.array([START["lisbon"], START["oslo"]], float)
WANTED = REPORTS[0] - REPORTS[1]


def minus(text):
    return text.replace("−", "-")


def assert_right(page):
    """All numbers and bars of the figure against NumPy."""
    now, seen = state(page, NAME), marks(page, NAME)
    at = now["at"][: now["heads"]]
    left = error_left(at)
    assert now["left"] == pytest.approx(left, abs=1e-12)
    assert seen["left"]["words"] == f"{100 * left + 1e-9:.0f} %"
    np.testing.assert_allclose(now["answer"], np.sum(at, axis=0) @ REPORTS, atol=1e-12)
    np.testing.assert_allclose(now["wanted"], WANTED)
    for head, point in enumerate(at):
        weights, factor = weigh(point)
        assert minus(seen[f"factor{head}"]["words"]) == f"× {factor + 0.0:.2f}"
        wide = [box(seen[f"bar{head}-{city}"])[2] for city in ("lisbon", "oslo")]
        np.testing.assert_allclose(np.array(wide) / sum(wide), weights, atol=1e-3)
        assert seen[f"share{head}-oslo"]["words"] == f"Oslo {weights[1]:.2f}"
    assert f"factor{len(at)}" not in seen
    unit = box(seen["want3"])[3] / 5  # pixels for a degree: the fourth day is 5 below
    for day in range(6):
        assert minus(seen[f"wanted{day}"]["words"]) == f"{WANTED[day]:.0f}"
        tall = min(abs(now["answer"][day]), 6) * unit
        assert box(seen[f"out{day}"])[3] == pytest.approx(tall, abs=0.02)
    assert f"Error left: {100 * left + 1e-9:.0f} %" in said(page, NAME)


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


@pytest.mark.parametrize("width", [390, 688, 960])
def test_every_state_is_what_numpy_says(show, width):
    page = show(NAME, width=width, **STEADY)
    assert_right(page)
    for target in ((1, 0.2), (-0.3, -0.9), (1.2, -1.2), (0, 0)):
        drag(page, 0, *target)
        assert_right(page)
    host(page, NAME).get_by_role("button", name="two heads").click()
    drag(page, 1, 0, -1)
    drag(page, 0, 1, 0)
    assert state(page, NAME)["at"] == [[1, 0], [0, -1]]
    assert_right(page)
    assert_still(page, NAME)
    assert said(page, NAME).endswith("One head brings the plus, the other the minus.")


def test_one_head_gets_no_further_than_half():
    """The best of all places that one head can be at, against the least squares of that side."""
    best = min(
        error_left([[x, y]])
        for x in np.linspace(-1.3, 1.3, 53)
        for y in np.linspace(-1.3, 1.3, 53)
        if x * y >= 0
    )
    assert best == pytest.approx(0.5, abs=1e-9)
    assert error_left([[1, 0]]) == error_left([[0, -1]]) == best
    assert error_left([[1, 0], [0, -1]]) == 0


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
    assert_right(page)


def test_by_touch_on_a_phone(show):
    page = show(NAME, width=390, has_touch=True, is_mobile=True, **STEADY)
    host(page, NAME).get_by_role("button", name="two heads").tap()
    assert state(page, NAME)["heads"] == 2
    svg = host(page, NAME).locator("svg.ae-scene")
    (x0, y0), _ = points(marks(page, NAME)["head1"])
    svg.tap(position={"x": x0 - 60, "y": y0 + 60})
    at = state(page, NAME)["at"][1]
    assert at[0] < 0 and at[1] < 0
    assert_right(page)


def test_a_change_glides_and_ends_where_it_should(show):
    page, still = show(NAME), show(NAME, **STEADY)
    for each in (page, still):
        host(each, NAME).get_by_role("button", name="two heads").click()
    assert until(page, lambda: marks(page, NAME) == marks(still, NAME))
