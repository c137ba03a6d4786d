"""The explorable "one_query" in a browser: it shows what its script computes; every control."""

import numpy as np
import pytest
from hosts import host, state
from marks import STEADY, assert_shows, marks, marks_under_way, points, said, stop_time, until

from attention_src.explorables import one_query

NAME = "one_query"
KEYS = one_query.KEYS
LOW, HIGH = -1, 2.5
WIDTHS = [390, 960]


@pytest.fixture
def still_page(show):
    """A page where nothing glides."""

    def visit(**options):
        return show(NAME, **STEADY, **options)

    return visit


def press(page, words):
    host(page, NAME).get_by_role("button", name=words, exact=True).click()


def place_of(page, point):
    """Where a point of the plane is on the screen."""
    drawn = marks(page, NAME)
    zero, unit = points(drawn["key0"])[0], points(drawn["key0"])[1][0] - points(drawn["key0"])[0][0]
    box = host(page, NAME).locator(".ae-scene").bounding_box()
    return [box["x"], box["y"]] + zero + unit / KEYS[0, 0] * np.array(point) * [1, -1]


def drag(page, i, goal):
    """Pull the arrow of query i to a point of the plane."""
    page.mouse.move(*place_of(page, state(page, NAME)["queries"][i]))
    page.mouse.down()
    window = page.viewport_size["width"] - 1, page.viewport_size["height"] - 1
    page.mouse.move(*np.clip(place_of(page, goal), 0, window), steps=3)
    page.mouse.up()


@pytest.mark.parametrize("width", WIDTHS)
def test_one_query_by_the_mouse(still_page, width):
    page = still_page(width=width)
    assert_shows(page, NAME)
    for goal in [(-0.63, 1.27), (0, 0), (1.5, 0)]:
        drag(page, 0, goal)
        kept = state(page, NAME)["queries"][0]
        np.testing.assert_allclose(kept, np.round(goal, 1), atol=0.1001)
    drag(page, 0, (9, -9))
    assert state(page, NAME)["queries"][0] == [HIGH, LOW]
    assert_shows(page, NAME)


def test_three_guests_are_dragged(still_page):
    page = still_page(width=390)
    press(page, "all three guests")
    for i, goal in ((1, (-0.6, 1.2)), (0, (1.2, -0.7)), (2, (2.2, 1.8))):
        drag(page, i, goal)
        assert state(page, NAME)["active"] == i
    assert_shows(page, NAME)
    # The row that is lit, and the guest that is shown alone afterwards, is the one just dragged.
    press(page, "one guest")
    assert state(page, NAME)["active"] == 2
    assert_shows(page, NAME)
    press(page, "Reset")
    assert state(page, NAME)["queries"] == one_query.GUESTS.tolist()
    assert state(page, NAME)["active"] == 0


def test_the_question_belongs_to_what_is_shown(show):
    page = show(NAME)
    for view, button in ((1, "all three guests"), (0, "one guest")):
        press(page, button)
        for kind, lines in (("ae-question", [one_query.QUESTION]), ("ae-try", one_query.TRIES)):
            spans = host(page, NAME).locator(f".{kind} span")
            seen = [span.text_content() for span in spans.all() if span.is_visible()]
            assert seen == [line[view] for line in lines]


def test_by_the_keyboard(still_page):
    page = still_page()
    query = host(page, NAME).get_by_role("slider", name="query 1")
    query.focus()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert state(page, NAME)["queries"][0] == [1.9, -0.1]
    assert query.get_attribute("aria-valuetext") == "sweet 1.9, wooden −0.1"
    assert_shows(page, NAME)
    chair = host(page, NAME).get_by_role("button", name="chair", exact=True)
    chair.focus()
    assert state(page, NAME)["lit"] == 3 and chair.get_attribute("aria-pressed") == "true"
    assert marks(page, NAME)["from00"]["words"] == "q · chair"
    assert_shows(page, NAME)


def test_a_thing_is_lit_by_pointing_at_it(still_page):
    page = still_page()
    for view in ("one guest", "all three guests"):
        press(page, view)
        for j, name in enumerate(one_query.THINGS):
            host(page, NAME).get_by_role("button", name=name, exact=True).hover()
            assert state(page, NAME)["lit"] == j
        assert_shows(page, NAME)


def test_a_click_brings_the_arrow(still_page):
    page = still_page()
    page.mouse.click(*place_of(page, (-0.5, 1.5)))
    assert state(page, NAME)["queries"][0] == [-0.5, 1.5]
    assert_shows(page, NAME)


def test_a_finger_drags_the_arrow_and_scrolls_beside_it(show):
    page = show(NAME, width=390, height=600, has_touch=True, is_mobile=True)
    page.evaluate("scrollTo(0, 150)")
    finger = page.context.new_cdp_session(page)

    def touch(kind, *places):
        at = [{"x": float(x), "y": float(y)} for x, y in places]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    def swipe(start, step):
        touch("touchStart", start)
        for n in range(1, 7):
            touch("touchMove", start + np.array(step) * n)
            page.wait_for_timeout(20)
        touch("touchEnd")
        page.wait_for_timeout(100)

    before = page.evaluate("scrollY")
    swipe(place_of(page, (2, 0)), (-12, -8))
    assert until(page, lambda: state(page, NAME)["queries"][0][0] < 1)
    q = state(page, NAME)["queries"][0]
    assert q[1] > 0.5
    assert page.evaluate("scrollY") == before
    assert_shows(page, NAME)
    swipe(place_of(page, (-0.8, 2)), (0, -12))
    assert until(page, lambda: page.evaluate("scrollY") > before)
    assert state(page, NAME)["queries"][0] == q


def test_what_stays_glides_and_calm_readers_see_it_at_once(show):
    page = show(NAME)
    under_way = marks_under_way(page, NAME, "all three guests")
    page.clock.run_for(900)
    there = marks(page, NAME)
    assert "step-dot" in under_way and "step-dot" not in there  # what goes fades
    assert float(under_way["grid-p"]["opacity"]) < 1 == float(there["grid-p"]["opacity"])
    assert float(there["scores00"]["x"]) < float(under_way["scores00"]["x"])  # what stays glides
    page = show(NAME, **STEADY)
    press(page, "all three guests")
    press(page, "one guest")
    at_once = marks(page, NAME)
    assert "grid-p" not in at_once and float(at_once["step-dot"]["opacity"]) == 1
    assert_shows(page, NAME)


def test_the_state_is_said_after_a_pause(show):
    page = show(NAME)
    page.wait_for_timeout(600)  # a browser that draws twice at first, as Firefox does, says so
    stop_time(page)
    spoken = host(page, NAME).locator('[aria-live="polite"]')
    before = spoken.text_content()
    drag(page, 0, (0.5, 2))
    assert spoken.text_content() == before
    page.clock.run_for(600)
    assert spoken.text_content() != before
    assert spoken.text_content().startswith("Weights: apple 0.")
    assert spoken.text_content().endswith(said(page, NAME))
