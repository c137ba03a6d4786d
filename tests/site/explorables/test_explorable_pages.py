"""The explorable "pages" in a browser: it shows what its script computes; every control."""

import numpy as np
import pytest
from hosts import host, state
from marks import STEADY, assert_inside, assert_shows, assert_still

from attention_src.explorables.pages import START, WORDS
from attention_src.explorables.pages_memory import SIZES

NAME = "pages"


def press(page, rng):
    """Something that a reader may do."""
    figure = host(page, NAME)
    enabled = figure.locator(".ae-controls button:enabled")
    what = rng.integers(10)
    if what < 5:
        figure.locator(".ae-next").click()
    elif what < 7:
        figure.locator("input").fill(str(rng.integers(len(SIZES))))
    else:
        enabled.nth(int(rng.integers(enabled.count()))).click()


@pytest.mark.parametrize("width", [390, 688])
def test_whatever_one_presses_fits(show, width):
    page = show(NAME, width=width, **STEADY)
    rng = np.random.default_rng(width)
    for _ in range(12):
        press(page, rng)
        assert_inside(page, NAME)
    assert_still(page, NAME)
    assert_shows(page, NAME)


@pytest.mark.parametrize("width", [390, 688])
def test_each_page_size_and_both_policies_fit(show, width):
    page = show(NAME, width=width, **STEADY)
    figure = host(page, NAME)
    figure.get_by_text("Begin D like A").click()
    for policy in WORDS["policies"].values():
        figure.get_by_role("button", name=policy, exact=True).click()
        for i in range(len(SIZES)):
            figure.locator("input").fill(str(i))
            assert_inside(page, NAME)
    assert_still(page, NAME)
    assert_shows(page, NAME)


def test_what_cannot_happen_is_not_offered(show):
    page = show(NAME, **STEADY)
    figure = host(page, NAME)
    figure.get_by_role("button", name="reserve each limit").click()
    figure.get_by_text("Begin D like A").click()
    figure.get_by_role("button", name="B", exact=True).click()
    figure.get_by_role("button", name="End B").click()
    assert state(page, NAME)["waits"] == {"D": 10}
    assert figure.get_by_role("button", name="End B").is_disabled()
    assert_shows(page, NAME)


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
