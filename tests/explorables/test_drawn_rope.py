"""What "rope" says and draws: the reference's rotation, and the score of what it turned."""

import numpy as np
import pytest
from drawn import figures, numbers, points

from attention_src.explorables.rope import START
from attention_src.rope.reference import rotate
from attention_src.rope.scaling import Frequencies

STATES = [
    {**START, "m": m, "n": n, "step": step, "pairs": pairs, **more}
    for m, n, step, pairs, more in (
        (5, 3, 0.5, 1, {}),
        (0, 0, 1.3, 1, {}),
        (7, 19, 0.25, 3, {"query": [-1.2, 2.1]}),
        (60, 0, 3.1, 4, {}),
        (2, 40, 0, 2, {}),
        (2, 40, 0, 1, {}),
    )
]


def score_at(now, offset):
    theta = Frequencies([now["step"] / 4**i for i in range(now["pairs"])])
    q, k = (np.repeat(now[name], now["pairs"])[None] for name in ("query", "key"))
    m, n = max(0, -offset), max(0, offset)
    q, k = (rotate(x, [at], scaling=theta)[0] for x, at in ((q, m), (k, n)))
    return q @ k / now["pairs"]


@pytest.fixture(scope="module")
def every():
    return figures("rope", STATES)


def test_turned_hands_are_the_reference_s_rotation(every):
    for now in (one.now for one in every):
        theta = Frequencies([now["step"]])
        for name, at in (("query", now["m"]), ("key", now["n"])):
            right = rotate(np.array([now[name]]), [at], scaling=theta)[0]
            np.testing.assert_allclose(now[f"turned{name.title()}"], right, atol=1e-12)
        assert now["offset"] == now["n"] - now["m"]
        assert now["score"] == pytest.approx(score_at(now, now["offset"]), abs=1e-9)


def test_pictures_show_them(every):
    for one in every:
        now = one.now
        most = np.linalg.norm(now["query"]) * np.linalg.norm(now["key"])
        for seen in one.seen:
            start, end = points(seen["query"])
            unit = np.linalg.norm(end - start) / np.linalg.norm(now["query"])
            there = start + unit * np.array(now["turnedQuery"]) * [1, -1]
            np.testing.assert_allclose(end, there, atol=0.03)
            np.testing.assert_allclose(numbers(seen["asker"], "cx", "cy"), end, atol=0.01)
            there = start + unit * np.array(now["turnedKey"]) * [1, -1]
            np.testing.assert_allclose(points(seen["key"])[1], there, atol=0.03)
            assert seen["name-q"]["words"] == f"query at {now['m']}"
            # In the chart, every dot is at its distance and at its score, and so is the one here.
            (left, zero), (right, _) = points(seen["axis"])
            dots = {o: numbers(seen[f"dot{o}"], "cx", "cy") for o in range(-60, 61)}
            half = zero - dots[0][1]
            unit = half / (np.dot(now["query"], now["key"]) / most)
            for o in (*range(-60, 61, 7), now["offset"]):
                x = left + (o + 60) / 120 * (right - left)
                spot = x, zero - unit * score_at(now, o) / most
                np.testing.assert_allclose(dots[o], spot, atol=0.2)
            here = numbers(seen["here"], "cx", "cy")
            np.testing.assert_allclose(here, dots[now["offset"]], atol=0.06)


def test_what_is_said(every):
    for one in every:
        score, offset = f"{one.now['score']:.3f}", f"{one.now['offset']}"
        start = f"Score {score} at distance n - m = {offset}. "
        assert one.said.replace("−", "-").startswith(start)
    rest = [one.said.partition(". ")[2] for one in every]
    assert rest[0] == "The score comes back after 2π / 0.50 = 12.6 positions."
    assert rest[2].startswith("3 pairs") and rest[5].startswith("Nothing turns")


def test_moving_both_keeps_the_score(every):
    """What "Both +10" does: the score depends on the distance alone."""
    here = every[0].now
    [there] = figures("rope", [{**STATES[0], "m": 15, "n": 13}], [338])
    assert there.now["score"] == pytest.approx(here["score"])
