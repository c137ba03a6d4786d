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
    seen = []
    for heads, state in ((1, "one"), (2, "two")):
        rest = {"active": 0, "moved": True, "best": 0.8, "signs": "equal"}
        seen += figures(NAME, [{"at": at[:heads], **rest} for at in places], state=state)
    return seen


def test_numbers_are_numpy_s(every):
    for now in (one.now for one in every):
        assert now["left"] == pytest.approx(error_left(now["at"]), abs=1e-12)
        np.testing.assert_allclose(now["answer"], np.sum(now["at"], axis=0) @ REPORTS, atol=1e-12)
        np.testing.assert_allclose(now["wanted"], WANTED)


def assert_drawn(now, seen, chain=False):
    at = now["at"]
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
    # The plane: the ring is at (1, −1), each head's arrow ends where the head is, in a chain where
    # the next one begins.
    zero = start = points(seen["head0"])[0]
    unit = float(seen["ring"]["cx"]) - start[0]
    for head, point in enumerate(at):
        there = start + unit * np.array(point) * [1, -1]
        np.testing.assert_allclose(points(seen[f"head{head}"]), [start, there], atol=0.03)
        start = there if chain else zero


def test_pictures_show_them(every):
    for one in every:
        for seen in one.seen:
            assert_drawn(one.now, seen)


def test_what_is_said(every):
    for now, words in ((one.now, one.said) for one in every):
        lisbon, oslo = (f"{abs(x):.2f}" for x in np.sum(now["at"], axis=0))
        answer, left, best = re.fullmatch(
            r"(.*): (\d+ %) of the error is left. Your best: (\d+ %)\.", words
        ).groups()
        assert f"{lisbon} × Lisbon" in answer and f"{oslo} × Oslo" in answer
        assert_share(left, now["left"])
        assert_share(best, min(now["left"], now["best"]))


def test_with_equal_signs_each_move_costs_and_with_opposite_ones_the_second_head_s_pays():
    moves = [0, 0.1, 0.5, 1]
    rest = {"active": 0, "moved": True, "best": 0.5}
    paths = {"equal": [0.5, 0.5], "opposite": [1.5, -0.5]}
    states = [
        {"at": [[first, 0], [second * (1 - w), second * w]], "signs": signs, **rest}
        for signs, (first, second) in paths.items()
        for w in moves
    ]
    every = figures(NAME, states, state="signs")
    left = [round(100 * one.now["left"]) for one in every]
    assert left == [50, 55, 81, 125, 50, 45, 31, 25]
    for one in every:
        for seen in one.seen:
            assert_drawn(one.now, seen, chain=True)
    assert every[1].said == (
        "Factors +0.5 and +0.5, weights on Oslo 0.0 and 0.1: 55 % of the error is left. "
        "With both heads on Lisbon it is 50 %."
    )
    assert every[7].said.startswith("Factors +1.5 and −0.5, weights on Oslo 0.0 and 1.0: 25 % of")


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
