"""The explorable "split_merge" in a browser: a head is lit by mouse and keys; ten colours."""

from hosts import host, state
from marks import STEADY, assert_shows, said

from attention_src.explorables import split_merge

NAME = "split_merge"


def press(page, group, words):
    box = host(page, NAME).get_by_role("group", name=group)
    box.get_by_role("button", name=words, exact=True).click()


def button(page, words):
    return host(page, NAME).get_by_role("button", name=words, exact=True)


def test_heads_are_lit_by_pointing_at_them_and_fewer_keep_one_lit(show):
    page = show(NAME, **STEADY)
    press(page, "Number of heads", "8")
    press(page, "Step", "swapaxes")
    for way, lit in (("wrong", 3), ("right", 6)):
        button(page, f"{way}: head {lit}").hover()
        assert state(page, NAME)["lit"] == lit
    assert_shows(page, NAME)
    for heads, lit in (("2", 1), ("1", 0)):
        press(page, "Number of heads", heads)
        assert state(page, NAME)["lit"] == lit
    assert said(page, NAME) == split_merge.WORDS["one"]
    press(page, "Step", "merge")
    assert_shows(page, NAME)


def test_by_the_keyboard(show):
    page = show(NAME, **STEADY)
    press(page, "Number of heads", "2")
    press(page, "Step", "swapaxes")
    head = button(page, "right: head 0")
    head.focus()
    assert state(page, NAME)["lit"] == 0 and head.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Tab")
    assert state(page, NAME)["lit"] == 1
    button(page, "merge").focus()
    page.keyboard.press("Enter")
    assert state(page, NAME)["step"] == 3


def test_tokens_and_roles_have_ten_colours(show):
    page = show(NAME)
    colours = host(page, NAME).evaluate(
        """e => Object.fromEntries(
          ["t0", "t1", "t2", "t3", "t4", "q-fill", "k-fill", "v-fill", "p-fill", "o-fill"].map(
            name => [name, getComputedStyle(e).getPropertyValue(`--ae-${name}`)]))"""
    )
    assert len(set(colours.values())) == 10 and "" not in colours.values()
