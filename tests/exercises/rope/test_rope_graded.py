"""The learner's test of a rotation is graded; the ladder."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.exercises.rope import check_rotation_test, check_wavelengths
from attention_src.exercises.rope.graded import ROTATION_TEST
from attention_src.exercises.rope.ladder import WAVELENGTHS

N_WRONG = len(ROTATION_TEST.wrong)


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


@pytest.mark.parametrize("one", ROTATION_TEST.right, ids=lambda one: one.name)
def test_right_rotations_are_as_right_as_the_exercise_says(one):
    length, both, step = measured(one.function)
    assert max(length, both) < 1e-5 and step > 0.1


@pytest.mark.parametrize("one", ROTATION_TEST.wrong, ids=lambda one: one.name)
def test_wrong_rotations_are_as_wrong_as_the_exercise_says(one):
    length, both, step = measured(one.function)
    assert length > 0.01 or both > 0.01 or step < 1e-6


def a_test(
    far=5000, shifts=(1, 100, 5000), tolerance=1e-4, lengths=True, step=0.01, d=8, n=200, seed=0
):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_rotation_test(rotate):
        rng = np.random.default_rng(seed)
        q, k = rng.normal(size=(2, n, d))
        m, to = rng.integers(0, far, (2, n))

        def score(m, to):
            return (rotate(q, m) * rotate(k, to)).sum(axis=1)

        if lengths:
            before, after = (np.linalg.norm(x, axis=1) for x in (q, rotate(q, m)))
            assert np.allclose(before, after, atol=tolerance, rtol=0)
        for shift in shifts:
            assert np.abs(score(m + shift, to + shift) - score(m, to)).max() <= tolerance
        assert np.abs(score(m, to + 1) - score(m, to)).max() > step

    return my_rotation_test


def pair_by_pair(rotate):
    rng = np.random.default_rng(3)
    for _ in range(20):
        q, k = rng.normal(size=(2, 1, 6))
        m, n, shift = rng.integers(0, 6000, 3)
        before = rotate(q, np.array([m]))[0] @ rotate(k, np.array([n]))[0]
        after = rotate(q, np.array([m + shift]))[0] @ rotate(k, np.array([n + shift]))[0]
        assert abs(before - after) < 1e-4
        assert abs(np.linalg.norm(rotate(q, np.array([m]))) - np.linalg.norm(q)) < 1e-4
        near = rotate(q, np.array([m + 1]))[0] @ rotate(k, np.array([n + 1]))[0]
        assert abs(near - before) < 1e-4
        apart = rotate(q, np.array([m]))[0] @ rotate(k, np.array([n + 1]))[0]
        assert abs(apart - before) > 1e-7


def whole_tables(rotate):
    rng = np.random.default_rng(5)
    q, k = rng.normal(size=(2, 40, 10))
    at, to = np.sort(rng.integers(0, 4500, (2, 40)), axis=1)
    table = lambda a, b: rotate(q, a) @ rotate(k, b).T  # noqa: E731
    for shift in (1, 7, 600, 4000):
        np.testing.assert_allclose(table(at + shift, to + shift), table(at, to), atol=1e-3)
    with np.testing.assert_raises(AssertionError):
        np.testing.assert_allclose(table(at, to + 1), table(at, to), atol=1e-3)
    np.testing.assert_allclose((rotate(q, at) ** 2).sum(1), (q**2).sum(1), atol=1e-3)


RIGHT_TESTS = [
    a_test(),
    a_test(far=20_000, seed=4),
    a_test(shifts=(1, 2, 3, 5000), d=4),
    a_test(tolerance=1e-3, n=500),
    a_test(d=2, step=0.1),
    pair_by_pair,
    whole_tables,
]


@pytest.mark.parametrize("test", RIGHT_TESTS)
def test_right_tests_pass(test):
    assert check_rotation_test(test)


def test_the_solution_passes_and_the_stub_is_not_started():
    solution = run_exercise("rope", "ex:rope-test")["my_rotation_test"]
    assert check_rotation_test(solution).status == "passed"

    def stub(rotate):
        raise NotImplementedError

    assert check_rotation_test(stub).status == "not started"


def against_ours(rotate):
    from attention_src.rope.reference import rotate as ours

    x = np.random.default_rng(0).normal(size=(5, 8))
    assert np.allclose(rotate(x, np.arange(5)), ours(x, np.arange(5)))


def returns_a_verdict(rotate):
    x = np.random.default_rng(0).normal(size=(5, 8))
    return np.allclose(rotate(x, np.arange(5)), x)


def ten_thousand_alone(rotate):
    a_test(far=100, shifts=(10_000,))(rotate)


def refuses_what_moves(rotate):
    x = np.random.default_rng(0).normal(size=(5, 8))
    assert np.allclose(rotate(x, np.arange(5)), x)


WRONG_TESTS = {
    "near": (a_test(far=50, shifts=(1,)), f"of {N_WRONG}"),
    "one large shift": (ten_thousand_alone, f"of {N_WRONG}"),
    "no shift of 1": (a_test(shifts=(100,)), f"of {N_WRONG}"),
    "no lengths": (a_test(lengths=False), f"caught {N_WRONG - 2} of {N_WRONG}"),
    "no step": (a_test(step=-1), f"caught {N_WRONG - 3} of {N_WRONG}"),
    "loose": (a_test(tolerance=5.0), f"of {N_WRONG}"),
    "a tenth": (a_test(tolerance=0.5), f"of {N_WRONG}"),
    "right to a tenth": (a_test(tolerance=0.1), f"of {N_WRONG}"),
    "to nine digits": (a_test(tolerance=1e-9), "refuses a right implementation (float32"),
    "too large a step": (a_test(step=100.0), "refuses a right implementation"),
    "lengths alone": (a_test(shifts=(), step=-1), f"of {N_WRONG}"),
    "only scores at 0": (a_test(far=1, shifts=(0,)), f"of {N_WRONG}"),
    "against ours": (against_ours, "refuses a right implementation"),
    "a verdict": (returns_a_verdict, "returns"),
    "nothing may move": (refuses_what_moves, "refuses a right implementation"),
    "no call": (lambda rotate: None, "not started"),
    "another exception": (lambda rotate: rotate(np.ones((2, 8)), 3)[5], "stumbles over a right"),
}


@pytest.mark.parametrize("name", WRONG_TESTS)
def test_wrong_tests_fail(name):
    test, words = WRONG_TESTS[name]
    if words in ("not started", "returns"):
        assert not check_rotation_test(test)
    else:
        assert_rejected(check_rotation_test, test, words)


# --- the ladder ------------------------------------------------------------------------------


def test_three_digits_are_enough_and_near_misses_are_refused():
    three = {r.letter: float(f"{r.value():.3g}") for r in WAVELENGTHS.rungs}
    assert WAVELENGTHS.run(**three)
    for letter, answer in dict(a=6.4, b=46_000, c=11, d=0.26, e=4.1e5, f=2.7e4).items():
        assert check_wavelengths(**{letter: answer}).status == "wrong", letter
