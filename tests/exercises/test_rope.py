"""Rotations that a learner's test meets are as right and wrong as the exercise says."""

import numpy as np

from attention_src.exercises.rope import check_rotation_test


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


def test_rotations_are_as_right_and_as_wrong_as_the_exercise_says():
    for one in check_rotation_test.right:
        length, both, step = measured(one.function)
        assert max(length, both) < 1e-5 and step > 0.1, one.name
    for one in check_rotation_test.wrong:
        length, both, step = measured(one.function)
        assert length > 0.01 or both > 0.01 or step < 1e-6, one.name
