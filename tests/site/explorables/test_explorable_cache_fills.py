"""The explorable "cache_fills": tables, changes and counts are what NumPy says; every control."""

import numpy as np
import pytest
from hosts import host, state
from marks import STEADY, assert_still, box, marks, numbers_in, said, shade, until

from attention_src.attention.masks import causal_mask
from attention_src.attention.reference import attention
from attention_src.explorables.cache_fills import TOKENS, WEIGHTS, WORDS, X, rows_computed

NAME = "cache_fills"
WAYS = WORDS["ways"]


def tables(n, both):
    """K and V of both layers after n tokens."""
    x = np.array(X)[:n]
    q, k, v = (x @ np.array(WEIGHTS[name]) for name in ("q1", "k1", "v1"))
    hidden = x + attention(q, k, v, mask=None if both else causal_mask(n))
    second = {name: hidden @ np.array(WEIGHTS[name]) for name in ("k2", "v2")}
    return {"k1": k, "v1": v, **second}


def change(n, both, layer):
    """By what part of its length each older row changed, k and v side by side [n - 1]."""
    old, new = (
        np.hstack([tables(m, both)[f"{name}{layer}"] for name in "kv"])[: n - 1] for m in (n - 1, n)
    )
    return np.linalg.norm(new - old, axis=1) / np.linalg.norm(old, axis=1)


def assert_right(page):
    """All numbers, bars and cells of the figure against NumPy."""
    now, seen = state(page, NAME), marks(page, NAME)
    n, both = now["n"], now["both"]
    for key, table in tables(n, both).items():
        np.testing.assert_allclose(now[key], table, rtol=0, atol=1e-12)
        bars = np.array([[box(seen[f"{key}-{i}{c}"]) for c in range(3)] for i in range(n)])
        middle = np.array([[box(seen[f"{key}-cell{i}{c}"])[1] for c in range(3)] for i in range(n)])
        tall = box(seen[f"{key}-cell00"])[3]
        unit = tall / 2 - 1
        np.testing.assert_allclose(bars[..., 3], np.abs(table) * unit, atol=0.02)
        top = middle + tall / 2 - np.maximum(table, 0) * unit
        np.testing.assert_allclose(bars[..., 1], top, atol=0.02)
        assert f"{key}-{n}0" not in seen
    for layer in (1, 2):
        moved = change(n, both, layer) if n > 1 else []
        news = [seen[f"news{layer}-{i}"]["words"] for i in range(n)]
        same = [f"{100 * part:.0f} %" if part > 1e-9 else "same" for part in moved]
        assert news == [*same, "new"]
        assert (layer == 2 and both) == ("same" not in same) or n == 1
    kept, without = rows_computed(n)
    assert (now["kept"], now["without"]) == (without if both else kept, without)
    assert_work(seen, n, both)
    return seen


def assert_work(seen, n, both):
    """The rows that are drawn as computed, one by one, and their sums."""
    kept, without = rows_computed(n)
    for key, total, again in (
        ("kept", without if both else kept, both),
        ("without", without, True),
    ):
        cells = [f"{key}-{name}{i}-{t}" for t in range(n) for i in range(t + 1) for name in "qkv"]
        solid = [cell for cell in cells if shade(seen[cell]) == 1]
        assert len(solid) == total == int(seen[f"{key}-total"]["words"])
        steps = [int(seen[f"{key}-step{t}"]["words"]) for t in range(n)]
        assert steps == [3 * (t + 1) if again else 3 for t in range(n)]
        assert f"{key}-step{n}" not in seen
        if both:  # the counts of looking back stay beside
            back = {"kept": kept, "without": without}[key]
            assert seen[f"{key}-note"]["words"] == WORDS["back_note"].format(n=back)
    title = "useless" if both else "kept"
    assert seen["kept-title"]["words"] == WORDS[title]


def assert_said(page):
    now = state(page, NAME)
    n, both = now["n"], now["both"]
    words = said(page, NAME)
    if n == 1:
        assert words == WORDS["alone"].format(word="the")
    elif both:
        moved = change(n, True, 2)
        most = TOKENS[int(moved.argmax())]
        share = f"{100 * moved.max():.0f}"
        assert words == WORDS["changes"].format(word=TOKENS[n - 1], most=most, change=share)
    elif n == 5:
        assert numbers_in(words) == [15, 45, 3, 999, 500]
        assert sum(3 * t for t in range(1, 1000)) / (3 * 999) == 500
    else:
        assert words == WORDS["grows"].format(word=TOKENS[n - 1], new=3, all=3 * n)


@pytest.mark.parametrize("width", [390, 688, 960])
def test_every_state_is_what_numpy_says(show, width):
    page = show(NAME, width=width, **STEADY)
    figure = host(page, NAME)
    for way in ("looking both ways", "looking back only"):
        figure.get_by_role("button", name=way).click()
        for _ in TOKENS:
            assert_right(page)
            assert_said(page)
            assert_still(page, NAME)
            figure.locator(".ae-next").click()


def test_the_numbers_that_the_chapter_says(show):
    page = show(NAME, **STEADY)
    now = state(page, NAME)
    assert (now["n"], now["both"], now["kept"], now["without"]) == (3, False, 9, 18)
    assert WAYS == {"false": "looking back only", "true": "looking both ways"}
    q, k = (np.array(X) @ np.array(WEIGHTS[name]) for name in ("q1", "k1"))
    weights = attention(q, k, np.eye(5), mask=causal_mask(5))
    assert weights[2].argmax() == 1  # "bank" looks at "river" most, as the maker says
    assert weights[2, 1] > 0.5


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
    assert_right(page)


def test_a_button_that_is_held_goes_on_and_stops_at_the_end(show):
    page = show(NAME)
    at = host(page, NAME).locator(".ae-next").bounding_box()
    page.mouse.move(at["x"] + 20, at["y"] + 10)
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


def test_by_touch_on_a_phone(show):
    page = show(NAME, width=390, has_touch=True, is_mobile=True, **STEADY)
    host(page, NAME).locator(".ae-next").tap()
    assert state(page, NAME)["n"] == 4
    host(page, NAME).get_by_role("button", name="looking both ways").tap()
    assert state(page, NAME)["both"]
    assert_right(page)


def test_a_change_glides_and_ends_where_it_should(show):
    page = show(NAME)
    still = show(NAME, **STEADY)
    for each in (page, still):
        host(each, NAME).locator(".ae-next").click()
        host(each, NAME).get_by_role("button", name="looking both ways").click()
    assert until(page, lambda: marks(page, NAME) == marks(still, NAME))
