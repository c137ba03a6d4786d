"""The explorable "split_merge" in a browser: a head is lit by mouse and keys; ten colours."""

import pytest
from hosts import host, state
from marks import STEADY, assert_shows, said

from attention_src.explorables import split_merge

NAME = "split_merge"
STEPS = ["x", "reshape", "swapaxes", "merge"]


def press(page, group, words):
    box = host(page, NAME).get_by_role("group", name=group)
    box.get_by_role("button", name=words, exact=True).click()


@pytest.fixture
def page_at(show):
    def visit(heads, step, **options):
        page = show(NAME, **STEADY, **options)
        press(page, "Number of heads", str(heads))
        press(page, "Step", STEPS[step])
        return page

    return visit


def test_heads_are_lit_by_pointing_at_them(page_at):
    page = page_at(4, 2)
    for lit in (3, 1):
        host(page, NAME).get_by_role("button", name=f"wrong: head {lit}", exact=True).hover()
        assert state(page, NAME)["lit"] == lit
    assert_shows(page, NAME)
    press(page, "Step", "merge")
    assert_shows(page, NAME)


def test_tokens_and_roles_have_ten_colours(show):
    page = show(NAME)
    colours = host(page, NAME).evaluate(
        """e => Object.fromEntries(
          ["t0", "t1", "t2", "t3", "t4", "q-fill", "k-fill", "v-fill", "p-fill", "o-fill"].map(
            name => [name, getComputedStyle(e).getPropertyValue(`--ae-${name}`)]))"""
    )
    assert len(set(colours.values())) == 10 and "" not in colours.values()


def test_by_the_keyboard(page_at):
    page = page_at(2, 2)
    head = host(page, NAME).get_by_role("button", name="right: head 0", exact=True)
    head.focus()
    assert state(page, NAME)["lit"] == 0 and head.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Tab")
    assert state(page, NAME)["lit"] == 1
    host(page, NAME).get_by_role("button", name="merge", exact=True).focus()
    page.keyboard.press("Enter")
    assert state(page, NAME)["step"] == 3


def test_fewer_heads_keep_a_head_lit(page_at):
    page = page_at(8, 2)
    host(page, NAME).get_by_role("button", name="right: head 6", exact=True).hover()
    press(page, "Number of heads", "2")
    assert state(page, NAME)["lit"] == 1
    press(page, "Number of heads", "1")
    assert state(page, NAME)["lit"] == 0
    assert said(page, NAME) == split_merge.WORDS["one"]
