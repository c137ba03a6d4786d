"""The explorable "flash" in a browser: what its rows hold and what it counts, after each tile."""

import numpy as np
import pytest
from hosts import host, state

from attention_src.attention.reference import attention
from attention_src.explorables import content

FLASH = content("flash", {}).given
SCORES, VALUES = np.array(FLASH["scores"]), np.array(FLASH["values"], dtype=float)
N, WIDTH = len(VALUES), FLASH["width"]


def tiles(rows, columns, order, causal):
    """The visited tiles, as (queries, keys), in order."""
    queries, keys = ([np.arange(a, min(a + b, N)) for a in range(0, N, b)] for b in (rows, columns))
    if order == "queries":
        pairs = [(i, j) for i in queries for j in keys]
    else:
        pairs = [(i, j) for j in keys for i in queries]
    return [(i, j) for i, j in pairs if not causal or j[0] <= i[-1]]


def held(visited, causal):
    """m, l and a of every row, from all the scores that these tiles hold, at once."""
    seen = np.zeros((N, N), bool)
    for i, j in visited:
        seen[np.ix_(i, j)] = True
    s = np.where(seen & (np.tri(N, dtype=bool) | (not causal)), SCORES, -np.inf)
    m = s.max(axis=1)
    e = np.exp(s - np.where(m == -np.inf, 0, m)[:, None])
    return m, e.sum(axis=1), e @ VALUES


def moved(visited, all_tiles, order):
    """Numbers loaded and stored: whatever is not on the chip already."""
    total, q_block, k_block = (3 * N if order == "keys" and visited else 0), None, None
    for step, (i, j) in enumerate(visited):
        if order == "keys" or q_block != i[0]:
            total += len(i) * WIDTH
        if order == "queries" or k_block != j[0]:
            total += len(j) * (WIDTH + 1)
        q_block, k_block = i[0], j[0]
        if order == "keys":
            total += 6 * len(i)
        elif step + 1 == len(all_tiles) or all_tiles[step + 1][0][0] != i[0]:
            total += 2 * len(i)
    return total


def choose(page, rows, columns, order, causal):
    box = host(page, "flash")
    box.get_by_label("queries in a tile").select_option(str(rows))
    box.get_by_label("keys in a tile").select_option(str(columns))
    box.get_by_label("held on the chip").select_option(order)
    box.get_by_label("causal").set_checked(causal)
    box.get_by_text("Start over").click()
    return box


def as_numbers(texts):
    return [float(text.replace("−", "-").replace("∞", "inf")) for text in texts]


def assert_step_is_right(page, settings, step):
    every = tiles(*settings)
    now = state(page, "flash")
    assert (now["step"], now["tiles"], now["table"]) == (step, len(every), 180)
    m, l, acc = held(every[:step], settings[-1])
    found = [-np.inf if x is None else x for x in now["m"]]
    for got, right in ((found, m), (now["l"], l), (now["acc"], acc)):
        np.testing.assert_allclose(got, right, rtol=1e-12, atol=1e-12)
    assert now["moved"] == moved(every[:step], every, settings[2])
    rows = host(page, "flash").locator("tbody tr")
    for i in range(N):
        shown = as_numbers(rows.nth(i).locator(".ae-held").all_text_contents())
        np.testing.assert_allclose(shown, [m[i], l[i], acc[i]], atol=0.0051)


@pytest.mark.parametrize(
    "settings",
    [
        (2, 2, "queries", False),
        (2, 2, "queries", True),
        (3, 1, "keys", False),
        (1, 3, "keys", True),
        (2, 3, "queries", True),
        (6, 6, "queries", False),
    ],
)
def test_each_step_is_the_reference_s(show, settings):
    page = show("flash")
    box = choose(page, *settings)
    every = tiles(*settings)
    assert_step_is_right(page, settings, 0)
    assert box.locator(".ae-on-chip").count() == 0
    for step in range(1, len(every) + 1):
        box.get_by_text("Next tile").click()
        assert_step_is_right(page, settings, step)
        i, j = every[step - 1]
        assert box.locator(".ae-on-chip").count() == len(i) * len(j)
    box.get_by_text("Next tile").click()
    assert_step_is_right(page, settings, len(every))
    exact = attention(SCORES, np.eye(N), VALUES[:, None], scale=1, causal=settings[-1])[:, 0]
    np.testing.assert_allclose(state(page, "flash")["outputs"], exact)
    box.get_by_text("Back").click()
    assert_step_is_right(page, settings, len(every) - 1)


def test_what_the_chapter_says_about_it(show):
    page = show("flash")
    box = choose(page, 2, 2, "queries", False)
    sums = []
    for _ in range(3):
        box.get_by_text("Next tile").click()
        sums.append(state(page, "flash")["l"][1])  # of "cat"
    assert [round(x, 2) for x in sums[:2]] == [1.76, 1.42] and FLASH["tokens"][1] == "cat"
    choose(page, 1, 1, "queries", False).get_by_text("To the end").click()
    small = state(page, "flash")["moved"]
    choose(page, 2, 2, "queries", False).get_by_text("To the end").click()
    assert (state(page, "flash")["moved"], small) == (78, 132)
    assert choose(page, 2, 2, "queries", True).locator(".ae-skipped").count() == 12
    choose(page, 1, 1, "keys", False).get_by_text("To the end").click()
    assert state(page, "flash")["moved"] == 324 > state(page, "flash")["table"] == 180


def test_by_keyboard(show):
    page = show("flash")
    page.keyboard.press("Tab")
    for _ in range(3):
        page.keyboard.press("Enter")
    assert state(page, "flash")["step"] == 4
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert state(page, "flash")["step"] == 3
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert state(page, "flash")["rows"] == 3


@pytest.mark.parametrize("width", [360, 1000])
def test_nothing_is_cut_off_and_nothing_jumps(show, width):
    page = show("flash", width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    before = host(page, "flash").bounding_box()["height"]
    for settings in ((2, 2, "queries", False), (1, 1, "keys", True), (6, 6, "queries", False)):
        choose(page, *settings).get_by_text("To the end").click()
        assert host(page, "flash").bounding_box()["height"] == before
