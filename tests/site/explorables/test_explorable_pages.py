"""The explorable "pages" in a browser: what happens to the texts, and what cannot."""

import pytest
from hosts import host, state
from marks import STEADY, assert_inside, assert_shows

from attention_src.explorables.pages import START, WORDS

NAME = "pages"


@pytest.mark.parametrize("width", [390, 688])
def test_whatever_happens_fits_and_what_cannot_is_not_offered(show, width):
    page = show(NAME, width=width, **STEADY)
    figure = host(page, NAME)
    steps = ["Begin D like A", WORDS["next"], WORDS["policies"]["reserve"], "B", "End B"]
    for words in [*steps, *(3 * [WORDS["next"]]), WORDS["policies"]["pages"], "A", "End A"]:
        figure.get_by_role("button", name=words, exact=True).click()
        assert_inside(page, NAME)
        assert_shows(page, NAME)
        if words == "End B":
            assert state(page, NAME)["waits"] == {"D": 10}
            assert figure.get_by_role("button", name="End B").is_disabled()


def test_by_keyboard(show):
    page = show(NAME, **STEADY)
    figure = host(page, NAME)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert state(page, NAME)["length"]["A"] == 12
    figure.locator("input").focus()
    page.keyboard.press("ArrowRight")
    assert state(page, NAME)["size"] == 8
    assert figure.locator("input").get_attribute("aria-valuetext") == "8 slots"
    page.keyboard.press("Home")
    assert figure.locator("input").get_attribute("aria-valuetext") == "1 slot"
    figure.get_by_role("button", name="C", exact=True).press("Enter")
    figure.get_by_text("End C").press("Space")
    assert "C" not in state(page, NAME)["length"]
    assert_shows(page, NAME)
    figure.get_by_text("Start over").press("Enter")
    assert state(page, NAME)["events"] == START["events"]
