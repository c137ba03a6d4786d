"""Forms that a learner's test meets are as right and wrong as the exercise says."""

import numpy as np
import pytest

from attention_src.exercises.linear import check_chunk_test

SIZES = ((19, 4), (8, 3), (5, 16))


def off(form):
    """The largest difference from the masked table, and the largest change of an input."""
    differences, changes = [], []
    for n, C in SIZES:
        rng = np.random.default_rng(n)
        before = [rng.normal(size=(n, d)) for d in (6, 6, 3)]
        q, k, v = (x.copy() for x in before)
        o = form(q, k, v, C)
        changes += [abs(x - y).max() for x, y in zip((q, k, v), before, strict=True)]
        q, k, v = before
        differences.append(abs(o - np.tril(q @ k.T) @ v).max())
    return max(differences), max(changes)


@pytest.mark.parametrize("one", check_chunk_test.right, ids=lambda one: one.name)
def test_right_forms_are_as_right_as_the_exercise_says(one):
    difference, change = off(one.function)
    assert difference < 5e-5 and change == 0


@pytest.mark.parametrize("one", check_chunk_test.wrong, ids=lambda one: one.name)
def test_wrong_forms_are_as_wrong_as_the_exercise_says(one):
    assert max(off(one.function)) > 1e-2
