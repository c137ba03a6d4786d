"""The explorable "which_key" in a browser: a turn from 0, and the way back to the first keys."""

from hosts import host, state
from marks import STEADY, assert_shows, said

NAME = "which_key"


def test_at_0_none_wins_and_a_turn_from_there_finds_all(show):
    page = show(NAME, **STEADY)
    box = host(page, NAME)
    for name in ("to the right", "up"):
        box.get_by_role("slider", name=name).fill("0")
    assert said(page, NAME).startswith("The query is (0.0, 0.0): all 24 keys score 0.00")
    assert_shows(page, NAME)
    box.get_by_role("button", name="Turn once").click()
    now = state(page, NAME)
    assert now["query"] == [0, 0]
    assert sorted(now["won"]) == now["can"]
    assert said(page, NAME).endswith("So far 6 of 24 (ringed) have been first.")


def test_reset_brings_the_first_keys_back(show):
    page = show(NAME, **STEADY)
    before = state(page, NAME)
    for name in ("Other keys", "Turn once", "Reset"):
        host(page, NAME).get_by_role("button", name=name).click()
    assert state(page, NAME) == before
