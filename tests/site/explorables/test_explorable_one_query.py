"""The explorable "one_query" in a browser: arrows by mouse, finger and keys, and how it moves."""

import numpy as np
from drawn import points
from hosts import finger, host, mouse, state
from marks import ALONE, STEADY, assert_shows, marks, stop_time, until

from attention_src.explorables import one_query

NAME = "one_query"
KEYS = one_query.KEYS
LOW, HIGH = -1, 2.5


def press(page, words):
    host(page, NAME).get_by_role("button", name=words, exact=True).click()


def place_of(page, point):
    """Where a point of the plane is on the screen."""
    zero, tip = points(marks(page, NAME)["key0"])[:2]
    unit = (tip - zero)[0] / KEYS[0, 0]
    box = host(page, NAME).locator(".ae-scene").bounding_box()
    return [box["x"], box["y"]] + zero + unit * np.array(point) * [1, -1]


def drag(page, i, goal):
    """Pull the arrow of query i to a point of the plane."""
    mouse(page, [place_of(page, at) for at in (state(page, NAME)["queries"][i], goal)])


def test_arrows_follow_the_mouse(show):
    page = show(NAME, width=960, **STEADY)
    for goal in [(-0.63, 1.27), (0, 0), (1.5, 0)]:
        drag(page, 0, goal)
        kept = state(page, NAME)["queries"][0]
        np.testing.assert_allclose(kept, np.round(goal, 1), atol=0.1001)
    drag(page, 0, (9, -9))
    assert state(page, NAME)["queries"][0] == [HIGH, LOW]
    page.mouse.click(*place_of(page, (1.5, 0.5)))
    assert state(page, NAME)["queries"][0] == [1.5, 0.5], "a click brings it"
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


def test_a_finger_drags_the_arrow_and_scrolls_beside_it(show):
    page = show(NAME, width=390, height=600, has_touch=True, is_mobile=True, **STEADY)
    page.evaluate("scrollTo(0, 150)")
    before = page.evaluate("scrollY")
    x, y = place_of(page, (2, 0))
    finger(page, [(x, y), (x - 72, y - 48)])
    q = state(page, NAME)["queries"][0]
    assert q[0] < 1 and q[1] > 0.5
    assert page.evaluate("scrollY") == before
    assert_shows(page, NAME)
    x, y = place_of(page, (-0.8, 2))
    finger(page, [(x, y), (x, y - 72)])
    assert until(page, lambda: page.evaluate("scrollY") > before)
    assert state(page, NAME)["queries"][0] == q


def test_by_the_keyboard(show):
    page = show(NAME, **STEADY)
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


def test_each_view_has_its_question_and_lights_what_is_pointed_at(show):
    page = show(NAME, **STEADY)
    for view, button in ((1, "all three guests"), (0, "one guest")):
        press(page, button)
        for kind, lines in (("ae-question", [one_query.QUESTION]), ("ae-try", one_query.TRIES)):
            spans = host(page, NAME).locator(f".{kind} span")
            seen = [span.text_content() for span in spans.all() if span.is_visible()]
            assert seen == [line[view] for line in lines]
        for j, name in enumerate(one_query.THINGS):
            host(page, NAME).get_by_role("button", name=name, exact=True).hover()
            assert state(page, NAME)["lit"] == j
        assert_shows(page, NAME)


def test_what_stays_glides_and_calm_readers_see_it_at_once(show):
    page = show(NAME, **ALONE)
    stop_time(page)
    host(page, NAME).get_by_role("button", name="all three guests").press("Enter")
    page.clock.run_for(80)
    under_way = marks(page, NAME)
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
