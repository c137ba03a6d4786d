"""The explorable "induction" in a browser: any text, any place in it, and heads by keyboard."""

import pytest
from hosts import host, state
from marks import STEADY, assert_inside, assert_shows, assert_still

from attention_src.models.planted import PlantedModel

NAME = "induction"
ROLES = list(PlantedModel.load().truth.values())
LETTERS = {"Ab-3 ^é c" + 20 * "d": "abcddddddd"}  # only letters are read, and ten at most


@pytest.mark.parametrize("width", [390, 688])
def test_texts_at_their_places(show, width):
    page = show(NAME, width=width, **STEADY)
    field = host(page, NAME).get_by_role("textbox")
    for typed in ("banana", "abcdefghij", "z", "", *LETTERS):
        text = LETTERS.get(typed, typed)
        field.fill(typed)
        assert field.input_value() == state(page, NAME)["text"] == text
        assert state(page, NAME)["at"] == len(text)
        for at in {len(text), len(text) // 2, 0}:
            host(page, NAME).get_by_role("button", name=f"place {at}: {('^' + text)[at]}").click()
            assert state(page, NAME)["at"] == at
            assert_inside(page, NAME)
    assert_still(page, NAME)
    assert_shows(page, NAME)


def test_by_keyboard(show):
    page = show(NAME, **STEADY)
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    page.keyboard.type("n")
    assert state(page, NAME)["text"] == "stoneston"
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")  # previous
    assert state(page, NAME)["silent"] == ["previous"]
    page.keyboard.press("Space")
    assert state(page, NAME)["silent"] == []
    for _ in ROLES:
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == "place 9: n"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert state(page, NAME)["at"] == 7
    assert page.evaluate("document.activeElement.ariaLabel") == "place 7: t"
    assert_shows(page, NAME)
    page.keyboard.press("Home")
    assert state(page, NAME)["at"] == 0
