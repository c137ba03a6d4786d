"""The explorable "rope": what it shows is the reference's rotation, by mouse and by keys."""

import numpy as np
import pytest
from hosts import host, state

from attention_src.rope.reference import rotate
from attention_src.rope.scaling import Frequencies


def assert_rope_is_right(page):
    now = state(page, "rope")
    theta = Frequencies([now["step"] / 4**i for i in range(now["pairs"])])
    q, k = (np.repeat(now[name], now["pairs"])[None] for name in ("query", "key"))
    q, k = (rotate(x, [at], scaling=theta)[0] for x, at in ((q, now["m"]), (k, now["n"])))
    np.testing.assert_allclose(now["score"], q @ k / now["pairs"], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(now["turnedQuery"], q[:: now["pairs"]], atol=1e-12)
    np.testing.assert_allclose(now["turnedKey"], k[:: now["pairs"]], atol=1e-12)
    words = host(page, "rope").locator(".ae-entropy").text_content().replace("−", "-")
    assert words == f"Score {now['score']:.3f} at distance n - m = {now['n'] - now['m']}"
    # The dot of the present distance is drawn where the curve says that score is.
    most = np.linalg.norm(now["query"]) * np.linalg.norm(now["key"])
    here = host(page, "rope").locator(".ae-waves .ae-asker").get_attribute("cy")
    assert float(here) == pytest.approx(68 - 56.1 * now["score"] / most, abs=1e-6)


def test_turned_hands_are_the_reference_s_rotation(show):
    page = show("rope")
    box = host(page, "rope")
    assert_rope_is_right(page)
    for m, n, step, pairs in ((0, 0, 1.3, 1), (7, 19, 0.25, 3), (60, 0, 3.1, 4), (2, 40, 0, 2)):
        for label, value in {"query at m": m, "key at n": n, "angle a step": step}.items():
            box.get_by_label(label).fill(str(value))
        box.get_by_label("Pairs").select_option(str(pairs))
        now = state(page, "rope")
        assert (now["m"], now["n"], now["step"], now["pairs"]) == (m, n, step, pairs)
        assert_rope_is_right(page)


def test_moving_both_keeps_the_score_and_moving_one_does_not(show):
    page = show("rope")
    box = host(page, "rope")
    first = state(page, "rope")["score"]
    for button in ("Both +1", "Both +10", "Both +10", "Both +10", "Both +10", "Both +10"):
        box.get_by_text(button, exact=True).click()
        assert state(page, "rope")["score"] == pytest.approx(first)
        assert state(page, "rope")["offset"] == -2
        assert_rope_is_right(page)
    assert state(page, "rope")["m"] < 60  # they began again
    box.get_by_text("Key +1", exact=True).click()
    assert abs(state(page, "rope")["score"] - first) > 0.1
    box.get_by_text("Reset").click()
    assert state(page, "rope")["score"] == first


@pytest.mark.parametrize("width", [390, 1000])
def test_the_turned_query_is_dragged(show, width):
    page = show("rope", width=width)
    dot = host(page, "rope").locator(".ae-asker").first.bounding_box()
    x, y = dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2
    before = state(page, "rope")["turnedQuery"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y + 20)
    page.mouse.up()
    after = state(page, "rope")["turnedQuery"]
    assert after[0] > before[0] + 0.2 and after[1] < before[1] - 0.2
    assert_rope_is_right(page)


def test_rope_by_keyboard(show):
    page = show("rope")
    for _ in range(6):  # four buttons, the choice of pairs, then the first slider
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert state(page, "rope")["m"] == 6
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    assert state(page, "rope")["n"] == 60
    assert_rope_is_right(page)
