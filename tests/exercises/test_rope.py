"""Rotations that a learner's test meets are as right and wrong as the exercise says; the ladder."""

import numpy as np
import pytest

from attention_src.exercises.rope import check_rotation_test, check_wavelengths


def measured(rotate, n=400, far=5000, d=8):
    """Largest change of a length, of a score when both move, and of a score when one does."""
    rng = np.random.default_rng(1)
    q, k = rng.normal(size=(2, n, d))
    m, to = rng.integers(0, far, (2, n))

    def score(m, to):
        return (rotate(q, m) * rotate(k, to)).sum(axis=1)

    length = np.abs(np.linalg.norm(rotate(q, m), axis=1) - np.linalg.norm(q, axis=1)).max()
    both = max(np.abs(score(m + s, to + s) - score(m, to)).max() for s in (1, 100, 5000))
    one = np.median(np.abs(score(m, to + 1) - score(m, to)))
    return length, both, one


@pytest.mark.parametrize("one", check_rotation_test.right, ids=lambda one: one.name)
def test_right_rotations_are_as_right_as_the_exercise_says(one):
    length, both, step = measured(one.function)
    assert max(length, both) < 1e-5 and step > 0.1


@pytest.mark.parametrize("one", check_rotation_test.wrong, ids=lambda one: one.name)
def test_wrong_rotations_are_as_wrong_as_the_exercise_says(one):
    length, both, step = measured(one.function)
    assert length > 0.01 or both > 0.01 or step < 1e-6


def test_three_digits_are_enough_and_near_misses_are_refused():
    assert check_wavelengths(**{r.letter: float(f"{r.value:.3g}") for r in check_wavelengths.rungs})
    for letter, answer in dict(a=6.4, b=46_000, c=11, d=0.26, e=4.1e5, f=2.7e4).items():
        assert check_wavelengths(**{letter: answer}).status == "wrong", letter
