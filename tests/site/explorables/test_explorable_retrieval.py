"""The explorable "retrieval": a query moves, and its weights are the reference's."""

import numpy as np
import pytest
from hosts import host, state

from attention_src.explorables import content
from attention_src.softmax import reference

RETRIEVAL = content("retrieval", {}).given


def assert_retrieval_is_right(page):
    now = state(page, "retrieval")
    q, keys, values = (np.array(x) for x in (now["query"], RETRIEVAL["keys"], RETRIEVAL["values"]))
    near = -((keys - q) ** 2).sum(axis=1) / 2
    scores = keys @ q if now["rule"] == "dot" else near
    weights = reference.softmax(scores / now["temperature"])
    np.testing.assert_allclose(now["weights"], weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(now["output"], weights @ values, rtol=1e-9)
    box = host(page, "retrieval")
    shown = box.locator(".ae-found .ae-number:last-child").all_text_contents()
    assert shown == ["0" if p == 0 else f"{p:.3f}" for p in weights]
    assert box.locator(".ae-entropy").text_content() == f"Output {weights @ values:.2f}"
    winner, nearest = (RETRIEVAL["labels"][s.argmax()] for s in (scores, near))
    said = box.locator(".ae-sentence").text_content()
    assert said.startswith(f"Most goes to {winner}")
    assert (f"though {nearest} is nearer" in said) == (winner != nearest)


@pytest.mark.parametrize("rule", ["dot", "distance"])
def test_a_query_by_its_sliders_gives_the_reference_s_numbers(show, rule):
    page = show("retrieval")
    box = host(page, "retrieval")
    box.get_by_label("Score").select_option(rule)
    for first, second, exponent in ((1.75, 0.4, 0), (-1, 2, -1.3), (3, -0.5, 1.69), (0, 0, -0.5)):
        box.get_by_label("query: edible").fill(str(first))
        box.get_by_label("query: size").fill(str(second))
        box.get_by_label("temperature").fill(str(exponent))
        now = state(page, "retrieval")
        np.testing.assert_allclose(now["query"], [first, second], atol=0.026)
        assert now["temperature"] == pytest.approx(10**exponent, rel=0.02)
        assert_retrieval_is_right(page)


@pytest.mark.parametrize("width", [390, 1000])
def test_the_query_is_dragged_and_stays_on_the_plane(show, width):
    page = show("retrieval", width=width)
    dot = host(page, "retrieval").locator(".ae-query-dot").bounding_box()
    x, y = dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    np.testing.assert_allclose(state(page, "retrieval")["query"], [1.5, 0], atol=0.02)
    page.mouse.move(x - 40, y - 30)
    moved = state(page, "retrieval")["query"]
    assert moved[0] < 1.4 and moved[1] > 0.1
    assert_retrieval_is_right(page)
    page.mouse.move(width - 1, 899)  # beyond the plane
    assert state(page, "retrieval")["query"] == [3.5, -0.9]
    page.mouse.up()
    page.mouse.move(x, y)
    assert state(page, "retrieval")["query"] == [3.5, -0.9]
    host(page, "retrieval").get_by_text("Reset").click()
    assert state(page, "retrieval")["query"] == RETRIEVAL["query"]
