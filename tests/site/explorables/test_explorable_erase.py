"""The explorable "erase" in a browser: keys and mouse erase, and a token comes back."""

from hosts import host, state
from marks import STEADY, assert_shows, said

NAME = "erase"


def test_what_is_pressed_is_erased_and_comes_back(show):
    page = show(NAME, **STEADY)
    before = state(page, NAME)
    press = host(page, NAME).get_by_role("button", name="erase [CLS]", exact=True)
    assert press.get_attribute("aria-pressed") == "false"
    press.click()
    assert press.get_attribute("aria-pressed") == "true"
    assert_shows(page, NAME)
    host(page, NAME).get_by_role("button", name="erase second the").press(" ")
    assert said(page, NAME).startswith("Erased: [CLS]. 56\u00a0% of the weight is gone")
    host(page, NAME).get_by_role("button", name="erase [SEP]", exact=True).press("Enter")
    assert state(page, NAME)["angle"] == 7.8
    assert said(page, NAME).endswith("The most within 10° so far: 62\u00a0%.")
    for name in ("Erase nothing", "erase second the"):
        host(page, NAME).get_by_role("button", name=name).click()
    now = state(page, NAME)
    assert now["erased"] == before["erased"] and now["best"] > before["best"]
