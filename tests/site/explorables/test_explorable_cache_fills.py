"""The explorable "cache_fills" in a browser: by keyboard, and a button that is held."""

from hosts import host, middle, state
from marks import STEADY, assert_shows

NAME = "cache_fills"


def test_by_keyboard(show):
    page = show(NAME, **STEADY)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Next token"
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert state(page, NAME)["n"] == 5
    assert page.evaluate("document.activeElement.textContent") == "Start over"
    page.keyboard.press("ArrowLeft")
    assert state(page, NAME)["n"] == 4
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # Back
    assert state(page, NAME)["n"] == 3
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert state(page, NAME)["both"]
    pressed = host(page, NAME).locator("button[aria-pressed=true]").all_text_contents()
    assert pressed == ["looking both ways"]
    page.keyboard.press("ArrowRight")
    assert_shows(page, NAME)


def test_a_button_that_is_held_goes_on_and_stops_at_the_end(show):
    page = show(NAME)
    page.mouse.move(*middle(host(page, NAME).locator(".ae-next")))
    page.mouse.down()
    page.wait_for_function(
        "document.querySelector('[data-explorable]').dataset.state.includes('\"n\":5')"
    )
    page.wait_for_timeout(1800)
    page.mouse.up()
    assert state(page, NAME)["n"] == 5
    host(page, NAME).get_by_role("button", name="Back", exact=True).click()
    page.wait_for_timeout(1000)
    assert state(page, NAME)["n"] == 4
