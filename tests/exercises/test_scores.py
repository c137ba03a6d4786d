"""Scores that a learner's test meets are as right and wrong as the exercise says; the ladder; the
claims of the solution on weights by hand."""

import numpy as np
from answers.scores import bump

from attention_src.exercises.scores import bump_scores, check_bump, check_lengths, check_score_test


def off(one, *sizes):
    """How far its scores are from the right ones; 1 if there are not as many."""
    rng = np.random.default_rng(0)
    for n_q, n_k, d in sizes:
        q, k = rng.normal(size=(n_q, d)), rng.normal(size=(n_k, d))
        s, t = one.function(q, k), q @ k.T / np.sqrt(d)
        yield np.abs(s - t).max() if s.shape == t.shape else 1


def test_scores_are_as_right_and_as_wrong_as_the_exercise_says():
    for one in check_score_test.right:
        assert max(off(one, (6, 6, 1), (6, 6, 5), (6, 6, 16))) < 5e-6, one.name
    for one in check_score_test.wrong:
        assert max(off(one, (3, 4, 11), (4, 4, 6), (2, 8, 16), (1, 5, 3))) > 1e-3, one.name


def test_three_digits_are_enough_and_two_are_too_few():
    assert check_lengths(**{r.letter: float(f"{r.value:.3g}") for r in check_lengths.rungs})
    near = zip("aabbcdef", (1.395, 1.41, 0.93, 0.937, 4.04, 16.5, 2.31, -4.02), strict=True)
    for letter, answer in near:
        assert check_lengths(**{letter: answer}).status == "wrong", letter


def test_more_than_two_units_are_asked_whether_fewer_will_do():
    assert check_bump(bump).message.endswith("with 2 hidden units and a lead of 1.29.")
    assert "with fewer" in check_bump(lambda: bump(w=(1.0, -1.0, 1.0, -1.0))).message


def test_what_the_solution_says_of_fewer_units_and_no_constant():
    """One unit only rises or falls along the keys; without a constant the score is odd."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        s = bump_scores(rng.normal(size=(2, 1)), rng.normal(size=(2, 1)), rng.normal(size=1))
        assert set(s.argmax(axis=1)) <= {0, 8}
        a, b = rng.normal(size=(2, 2, 4))
        a[0] = b[0] = 0
        odd = bump_scores(a, b, rng.normal(size=4))
        np.testing.assert_allclose(odd[::-1, ::-1], -odd, atol=1e-12)
        assert np.delete(odd[4], 4).max() >= odd[4, 4] - 1e-12
