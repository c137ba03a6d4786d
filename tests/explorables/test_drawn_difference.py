"""What "difference" says and draws: weights, error and bars are NumPy's, wherever the heads are."""

import re

import numpy as np
import pytest
from drawn import box, figures, points

from attention_src.explorables.difference import START, error_left, weigh

NAME = "difference"
REPORTS = np.array([START["lisbon"], START["oslo"]], float)
WANTED = REPORTS[0] - REPORTS[1]
BEST = [[[1, 0], [0, -1]], [[0, 0], [0, 0]], [[1, 0], [0.2, 0.8]], [[0, -1], [1, 0]]]


def minus(text):
    return text.replace("−", "-")


def assert_share(words, share):
    assert int(words.removesuffix(" %")) == pytest.approx(100 * share, abs=0.5 + 1e-9)


@pytest.fixture(scope="module")
def every():
    rng = np.random.default_rng(0)
    sizes = rng.uniform(0, 1.3, (30, 2, 2)) * rng.choice([-1, 1], (30, 2, 1))
    places = [*np.round(sizes, 2).tolist(), *BEST]
    states = [
        {"heads": heads, "at": at, "active": 0, "moved": True} for at in places for heads in (1, 2)
    ]
    return figures(NAME, states)


def test_numbers_are_numpy_s(every):
    for now in (one.now for one in every):
        at = now["at"][: now["heads"]]
        assert now["left"] == pytest.approx(error_left(at), abs=1e-12)
        np.testing.assert_allclose(now["answer"], np.sum(at, axis=0) @ REPORTS, atol=1e-12)
        np.testing.assert_allclose(now["wanted"], WANTED)


def assert_drawn(now, seen):
    at = now["at"][: now["heads"]]
    assert_share(seen["left"]["words"], now["left"])
    for head, point in enumerate(at):
        weights, factor = weigh(point)
        assert float(minus(seen[f"factor{head}"]["words"])[2:]) == pytest.approx(factor, abs=0.0051)
        wide = [box(seen[f"bar{head}-{city}"])[2] for city in ("lisbon", "oslo")]
        np.testing.assert_allclose(np.array(wide) / sum(wide), weights, atol=1e-3)
        for name, weight in zip(("Lisbon", "Oslo"), weights, strict=True):
            said, share = seen[f"share{head}-{name.lower()}"]["words"].split()
            assert said == name and float(share) == pytest.approx(weight, abs=0.0051)
    assert f"factor{len(at)}" not in seen
    unit = box(seen["want3"])[3] / 5  # pixels for a degree: the fourth day is 5 below
    zero = points(seen["zero"])[0, 1]
    for day, answer in enumerate(now["answer"]):
        assert minus(seen[f"wanted{day}"]["words"]) == f"{WANTED[day]:.0f}"
        assert float(minus(seen[f"answer{day}"]["words"])) == pytest.approx(answer, abs=0.0501)
        bar = box(seen[f"out{day}"])
        assert bar[3] == pytest.approx(min(abs(answer), 6) * unit, abs=0.02)
        assert bar[1] == pytest.approx(zero - (bar[3] if answer > 0 else 0), abs=0.02)
    # The plane: the ring is at (1, −1), each head's arrow ends where the head is.
    start = points(seen["head0"])[0]
    unit = float(seen["ring"]["cx"]) - start[0]
    for head, point in enumerate(at):
        there = start + unit * np.array(point) * [1, -1]
        np.testing.assert_allclose(points(seen[f"head{head}"]), [start, there], atol=0.02)


def test_pictures_show_them(every):
    for one in every:
        for seen in one.seen:
            assert_drawn(one.now, seen)


def test_what_is_said(every):
    for now, words in ((one.now, one.said) for one in every):
        left = now["left"]
        lisbon, oslo = (f"{abs(x):.2f}" for x in np.sum(now["at"][: now["heads"]], axis=0))
        answer, share, remark = re.fullmatch(r"(.*) Error left: (\d+ %)\.(.*)", words).groups()
        assert f"{lisbon} × Lisbon" in answer and f"{oslo} × Oslo" in answer
        assert_share(share, left)
        expected = ""
        if left > 1.0001:
            expected = "Always answering 0 would be better."
        elif now["heads"] == 1 and left < 0.5001:
            expected = "One head gets no further."
        elif left < 0.0001:
            expected = "One head brings the plus, the other the minus."
        assert remark.strip() == expected
    assert len({one.said.partition("%. ")[2] for one in every}) == 4


def test_one_head_gets_no_further_than_half():
    """The best of all places that one head can be at, against the least squares of that side."""
    best = min(
        error_left([[x, y]])
        for x in np.linspace(-1.3, 1.3, 53)
        for y in np.linspace(-1.3, 1.3, 53)
        if x * y >= 0
    )
    assert best == pytest.approx(0.5, abs=1e-9)
    assert error_left([[1, 0]]) == error_left([[0, -1]]) == best
    assert error_left([[1, 0], [0, -1]]) == 0
