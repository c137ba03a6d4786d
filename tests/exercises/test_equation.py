"""Attentions that a learner's test meets are as right and wrong as the exercise says."""

import numpy as np
import pytest
from answers.equation import SIZES, draw, large
from worked import run_exercise

from attention_src.attention import reference
from attention_src.exercises.equation import check_attention_test


def off(attention, q, k, v):
    with np.errstate(all="ignore"):
        o = attention(q.copy(), k.copy(), v.copy())
    right = reference.attention(q, k, v)
    return np.inf if np.shape(o) != right.shape else np.nan_to_num(abs(o - right), nan=9).max()


@pytest.mark.parametrize("one", check_attention_test.wrong, ids=lambda one: one.name)
def test_each_wrong_one_shows_as_the_exercise_says(one):
    found = [off(one.function, *draw(name)) for name in SIZES] + [off(one.function, *large())]
    q, k, v = draw("square")
    before = q.copy()
    one.function(q, k, v)
    assert max(found) > 1e-3 or not np.array_equal(q, before)


@pytest.mark.parametrize("one", check_attention_test.right, ids=lambda one: one.name)
def test_right_ones_differ_by_rounding_at_most(one):
    for seed in range(20):
        assert max(off(one.function, *draw(name, seed)) for name in SIZES) < 5e-6
        assert off(one.function, *large(seed)) < 5e-3


def test_the_open_exercise_s_solution_runs():
    names = run_exercise("equation", "ex:equation-half", attention=reference.attention)
    parts = names["my_two_parts"](n=6, d=8, n_heads=2)
    assert parts["attention"]().shape == (2, 6, 4)
    assert [x.shape for x in parts["rest"]()] == [(4, 6, 8), (6, 8)]
