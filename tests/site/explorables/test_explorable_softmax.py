"""The explorable "softmax" in a browser: its bars by mouse and keys, and keys that come and go."""

from hosts import host, state
from marks import STEADY, assert_shows

NAME = "softmax"


def test_a_score_by_mouse(show):
    page = show(NAME, **STEADY)
    bar = host(page, NAME).get_by_role("slider", name="score of desk").bounding_box()
    middle = bar["y"] + bar["height"] / 2
    page.mouse.move(bar["x"] + bar["width"] * 0.4, middle)
    page.mouse.down()
    page.mouse.move(bar["x"] + bar["width"] * 0.75, middle)
    page.mouse.up()
    assert abs(state(page, NAME)["scores"][3] - 4) < 0.4
    page.mouse.move(bar["x"], middle)
    assert abs(state(page, NAME)["scores"][3] - 4) < 0.4
    assert_shows(page, NAME)


def test_by_keyboard(show):
    page = show(NAME, **STEADY)
    apple = host(page, NAME).get_by_role("slider", name="score of apple")
    for key, score in (("ArrowLeft", 4.1), ("PageUp", 5.1), ("Home", -8), ("ArrowDown", -8)):
        apple.press(key)
        assert state(page, NAME)["scores"][0] == score
    assert apple.get_attribute("aria-valuetext") == "−8.0"
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    assert state(page, NAME)["scores"][1] == 8
    assert_shows(page, NAME)


def test_keys_come_and_go_between_four_and_six(show):
    page = show(NAME, **STEADY)
    box = host(page, NAME)
    add, remove = box.get_by_text("Add key"), box.get_by_text("Remove key")
    assert remove.is_disabled()
    for n in (5, 6):
        add.click()
        assert len(state(page, NAME)["weights"]) == n
        assert box.get_by_role("slider", name="score of").count() == n
    assert add.is_disabled()
    remove.click()
    assert box.get_by_role("slider", name="score of").count() == 5
    assert_shows(page, NAME)
