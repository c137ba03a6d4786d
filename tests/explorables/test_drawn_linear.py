"""What "linear" says and draws: what cache and state say is what the references say."""

from itertools import product

import numpy as np
import pytest
from drawn import figures, shade

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


@pytest.fixture(scope="module")
def every():
    names = ("seen", "asked", "rule", "map")
    states = product((3, 5, 8), ("Ada", "Ben", "Eve"), ("sum", "decay", "delta"), MAPS)
    return figures("linear", [dict(zip(names, state, strict=True)) for state in states], [338, 638])


def test_both_memories_are_the_references(every):
    for now in (one.now for one in every):
        cache, from_state = by_reference(now)
        np.testing.assert_allclose(now["cacheSays"], cache, atol=1e-9)
        np.testing.assert_allclose(now["stateSays"], from_state, atol=1e-9)
        assert now["cacheBytes"] == 14 * now["seen"]
        assert now["stateBytes"] == 2 * np.size(now["state"])


def test_what_the_chapter_says(every):
    said = {(x.now["rule"], x.now["map"], x.now["asked"], x.now["seen"]): x for x in every}
    assert said["sum", "none", "Ada", 8].now["stateSays"] == [15, 13.5, 21.5]
    assert said["delta", "none", "Ada", 8].now["stateSays"] == [5, 0, 8]
    assert said["sum", "none", "Ada", 3].now["stateSays"] == [2, 7, 4]
    words = "Right: 2 7 4. The cache is off by 0.0, the state by 4.5."
    assert said["sum", "none", "Ada", 5].said == words
    assert said["sum", "none", "Eve", 3].said == "Eve has not been written yet."


def number(words):
    return float(words.replace("−", "-"))


def test_pictures_show_them(every):
    for one in every:
        now = one.now
        most = max(1, np.abs(now["state"]).max())
        for seen in one.seen:
            for i, token in enumerate(TOKENS):
                here = i < now["seen"]
                assert seen[f"name{i}"]["words"] == (token["name"] if here else "…")
                numbers = [seen[f"cache{i}-{c}"]["words"] for c in range(7)]
                wanted = [*token["key"], *token["value"]]
                assert [number(x) for x in numbers] == wanted if here else set(numbers) == {"·"}
                assert (shade(seen[f"row{i}"]) > 0) == (here and token["name"] == now["asked"])
            for at, x in np.ndenumerate(now["state"]):
                assert number(seen["state{}-{}".format(*at)]["words"]) == pytest.approx(
                    x, abs=0.0501
                )
                assert abs(shade(seen["cell{}-{}".format(*at)]) - abs(x) / most / 2) < 0.0051
            for key, says in (("of-cache", "cacheSays"), ("of-state", "stateSays")):
                shown = [number(x) for x in seen[f"{key}1"]["words"].split("\u2002")]
                np.testing.assert_allclose(shown, now[says], atol=0.0501)
                assert seen[f"{key}3"]["words"] == str(now[says.replace("Says", "Bytes")])
                error = seen[f"{key}2"]["words"]
                if now["right"]:
                    far = np.abs(np.subtract(now[says], now["right"])).max()
                    assert float(error) == pytest.approx(far, abs=0.0501)
                else:
                    assert error == "–"
