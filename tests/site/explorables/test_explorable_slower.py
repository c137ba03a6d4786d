"""The explorable "slower" in a browser: where the text ends, nothing is left to write."""

from hosts import host
from marks import STEADY, assert_inside, assert_shows, said

NAME = "slower"


def test_nothing_is_written_after_the_end(show):
    page = show(NAME, width=320, **STEADY)
    tokens = host(page, NAME).get_by_role("slider", name="tokens so far")
    tokens.fill("900")
    host(page, NAME).get_by_role("button", name="Write").click()
    assert host(page, NAME).get_by_role("button", name="Stop").is_enabled()
    tokens.fill("1024")
    assert host(page, NAME).get_by_role("button", name="Write").is_disabled()
    assert tokens.get_attribute("aria-valuetext") == "1,024"
    assert said(page, NAME).startswith("After 1,024 tokens")
    assert_shows(page, NAME)
    assert_inside(page, NAME)
    host(page, NAME).get_by_role("button", name="Reset").click()
    assert host(page, NAME).get_by_role("button", name="Write").is_enabled()
