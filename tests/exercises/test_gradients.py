"""Pairs are as right and wrong as the exercise says; the ladder; the open exercise's schedule."""

import re

import numpy as np
import pytest
from worked import BOOK, run_exercise

from attention_src.exercises.gradients import (
    attention_backward,
    check_by_hand,
    check_gradient_check,
)

PAGE = (BOOK / "gradients.md").read_text(encoding="utf-8")


def inputs(n_q, n_k, d_k, d_v):
    """x = [q, k, v], do, and two masks in turn."""
    rng = np.random.default_rng(0)
    *x, do = (rng.normal(size=s) for s in ((n_q, d_k), (n_k, d_k), (n_k, d_v), (n_q, d_v)))
    some = np.random.default_rng(1).random((n_q, n_k)) < 0.6
    some[0], some[1:, 0] = False, True
    yield x, do, np.ones((n_q, n_k), dtype=bool)
    yield x, do, some


def nudged(pair, x, do, mask, part, h):
    slope = np.zeros_like(x[part])
    for i in np.ndindex(slope.shape):
        ends = []
        for step in (h, -h):
            moved = [y.copy() for y in x]
            moved[part][i] += step
            ends.append(np.sum(do * pair("forward", *moved, do, mask)))
        slope[i] = (ends[0] - ends[1]) / (2 * h)
    return slope


@pytest.mark.parametrize("one", check_gradient_check.right, ids=lambda one: one.name)
def test_right_pairs_are_right(one):
    h, atol = (5e-3, 1e-3) if one.name == "rounded to float32" else (1e-6, 1e-7)
    for sizes in ((3, 5, 4, 2), (4, 4, 4, 4), (2, 8, 3, 5)):
        for x, do, mask in inputs(*sizes):
            for part, found in enumerate(one.function("backward", *x, do, mask)):
                expected = nudged(one.function, x, do, mask, part, h)
                np.testing.assert_allclose(found, expected, atol=atol)


@pytest.mark.parametrize("one", check_gradient_check.wrong, ids=lambda one: one.name)
def test_wrong_pairs_are_as_wrong_as_the_exercise_says(one):
    assert "off by at least 2 % of the largest entry" in PAGE
    off = []
    for sizes in ((3, 5, 4, 2), (4, 4, 4, 4)):
        for x, do, mask in inputs(*sizes):
            found, right = one.function("backward", *x, do, mask), attention_backward(*x, do, mask)
            off += [
                np.abs(a - b).max() / np.abs(b).max() for a, b in zip(found, right, strict=True)
            ]
    assert np.isnan(off).any() or max(off) > 0.02


def test_a_message_shows_the_learner_s_own_line():
    def my_gradient_check(forward, backward):
        raise AssertionError("never true")

    assert 'raise AssertionError("never true")' in check_gradient_check(my_gradient_check).message
    with pytest.raises(ValueError, match="test is int, it should be a function"):
        check_gradient_check(3)


NEAR = dict(a=[0.74, 0.26], b=-3.9, c=[-3, -1.1], d=-7.9, e=[6, -5.9], f=3.27, g=[6, -6.1])


def test_three_digits_are_enough_and_near_misses_are_refused():
    three = {
        r.letter: np.vectorize(lambda x: float(f"{x:.3g}"))(r.value) for r in check_by_hand.rungs
    }
    assert check_by_hand(**three)
    for letter, answer in {**NEAR, "h": 4.4e-4, "i": [-6, -1e-3]}.items():
        assert check_by_hand(**{letter: answer}).status == "wrong", letter


def test_the_schedule_that_we_found_does_what_the_solution_says():
    cells = re.findall(r"```\{code-cell\} ipython3\n(.*?)```", PAGE, re.DOTALL)
    wanted = ("def softmax(s)", "def flip(x)", "def start(size)")
    names = {"np": np}
    for cell in (c for c in cells if any(word in c for word in wanted)):
        exec(cell, names)
    run = run_exercise("gradients", "ex:gradients-free", **names)["run"]
    divided = {steps: run(lambda t: (8, 0, 0.25 / 16), steps) for steps in (100, 200)}
    assert divided[100][0] == 1 and divided[200][1] > 0.001
