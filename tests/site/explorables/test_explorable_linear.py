"""The explorable "linear": what cache and state say is what the references say."""

from itertools import product

import numpy as np
from hosts import host, state

from attention_src.attention.reference import attention
from attention_src.explorables.linear import START, TOKENS
from attention_src.linear.reference import delta_rule, linear_attention
from attention_src.linear.reference_parts import features

MAPS = {"none": None, "elu + 1": "elu", "relu": "relu"}


def by_reference(now):
    seen = TOKENS[: now["seen"]]
    k, v = (np.array([x[name] for x in seen], dtype=float) for name in ("key", "value"))
    query = next(x["key"] for x in TOKENS if x["name"] == now["asked"])
    q = np.tile(np.array(query, dtype=float), (len(k), 1))
    phi = MAPS[now["map"]]
    cache = attention(q, k, v, scale=START["scale"])[-1]
    if now["rule"] == "delta":
        q, k = features(q, phi), features(k, phi)
        q, k = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (q, k))
        return cache, delta_rule(q, k, v, np.ones(len(k)))[-1]
    decay = START["decay"] if now["rule"] == "decay" else None
    options = dict(feature_map=phi, normalize=phi is not None, decay=decay)
    return cache, linear_attention(q, k, v, **options)[-1]


def assert_linear_is_right(page):
    now = state(page, "linear")
    cache, from_state = by_reference(now)
    np.testing.assert_allclose(now["cacheSays"], cache, atol=1e-9)
    np.testing.assert_allclose(now["stateSays"], from_state, atol=1e-9)
    assert now["cacheBytes"] == 14 * now["seen"]
    assert now["stateBytes"] == 2 * np.size(now["state"])


def test_both_memories_are_the_references(show):
    page = show("linear")
    box = host(page, "linear")
    assert_linear_is_right(page)
    box.get_by_text("All", exact=True).click()
    for rule, phi in product(("sum", "decay", "delta"), MAPS):
        box.get_by_label("Rule").select_option(rule)
        box.get_by_label("Feature map").select_option(phi)
        for name in ("Ben", "Eve", "Ada"):
            box.get_by_role("button", name=name, exact=True).click()
            assert_linear_is_right(page)
    box.get_by_text("Reset").click()
    box.get_by_text("All", exact=True).click()
    assert state(page, "linear")["stateSays"] == [15, 13.5, 21.5]  # as the chapter says
    box.get_by_label("Rule").select_option("delta")
    assert state(page, "linear")["stateSays"] == [5, 0, 8]


def test_linear_by_keyboard(show):
    page = show("linear", width=390)
    box = host(page, "linear")
    for seen in (4, 5):
        box.get_by_text("Next token").press("Enter")
        assert state(page, "linear")["seen"] == seen
        assert_linear_is_right(page)
    answer = box.locator(".ae-sentence").text_content()
    assert answer == "Right: 2 7 4. The cache is off by 0.0, the state by 4.5."
    box.get_by_text("Back").press("Space")
    assert state(page, "linear")["stateSays"] == [2, 7, 4]
    box.get_by_role("button", name="Gus").press("Enter")
    assert box.locator(".ae-sentence").text_content() == "Gus has not been written yet."
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
