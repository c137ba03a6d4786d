"""The explorable "softmax" in a browser: dots and the bar by mouse, finger and keys; the slider."""

import pytest
from hosts import finger, host, state
from marks import STEADY, assert_inside, assert_shows, assert_still, marks, numbers, said

NAME = "softmax"


def grip(page, name):
    return host(page, NAME).get_by_role("slider", name=name)


def middle(page, name):
    at = grip(page, name).bounding_box()
    return at["x"] + at["width"] / 2, at["y"] + at["height"] / 2


def drag(page, name, by):
    """Drag a handle by so many scores."""
    seen = marks(page, NAME)
    now = state(page, NAME)["scores"]
    places = [numbers(seen[f"dot{j}"], "cx")[0] for j in (0, 2)]
    unit = (places[0] - places[1]) / (now[0] - now[2])
    x, y = middle(page, name)
    page.mouse.move(x, y)
    page.mouse.down()
    for part in (0.5, 1):
        page.mouse.move(max(x + by * unit * part, 0), y)  # Firefox refuses what is outside
    page.mouse.up()


@pytest.mark.parametrize("width", [390, 688])
def test_one_and_all_are_dragged(show, width):
    page = show(NAME, width=width, **STEADY)
    assert said(page, NAME) == "Nothing has been moved yet."
    drag(page, "score of desk", 2)
    assert state(page, NAME)["scores"] == pytest.approx([3, 2, 0, 1], abs=0.051)
    assert "You moved desk by +2.0." in said(page, NAME)
    assert_shows(page, NAME)
    drag(page, "all four", -4)
    assert state(page, NAME)["scores"] == pytest.approx([-1, -2, -4, -3], abs=0.11)
    assert said(page, NAME).endswith(". No share changed.")
    assert_shows(page, NAME)
    drag(page, "all four", -9)  # no further than to the end of the line
    assert min(state(page, NAME)["scores"]) == -6
    assert_shows(page, NAME)
    assert_still(page, NAME)
    host(page, NAME).get_by_role("button", name="Reset").click()
    assert said(page, NAME) == "Nothing has been moved yet."


def test_by_keyboard(show):
    page = show(NAME, **STEADY)
    apple = grip(page, "score of apple")
    steps = [("ArrowLeft", 2.9), ("PageUp", 3.9), ("PageUp", 4.9), ("PageUp", 5.9), ("PageUp", 6)]
    for key, score in steps:
        apple.press(key)
        assert state(page, NAME)["scores"][0] == score
    assert apple.get_attribute("aria-valuetext") == "6.0"
    assert said(page, NAME).startswith("You moved apple by +3.0.")  # all presses are one move
    grip(page, "all four").press("PageDown")
    assert state(page, NAME)["scores"] == [5, 1, -1, -2]
    assert said(page, NAME) == "You moved all four by −1.0. No share changed."
    assert_shows(page, NAME)
    grip(page, "all four").press("PageUp")
    assert said(page, NAME) == "You moved all four back to where they were. No share changed."


def test_all_four_are_stuck_between_the_ends(show):
    page = show(NAME, **STEADY)
    for name, key, presses in (("apple", "PageUp", 3), ("desk", "PageDown", 5)):
        for _ in range(presses):
            grip(page, f"score of {name}").press(key)
    grip(page, "all four").press("ArrowRight")
    assert said(page, NAME) == "All four cannot move: apple and desk stand at the ends."
    assert_shows(page, NAME)
    grip(page, "score of apple").press("ArrowLeft")
    assert said(page, NAME).startswith("You moved apple by −0.1.")


def test_by_touch_on_a_phone(show):
    page = show(NAME, width=390, has_touch=True, is_mobile=True, **STEADY)
    x, y = middle(page, "score of chair")
    finger(page, [(x, y), (x + 20, y), (x + 40, y)])
    assert state(page, NAME)["scores"][2] > 1
    assert_shows(page, NAME)


@pytest.mark.parametrize("width", [320, 390, 688])
def test_the_temperature(show, width):
    page = show((NAME, "temperature"), width=width, **STEADY)
    heat = host(page, NAME).get_by_role("slider", name="temperature")
    for value, worth in (("-0.6", "1.1"), ("0.78", "3.9"), ("0", "2.2")):
        heat.fill(value)
        assert f"the row is worth {worth} keys of 4" in said(page, NAME)
        assert_shows(page, NAME, state="temperature")
        assert_inside(page, NAME)
    assert host(page, NAME).get_by_role("slider", name="score of").count() == 0
    assert_still(page, NAME)


def test_two_states_stand_on_one_page(show):
    page = show(NAME, (NAME, "temperature"), **STEADY)
    drag(page, "score of desk", 1)
    words = page.locator("[data-ready] .ae-sentence").all_text_contents()
    assert words[0].startswith("You moved desk") and words[1].startswith("At temperature 1.00")
