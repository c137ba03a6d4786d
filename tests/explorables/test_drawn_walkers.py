"""What "walkers" says and draws: answers, ways and lands are NumPy's, and the walk ends as told."""

import functools

import numpy as np
import pytest
from drawn import box, figures, points

from attention_src.explorables.walkers import KEYS, START, STOCK
from attention_src.softmax.reference import softmax

STARTS = [[-1, 0.8], [0, 0], [2.9, -3.4], [1.1, 1.2], [-3.6, 1.2], [-2.3, -3.1], [2, 2.4]]
STARTS.append([-2.9, 2.4])  # a corner of the narrow map
LEVELS = range(3, 10)


def heard(q):
    return softmax(np.asarray(q) @ KEYS.T) @ STOCK


def best(q):
    return STOCK[(KEYS @ np.array(q)).argmax()]


@functools.cache
def walked(*q):
    """400 steps downhill, by nudges: another slope than the script's."""
    nudges = 1e-5 * np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]])
    for _ in range(400):
        o = heard(q + nudges)  # here, right, up, left, down
        q = q - 0.04 * (o[0] - 10) * (o[1:3] - o[3:]) / 2e-5
    return q


def map_of(seen, kind):
    """From a query to its pixel, and back, by the arrow of the first key."""
    middle, tip = points(seen[f"{kind}-key0"])
    unit = (tip - middle)[0] / KEYS[0, 0]
    return lambda q: middle + unit * np.array(q) * [1, -1], lambda at: (at - middle) / [unit, -unit]


@pytest.fixture(scope="module")
def every():
    states = [{"query": q, "walked": w} for q in STARTS for w in (False, True)]
    return figures("walkers", states)


def test_answers_are_numpy_s(every):
    for one in every:
        q = one.now["query"]
        assert one.now["hard"] == [best(q)] * 2
        np.testing.assert_allclose(one.now["soft"], [heard(q), heard(walked(*q))], rtol=1e-6)


def test_ways_begin_and_end_where_they_should(every):
    for one in every[1::2]:
        q = np.array(one.now["query"])
        for seen in one.seen:
            place, _ = map_of(seen, "soft")
            spot = [float(seen["soft-start"][a]) for a in ("cx", "cy")]
            x, y, width, height = box(seen["soft-land"])
            least, most = [x + 5, y + 5], [x + width - 5, y + height - 5]
            ends = [np.clip(place(p), least, most) for p in (q, walked(*q))]
            np.testing.assert_allclose(spot, ends[0], atol=0.02)
            assert "hard-way" not in seen
            if "soft-way" in seen:  # its last piece of less than three pixels is not drawn
                way = points(seen["soft-way"])
                np.testing.assert_allclose(way[0], ends[0], atol=0.02)
                np.testing.assert_allclose(way[-1], ends[1], atol=3)


def test_the_hint_stays_on_the_map(every):
    for one in every[::2]:
        for seen in one.seen:
            for kind in ("hard", "soft"):
                x, y, width, height = box(seen[f"{kind}-land"])
                at, low = (float(seen[f"{kind}-drag"][axis]) for axis in ("x", "y"))
                assert x + 20 <= at + 0.01 and at - 0.01 <= x + width - 20
                assert y < low - 10 and low + 3 <= y + height


def test_contour_lines_lie_on_their_level(every):
    for seen in every[0].seen:
        _, query = map_of(seen, "soft")
        for level in LEVELS:
            q = query(points(seen[f"soft-level{level}-rim"])[1:-1])
            np.testing.assert_allclose(heard(q), level, atol=0.06)


def test_cliffs_lie_where_two_keys_tie(every):
    for seen in every[0].seen:
        _, query = map_of(seen, "hard")
        for j in (0, 1):
            q = query(points(seen[f"hard-terrace{j}-rim"]))
            scores = np.sort(q @ KEYS.T, axis=1)
            np.testing.assert_allclose(scores[:, -1], scores[:, -2], atol=0.04)


def test_what_is_said(every):
    said = {tuple(one.now["query"]): one.said for one in every[1::2]}
    assert every[0].said == "Start (−1.0, 0.8): the left walker hears 2, the right one 2.11."
    assert said[-1, 0.8] == "Left: 2 before, 2 after 400 steps. Right: 2.11, then 9.80."
    assert said[-3.6, 1.2] == "Left: 2 before, 2 after 400 steps. Right: 2.00, then 2.00."
    assert [START[wide] for wide in (1, 4)] == [STARTS[0], STARTS[4]]


def test_both_axes_are_named(every):
    for seen in every[0].seen:
        for kind in ("hard", "soft"):
            assert [seen[f"{kind}-axis{n}"]["words"] for n in (0, 1)] == ["edible →", "↑ size"]
