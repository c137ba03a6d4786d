"""The explorable "softmax" in a browser: dots and the bar by mouse, finger and keys."""

import pytest
from hosts import finger, host, middle, mouse, state
from marks import STEADY, assert_shows, marks, said

NAME = "softmax"


def grip(page, name):
    return host(page, NAME).get_by_role("slider", name=name)


def drag(page, name, by):
    """Drag a handle by so many scores."""
    seen, scores = marks(page, NAME), state(page, NAME)["scores"]
    apple, chair = (float(seen[f"dot{j}"]["cx"]) for j in (0, 2))
    x, y = middle(grip(page, name))
    mouse(page, [(x, y), (x + by * (apple - chair) / (scores[0] - scores[2]), y)])


def test_one_and_all_are_dragged(show):
    page = show(NAME, width=390, **STEADY)
    assert said(page, NAME) == "Nothing has been moved yet."
    drag(page, "score of desk", 2)
    assert state(page, NAME)["scores"] == pytest.approx([3, 2, 0, 1], abs=0.051)
    assert "You moved desk by +2.0." in said(page, NAME)
    assert_shows(page, NAME)
    drag(page, "all four", -4)
    assert state(page, NAME)["scores"] == pytest.approx([-1, -2, -4, -3], abs=0.11)
    assert said(page, NAME).endswith(". No share changed.")
    drag(page, "all four", -9)  # no further than to the end of the line
    assert min(state(page, NAME)["scores"]) == -6
    assert_shows(page, NAME)
    host(page, NAME).get_by_role("button", name="Reset").click()
    assert said(page, NAME) == "Nothing has been moved yet."


def test_by_keyboard(show):
    page = show(NAME, **STEADY)
    apple, desk, bar = (
        grip(page, name) for name in ("score of apple", "score of desk", "all four")
    )
    steps = [("ArrowLeft", 2.9), ("PageUp", 3.9), ("PageUp", 4.9), ("PageUp", 5.9), ("PageUp", 6)]
    for key, score in steps:
        apple.press(key)
        assert state(page, NAME)["scores"][0] == score
    assert apple.get_attribute("aria-valuetext") == "6.0"
    assert said(page, NAME).startswith("You moved apple by +3.0.")  # all presses are one move
    bar.press("PageDown")
    assert state(page, NAME)["scores"] == [5, 1, -1, -2]
    assert said(page, NAME) == "You moved all four by −1.0. No share changed."
    assert_shows(page, NAME)
    bar.press("PageUp")
    assert said(page, NAME) == "You moved all four back to where they were. No share changed."
    for _ in range(5):
        desk.press("PageDown")
    bar.press("ArrowRight")
    assert said(page, NAME) == "All four cannot move: apple and desk stand at the ends."
    apple.press("ArrowLeft")
    assert said(page, NAME).startswith("You moved apple by −0.1.")


def test_by_touch_on_a_phone(show):
    page = show(NAME, width=390, has_touch=True, is_mobile=True, **STEADY)
    x, y = middle(grip(page, "score of chair"))
    finger(page, [(x, y), (x + 20, y), (x + 40, y)])
    assert state(page, NAME)["scores"][2] > 1
    assert_shows(page, NAME)
