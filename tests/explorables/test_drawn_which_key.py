"""What "which_key" says and draws: winners and lands are NumPy's, with one number more or not."""

import re

import numpy as np
import pytest
from drawn import box, figures, points

from attention_src.explorables.which_key import QUERY, SEEDS, keys

QUERIES = [list(QUERY), [0.0, 0.0], [1.8, 1.1], [-2.9, 2.4], [0.3, -0.6], [0.23, 2.2]]
ANGLES = np.linspace(0, 2 * np.pi, 36_000)
AROUND = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)


def scores(query, k, more):
    return k @ np.array(query) - more * (k**2).sum(axis=1) / 2


def states(kind):
    return [
        {"query": query, "set": which, "kind": kind, "won": [0, 13]}
        for query in QUERIES
        for which in range(len(SEEDS))
    ]


@pytest.fixture(scope="module")
def plain():
    return figures("which_key", states("plain"))


@pytest.fixture(scope="module")
def lands():
    return [
        one
        for kind in ("plain", "more")
        for one in figures("which_key", states(kind), state="one_more")
    ]


def test_keys_differ_and_lie_on_the_plane():
    for seed in SEEDS:
        k = keys(seed)
        assert len(np.unique(k, axis=0)) == 24
        assert (np.abs(k) <= [3, 2.5]).all()


def test_the_winner_and_the_list_are_numpy_s(plain, lands):
    for one in [*plain, *lands]:
        k = keys(SEEDS[one.now["set"]])
        s = scores(one.now["query"], k, one.now["kind"] == "more")
        np.testing.assert_allclose(one.now["scores"], s, atol=1e-12)
        best, winner = one.now["best"], one.now["winner"]
        assert winner == (best[0] if s.any() else -1)
        assert s[best].tolist() == sorted(s, reverse=True)[:5]
        for seen in one.seen:
            lit = [key for key, m in seen.items() if m.get("fill") == "var(--ae-k-fill)"]
            assert set(lit) <= {f"key{winner}", f"land{winner}"}
            assert (f"key{winner}" in lit) == s.any()
        for seen in one.seen[1:]:  # on a phone there is no list
            most = max(np.abs(s[best]).max(), 1e-9)
            for j in best:
                assert float(seen[f"score{j}"]["words"].replace("−", "-")) == pytest.approx(
                    s[j], abs=0.00501
                )
                full, bar = box(seen[f"track{j}"])[2], box(seen[f"bar{j}"])[2]
                assert bar == pytest.approx(full * max(s[j], 0) / most, abs=0.03)


def test_who_can_win(lands):
    """With the keys as they are, those that a turn finds; with one number more, all."""
    for one in lands:
        k = keys(SEEDS[one.now["set"]])
        more = one.now["kind"] == "more"
        wanted = range(24) if more else np.unique((AROUND @ k.T).argmax(axis=1))
        assert one.now["can"] == list(wanted)
        known = "ringed" if one.now["winner"] < 0 else "ringed or lit"
        assert one.said.startswith(f"{len(wanted)} of 24 keys ({known}) can be first.")
    assert [len(one.now["can"]) for one in lands[: len(SEEDS)]] == [6, 7, 6]


def test_a_land_is_where_its_key_is_first(lands):
    for one in lands[:: len(SEEDS)]:  # the first draw
        more = one.now["kind"] == "more"
        for seen in one.seen:
            middle, unit = plane_of(seen)
            for j in one.now["can"]:
                corners = points(seen[f"land{j}"])
                centre = (corners.mean(axis=0) - middle) / [unit, -unit]
                assert scores(centre, keys(), more).argmax() == j


def plane_of(seen):
    """Where 0 lies, and how many pixels are 1."""
    spots = np.array([[float(seen[f"key{j}"][c]) for c in ("cx", "cy")] for j in range(24)])
    (unit, x), (down, y) = (np.polyfit(keys()[:, i], spots[:, i], 1) for i in (0, 1))
    assert down == pytest.approx(-unit, abs=0.02)
    return np.array([x, y]), unit


def test_rings_are_of_those_that_have_been_first(plain):
    for one in plain:
        for seen in one.seen:
            ringed = {key for key, m in seen.items() if re.match(r"key\d", key) and "stroke" in m}
            assert ringed == {f"key{j}" for j in (0, 13) if j != one.now["winner"]}


def test_what_is_said(plain, lands):
    begun = [{**state, "won": [2]} for state in states("plain")[:: len(SEEDS)]]
    said = [one.said for one in figures("which_key", begun)]
    assert said[0] == (
        "The query stands on (1.1, 0.7), which scores 1.70. (1.8, 1.1) wins with 2.75. "
        "So far 1 of 24 has been first."
    )
    assert said[2].startswith("The query stands on (1.8, 1.1), which wins with 4.45.")
    assert plain[0].said.endswith("So far 2 of 24 (ringed or lit) have been first.")
    assert lands[len(QUERIES) * len(SEEDS)].said == (
        "24 of 24 keys (ringed or lit) can be first. "
        "The query stands on (1.1, 0.7), which wins with 0.85."
    )


def test_at_0_none_wins(plain, lands):
    nobody = "The query is (0.0, 0.0): all 24 keys score 0.00, and none wins."
    at_0 = [one for one in [*plain, *lands] if one.now["query"] == [0, 0]]
    for one in at_0:
        wins = one.now["kind"] == "more"  # the shortest key then does
        k = keys(SEEDS[one.now["set"]])
        assert one.now["winner"] == ((k**2).sum(axis=1).argmin() if wins else -1)
        assert (nobody in one.said) == (not wins)
    assert at_0[0].said == f"{nobody} So far 2 of 24 (ringed) have been first."
    assert at_0[len(SEEDS)].said == f"6 of 24 keys (ringed) can be first. {nobody}"
