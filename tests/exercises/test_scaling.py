"""Scales that a learner's test meets are as right and wrong as the exercise says; the ladder."""

import numpy as np

from attention_src.exercises.scaling import check_race, check_scale_test, check_variance

SHAPES = [(3, 5, 1), (3, 5, 2), (4, 7, 5), (4, 4, 5), (6, 3, 64), (2, 9, 200)]


def error(scores):
    """The largest difference to the right scores, at any of the shapes."""
    found = []
    for n_q, n_k, d_k in SHAPES:
        rng = np.random.default_rng(0)
        q, k = rng.normal(size=(n_q, d_k)), rng.normal(size=(n_k, d_k))
        found.append(np.abs(scores(q, k) - q @ k.T / np.sqrt(d_k)).max())
    return max(found)


def test_scales_are_as_right_and_as_wrong_and_as_many_as_the_exercise_says():
    assert (len(check_scale_test.right), len(check_scale_test.wrong)) == (6, 27)
    for one in check_scale_test.right:
        assert error(one.function) < 1e-5, one.name
    for one in check_scale_test.wrong:
        assert error(one.function) > 0.02, one.name


def test_the_ladder_s_values_are_those_of_a_simulation():
    rng = np.random.default_rng(0)
    uniform = rng.uniform(-1, 1, (2, 20_000, 64))
    shifted = rng.normal(size=(2, 20_000, 64)) + 0.5
    one_row = rng.normal(size=(300, 64)) + 0.5
    within = [(q @ (rng.normal(size=(64, 300)) + 0.5)).var() for q in one_row]
    constant = rng.normal(size=(2, 20_000, 1)) * np.ones(64)
    dots = lambda pair: (pair[0] * pair[1]).sum(axis=1)  # noqa: E731
    b = dots((rng.normal(size=(20_000, 64)), shifted[1])).var()
    found = [dots(uniform).std(), b, dots(shifted).var(), np.mean(within), dots(constant).std() / 8]
    right = [(64 / 9) ** 0.5, 80, 96, 80, 8]
    np.testing.assert_allclose(found, right, rtol=0.05)
    assert check_variance(*right).status == "passed"


def test_the_race_s_values_are_those_of_softmax_s_gradient():
    def length(lead, c):  # two keys √128 apart, and a query that gives them this lead
        k = np.array([[8.0, 0.0], [0.0, 8.0]])
        p = 1 / (1 + np.exp(-np.array([lead, -lead])))
        ds = p * (np.array([1, 0]) - p[0])
        return np.linalg.norm(c * ds @ k)

    leads = np.linspace(0, 10, 100_001)
    equal = leads[np.argmin([abs(length(x, 1) - length(0, 1 / 8)) for x in leads[::100]]) * 100]
    q, k, other = np.random.default_rng(0).normal(size=(3, 60_000, 64))
    q *= 8 / np.linalg.norm(q, axis=1)[:, None]
    share = np.mean(np.abs((q * (k - other)).sum(axis=1)) < equal)
    found = [length(0, 1 / 8), length(0, 1), length(8, 1), equal, share]
    right = [0.354, 2.83, 0.00379, 3.40, 0.236]
    np.testing.assert_allclose(found, right, rtol=0.02)
    assert check_race(*right).status == "passed"
