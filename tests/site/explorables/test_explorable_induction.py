"""The explorable "induction" in a browser: it shows what its script computes; every control."""

import pytest
from hosts import host, state
from marks import STEADY, assert_inside, assert_shows, assert_still

from attention_src.models.planted import PlantedModel

NAME = "induction"
ROLES = list(PlantedModel.load().truth.values())
TEXTS = ["stonesto", "banana", "abcdefghij", "aaaaaaaaaa", "z", ""]


def press(page, *names):
    for name in names:
        host(page, NAME).get_by_role("button", name=name, exact=True).click()


@pytest.mark.parametrize("width", [390, 688])
def test_texts_at_their_places(show, width):
    page = show(NAME, width=width, **STEADY)
    for text in TEXTS:
        host(page, NAME).get_by_role("textbox").fill(text)
        assert state(page, NAME)["at"] == len(text)
        for at in {len(text), len(text) // 2, 0}:
            press(page, f"place {at}: {('^' + text)[at]}")
            assert state(page, NAME)["at"] == at
            assert_inside(page, NAME)
    assert_still(page, NAME)
    assert_shows(page, NAME)


def test_each_head_silenced_alone_and_beside_another(show):
    page = show(NAME, **STEADY)
    for role in ROLES:
        for name in (role, "mean" if role != "mean" else "steady"):
            press(page, name)
            assert_inside(page, NAME)
        press(page, role)
        assert role not in state(page, NAME)["silent"]
        press(page, "Reset")
        assert state(page, NAME)["silent"] == []
    assert_still(page, NAME)


def test_only_letters_are_read_and_ten_at_most(show):
    page = show(NAME, **STEADY)
    field = host(page, NAME).get_by_role("textbox")
    field.fill("Ab-3 ^é c" + 20 * "d")
    assert field.input_value() == state(page, NAME)["text"] == "abcddddddd"
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
