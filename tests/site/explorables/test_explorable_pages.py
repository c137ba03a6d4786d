"""The explorable "pages": the memory is what pages_memory says, slot by slot; every control."""

import re

import numpy as np
import pytest
from hosts import host, state
from marks import STEADY, assert_still, box, marks, numbers_in, said, until

from attention_src.explorables.pages import START, WORDS
from attention_src.explorables.pages_memory import KINDS, POLICIES, SIZES, SLOTS, TEXTS, counts, run

NAME = "pages"


def percent(n):
    return f"{np.floor(100 * n / SLOTS + 0.5):.0f} %"


def wasted(events, size, policy):
    kinds = counts(run(events, size, policy))
    return kinds["reserved"] + kinds["tail"] + kinds["hole"]


def assert_right(page):
    """The state, the numbers and the places of all tokens against the simulator."""
    now, seen = state(page, NAME), marks(page, NAME)
    events, size, policy = now["events"], now["size"], now["policy"]
    memory = run(events, size, policy)
    for name in ("length", "table", "waits"):
        assert now[name] == getattr(memory, name)
    assert [tuple(slot[:2]) for slot in now["slots"]] == memory.slots()
    assert [tuple(one) for one in now["copied"]] == memory.copied
    if policy == "pages":
        assert (now["users"], now["free"]) == (memory.users, memory.free)
    for one in POLICIES:
        assert seen[f"{one}-share"]["words"] == percent(wasted(events, size, one))
    for kind, n in counts(memory).items():
        assert seen[f"count-{kind}"]["words"] == str(n)
        assert seen[f"part-{kind}"]["words"] == percent(n)
    assert_places(seen, memory, size, policy)
    assert_lines(seen, memory, events)
    assert_table(seen, memory, now)
    return memory, seen


def assert_places(seen, memory, size, policy):
    """Every token lies in its slot, and shares its height with those who share it."""
    pitch = box(seen["piece0"])[2] / size if policy == "pages" else None
    if pitch is None:
        name = next(iter(memory.table), None)
        if name is None:
            return
        pitch = box(seen[f"piece{name}"])[2] / TEXTS[name].limit
    drawn = {key for key in seen if key[0] in "ABCD" and key[1:].isdigit()}
    assert drawn == {f"{name}{j}" for name, n in memory.length.items() for j in range(n)}
    slots = memory.slots()
    for name, n in memory.length.items():
        for j in range(n):
            table = memory.table[name]
            slot = table[j // size] * size + j % size if policy == "pages" else table[0] + j
            x, _, wide, tall = box(seen[f"{name}{j}"])
            assert int(x // pitch) == int((x + wide) // pitch) == slot
            assert tall * len(slots[slot][1]) == pytest.approx(30, abs=0.05)
    for slot, (kind, _) in enumerate(slots):
        assert (f"slot{slot}" in seen) == (kind != "token")


def assert_lines(seen, memory, events):
    for name, text in TEXTS.items():
        n = memory.length.get(name)
        label = seen[f"is{name}"]["words"]
        if name in memory.waits:
            assert label == WORDS["waits"]
        elif n is None:
            assert label == WORDS["ended" if f"end {name}" in events else "absent"]
        else:
            assert numbers_in(label) == [n]
            assert (label == WORDS["longest"].format(n=n)) == (n == text.limit)


def assert_table(seen, memory, now):
    """The chosen text's block table, and arrows that end in the middle of its pages."""
    table = memory.table.get(now["chosen"], [])
    entries = [int(seen[f"word{i}"]["words"]) for i in range(len(table))]
    assert entries == table
    assert f"word{len(table)}" not in seen
    for i, entry in enumerate(table):
        end = float(re.findall(r"[\d.]+", seen[f"arrow{i}"]["d"])[6])  # M x y C x y x y x y …
        if now["policy"] == "pages":
            left, _, wide, _ = box(seen[f"piece{entry}"])
            assert end == pytest.approx(left + wide / 2, abs=0.05)
            assert (now["users"][entry] > 1) == (memory.users[entry] > 1)


def assert_said(page, memory, now):
    words = said(page, NAME)
    kinds = counts(memory)
    shared = {
        slot for slot, (kind, who) in enumerate(memory.slots()) if kind == "token" and who[1:]
    }
    found = numbers_in(words)
    if memory.copied:
        [(name, old, copy)] = memory.copied
        others = " and ".join(x for x, table in memory.table.items() if old in table)
        assert words == WORDS["copied"].format(text=name, old=old, copy=copy, others=others)
    elif memory.waits and now["policy"] == "pages":
        assert found == [SLOTS - kinds["token"]]
    elif memory.waits:
        assert found[:2] == [16, kinds["free"] + kinds["hole"]]
        assert found[2] < 16
    elif shared:
        pages = sum(n > 1 for n in memory.users)
        assert found == [len(shared), pages]
    elif now["policy"] == "reserve" and memory.length:
        assert found == [kinds["token"], SLOTS, kinds["reserved"], kinds["hole"], 16]
    elif memory.length and 1 < now["size"] < 16:
        used = sum(n > 0 for n in memory.users)
        most = now["size"] - 1
        assert found == [kinds["token"], used, now["size"], kinds["tail"], most]
    elif memory.length and now["size"] == 1:
        assert found[0] == kinds["token"] == sum(map(len, memory.table.values()))


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


@pytest.mark.parametrize("width", [390, 688, 960])
def test_whatever_one_presses_the_memory_is_right(show, width):
    page = show(NAME, width=width, **STEADY)
    rng = np.random.default_rng(width)
    for _ in range(60):
        memory, _ = assert_right(page)
        assert_said(page, memory, state(page, NAME))
        press(page, rng)
    assert_still(page, NAME)


@pytest.mark.parametrize("width", [390, 688, 960])
def test_each_page_size_and_both_policies(show, width):
    page = show(NAME, width=width, **STEADY)
    figure = host(page, NAME)
    figure.get_by_text("Begin D like A").click()
    for policy in WORDS["policies"].values():
        figure.get_by_role("button", name=policy, exact=True).click()
        for i in range(len(SIZES)):
            figure.locator("input").fill(str(i))
            assert_right(page)
            assert_still(page, NAME)


def test_a_copy_on_write(show):
    page = show(NAME, **STEADY)
    figure = host(page, NAME)
    figure.get_by_text("Begin D like A").click()
    _, seen = assert_right(page)
    assert [seen[f"users{p}"]["words"] for p in (0, 1, 5)] == ["×2"] * 3
    assert said(page, NAME) == WORDS["shared"].format(who="A and D", n="10 tokens", pages="3 pages")
    figure.locator(".ae-next").click()
    memory, seen = assert_right(page)
    assert memory.copied == [("A", 5, 6)]
    assert seen["users6"]["words"] == WORDS["copy"]
    assert seen["users5"]["words"] == ""


def test_each_limit_reserved_leaves_gaps(show):
    page = show(NAME, **STEADY)
    figure = host(page, NAME)
    figure.get_by_role("button", name="reserve each limit").click()
    figure.get_by_text("Begin D like A").click()
    figure.get_by_role("button", name="B", exact=True).click()
    figure.get_by_role("button", name="End B").click()
    memory, _ = assert_right(page)
    assert memory.waits == {"D": 10}
    assert numbers_in(said(page, NAME)) == [16, 16, 12]
    assert figure.get_by_role("button", name="End B").is_disabled()


def test_the_first_state_wastes_what_the_words_say():
    assert wasted(START["events"], 4, "pages") == 4
    assert wasted(START["events"], 4, "reserve") == 28 == wasted(START["events"], 16, "pages")
    assert set(WORDS["kinds"]) == set(KINDS)


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
    memory, _ = assert_right(page)
    assert "C" not in memory.length
    figure.get_by_text("Start over").press("Enter")
    assert state(page, NAME)["events"] == START["events"]


def test_by_touch_on_a_phone(show):
    page = show(NAME, width=390, has_touch=True, is_mobile=True, **STEADY)
    host(page, NAME).locator(".ae-next").tap()
    host(page, NAME).get_by_role("button", name="reserve each limit").tap()
    at = host(page, NAME).locator("input").bounding_box()
    page.touchscreen.tap(at["x"] + at["width"] - 4, at["y"] + at["height"] / 2)
    assert state(page, NAME)["size"] == 16
    assert_right(page)


def test_tokens_glide_and_end_where_they_should(show):
    page, still = show(NAME), show(NAME, **STEADY)
    for each in (page, still):
        host(each, NAME).get_by_text("Begin D like A").click()
        host(each, NAME).locator(".ae-next").click()
        host(each, NAME).locator("input").fill("1")
    assert until(page, lambda: marks(page, NAME) == marks(still, NAME))
