"""The learner's gradient check is graded; the ladder; the open exercise's schedule."""

import re

import numpy as np
import pytest
from worked import BOOK, assert_rejected, run_exercise

from attention_src.exercises.gradients import check_by_hand, check_gradient_check, pairs
from attention_src.exercises.gradients.graded import GRADIENT_CHECK
from attention_src.exercises.gradients.ladder import BY_HAND

PAGE = (BOOK / "gradients.md").read_text(encoding="utf-8")
NAMES = ("q", "k", "v")


def inputs(sizes, seed=0):
    rng = np.random.default_rng(seed)
    n_q, n_k, d_k, d_v = sizes
    return [rng.normal(size=s) for s in ((n_q, d_k), (n_k, d_k), (n_k, d_v), (n_q, d_v))]


def masks(n_q, n_k):
    some = np.random.default_rng(1).random((n_q, n_k)) < 0.6
    some[0], some[1:, 0] = False, True
    return np.ones((n_q, n_k), dtype=bool), some


def nudges(pair, x, do, mask, h=1e-6):
    found = []
    for part in range(3):
        slope = np.zeros_like(x[part])
        for i in np.ndindex(slope.shape):
            moved = [[y.copy() for y in x] for _ in range(2)]
            moved[0][part][i] += h
            moved[1][part][i] -= h
            ends = [np.sum(do * pair("forward", *m, mask)) for m in moved]
            slope[i] = (ends[0] - ends[1]) / (2 * h)
        found.append(slope)
    return found


SIZES = [(3, 5, 4, 2), (4, 4, 4, 4), (2, 8, 3, 5)]


@pytest.mark.parametrize("one", GRADIENT_CHECK.right, ids=lambda one: one.name)
def test_right_pairs_are_right(one):
    for sizes in SIZES:
        *x, do = inputs(sizes)
        for mask in masks(*sizes[:2]):
            rounded = one.function is pairs.rounded
            expected = nudges(one.function, x, do, mask, 5e-3 if rounded else 1e-6)
            for got, slope in zip(one.function("backward", *x, do, mask), expected, strict=True):
                np.testing.assert_allclose(got, slope, atol=1e-3 if rounded else 1e-7)


@pytest.mark.parametrize("one", GRADIENT_CHECK.wrong, ids=lambda one: one.name)
def test_wrong_pairs_are_as_wrong_as_the_exercise_says(one):
    assert "off by at least 2 % of the largest entry" in PAGE
    worst = 0.0
    for sizes in SIZES[:2]:
        *x, do = inputs(sizes)
        for mask in masks(*sizes[:2]):
            right = pairs.broken("", *x, do, mask)
            for got, slope in zip(one.function("backward", *x, do, mask), right, strict=True):
                off = np.abs(got - slope).max() / np.abs(slope).max()
                worst = max(worst, np.inf if np.isnan(off) else off)
    assert worst > 0.02


def a_check(
    sizes=((3, 5, 4, 2), (4, 4, 4, 4)), h=5e-3, tolerance=0.01, which=NAMES, masked=(0, 1), do=None
):
    """A learner's check, right by default, wrong in the way that an argument says."""

    def my_gradient_check(forward, backward):
        def pair(word, *rest):
            return forward(*rest)

        for n in sizes:
            *x, w = inputs(n)
            w = w if do is None else do(w)
            for mask in [masks(*n[:2])[i] for i in masked]:
                got = backward(*x, w, mask)
                for name, a, b in zip(NAMES, got, nudges(pair, x, w, mask, h), strict=True):
                    assert name not in which or np.abs(a - b).max() <= tolerance * abs(b).max()

    return my_gradient_check


def along_one_direction(forward, backward):
    h = 5e-3
    for sizes in ((3, 5, 4, 2), (4, 4, 4, 4)):
        *x, w = inputs(sizes)
        for mask in masks(*sizes[:2]):
            gradients = backward(*x, w, mask)
            for part in range(3):
                for seed in range(6):
                    u = np.random.default_rng(seed).normal(size=x[part].shape)
                    up = [y + h * u if i == part else y for i, y in enumerate(x)]
                    down = [y - h * u if i == part else y for i, y in enumerate(x)]
                    slope = np.sum(w * (forward(*up, mask) - forward(*down, mask))) / (2 * h)
                    np.testing.assert_allclose(np.sum(gradients[part] * u), slope, atol=5e-3)


def by_four_points(forward, backward):
    for sizes in ((3, 5, 6, 4), (4, 4, 4, 4)):
        *x, w = inputs(sizes, 4)
        for mask in masks(*sizes[:2]):
            pair = lambda word, *rest: forward(*rest)  # noqa: E731
            one, two = (nudges(pair, x, w, mask, h) for h in (1e-2, 2e-2))
            for got, a, b in zip(backward(*x, w, mask), one, two, strict=True):
                np.testing.assert_allclose(got, (4 * a - b) / 3, atol=1e-2 * np.abs(a).max())


def unseeded(forward, backward):
    pair = lambda word, *rest: forward(*rest)  # noqa: E731
    for n_q, n_k, d_k, d_v in ((3, 4, 6, 2), (5, 5, 5, 5)):
        shapes = ((n_q, d_k), (n_k, d_k), (n_k, d_v), (n_q, d_v))
        *x, w = (np.random.normal(size=shape) for shape in shapes)
        for mask in masks(n_q, n_k):
            for a, b in zip(backward(*x, w, mask), nudges(pair, x, w, mask, 3e-3), strict=True):
                assert np.allclose(a, b, rtol=0, atol=0.01 * max(np.abs(b).max(), 0.2))


RIGHT_TESTS = [
    a_check(),
    a_check(h=1e-2),
    a_check(h=2e-3),
    a_check(sizes=((2, 5, 3, 4), (3, 3, 3, 3), (6, 2, 3, 8))),
    along_one_direction,
    by_four_points,
    unseeded,
]


@pytest.mark.parametrize("test", RIGHT_TESTS)
def test_right_checks_pass(test):
    assert check_gradient_check(test)


def test_the_solution_passes_and_the_stub_is_not_started():
    solution = run_exercise("gradients", "ex:gradients-check")["my_gradient_check"]
    assert check_gradient_check(solution).status == "passed"

    def stub(forward, backward):
        raise NotImplementedError

    assert check_gradient_check(stub).status == "not started"


def shapes_alone(forward, backward):
    *x, w = inputs((3, 5, 4, 2))
    for g, y in zip(backward(*x, w, masks(3, 5)[1]), x, strict=True):
        assert g.shape == y.shape and np.isfinite(g).all()


def sums_alone(forward, backward):
    *x, w = inputs((4, 4, 4, 4))
    for mask in masks(4, 4):
        _, dk, dv = backward(*x, w, mask)
        assert np.allclose(dk.sum(axis=0), 0)
        assert np.allclose(dv.sum(axis=0), w[mask.any(axis=1)].sum(axis=0))


def against_our_formula(forward, backward):
    *x, w = inputs((3, 5, 4, 2))
    mask = masks(3, 5)[1]
    for got, right in zip(backward(*x, w, mask), pairs.broken("", *x, w, mask), strict=True):
        assert np.allclose(got, right)


def forgets_nan(forward, backward):
    for sizes in ((3, 5, 4, 2), (4, 4, 4, 4)):
        *x, w = inputs(sizes)
        pair = lambda word, *rest: forward(*rest)  # noqa: E731
        for mask in masks(*sizes[:2]):
            for a, b in zip(backward(*x, w, mask), nudges(pair, x, w, mask, 5e-3), strict=True):
                if np.abs(a - b).max() > 0.01 * np.abs(b).max():  # false for NaN
                    raise AssertionError


def returns_a_verdict(forward, backward):
    *x, w = inputs((3, 5, 4, 2))
    pair = lambda word, *rest: forward(*rest)  # noqa: E731
    mask = masks(3, 5)[0]
    close = map(np.allclose, backward(*x, w, mask), nudges(pair, x, w, mask))
    return all(close)


WRONG_TESTS = {
    "no mask": (a_check(masked=(0,)), "caught 14 of 17"),
    "sizes that differ": (a_check(sizes=((3, 5, 4, 2),)), "caught 15 of 17"),
    "square": (a_check(sizes=((4, 4, 4, 4),)), "caught 16 of 17"),
    "do of ones": (a_check(do=np.ones_like), "of 17"),
    "dq alone": (a_check(which=("q",)), "of 17"),
    "dk alone": (a_check(which=("k",)), "of 17"),
    "dv alone": (a_check(which=("v",)), "of 17"),
    "tiny nudge": (a_check(h=1e-7), "refuses a right implementation (rounded"),
    "huge nudge": (a_check(h=1.0), "refuses a right implementation"),
    "loose": (a_check(tolerance=5.0), "of 17"),
    "30 %": (a_check(tolerance=0.3), "caught 16 of 17"),
    "dq overlooked": (a_check(which=("k", "v")), "caught 16 of 17"),
    "dq and dv": (a_check(which=("q", "v")), "caught 14 of 17"),
    "to nine digits": (a_check(tolerance=1e-9), "refuses a right implementation"),
    "one query": (a_check(sizes=((1, 5, 4, 2), (1, 1, 1, 1)), masked=(0,)), "of 17"),
    "shapes": (shapes_alone, "of 17"),
    "sums": (sums_alone, "refuses a right implementation (sigmoid)"),
    "our formula": (against_our_formula, "refuses a right implementation (no scale"),
    "NaN slips through": (forgets_nan, "caught 16 of 17"),
    "a verdict": (returns_a_verdict, "Nobody looks at what a test returns"),
    "wrong shapes": (lambda forward, backward: forward(1), "stumbles over a right"),
    "another exception": (
        lambda forward, backward: np.linalg.inv(np.zeros((2, 2))) * len(str(forward)),
        "stumbles over a right",
    ),
}


@pytest.mark.parametrize("name", WRONG_TESTS)
def test_wrong_checks_fail(name):
    assert_rejected(check_gradient_check, *WRONG_TESTS[name])


def test_what_is_no_function_is_an_error():
    with pytest.raises(ValueError, match="test is int, it should be a function"):
        check_gradient_check(3)


def test_a_message_shows_the_learner_s_own_line():
    def my_gradient_check(forward, backward):
        raise AssertionError("never true")

    check_gradient_check(lambda forward, backward: forward(*inputs((2, 2, 2, 2))[:3]) is None)
    assert 'raise AssertionError("never true")' in check_gradient_check(my_gradient_check).message


# --- the ladder ------------------------------------------------------------------------------


def test_three_digits_are_enough_and_near_misses_are_refused():
    three = {r.letter: [float(f"{x:.3g}") for x in np.atleast_1d(r.value())] for r in BY_HAND.rungs}
    assert BY_HAND.run(**{a: x if len(x) > 1 else x[0] for a, x in three.items()})
    for letter, answer in {
        "a": [0.74, 0.26],
        "b": -3.9,
        "c": [-3, -1.1],
        "d": -7.9,
        "e": [6, -5.9],
        "f": 3.27,
        "g": [6, -6.1],
        "h": 4.4e-4,
        "i": [-6, -1e-3],
    }.items():
        assert check_by_hand(**{letter: answer}).status == "wrong", letter


# --- the open one ----------------------------------------------------------------------------


def test_the_schedule_that_we_found_does_what_the_solution_says():
    cells = re.findall(r"```\{code-cell\} ipython3\n(.*?)```", PAGE, re.DOTALL)
    wanted = ("def softmax(s)", "def flip(x)", "def start(size)")
    names = {"np": np}
    for cell in (c for c in cells if any(word in c for word in wanted)):
        exec(cell, names)
    run = run_exercise("gradients", "ex:gradients-free", **names)["run"]
    divided = {steps: run(lambda t: (8, 0, 0.25 / 16), steps) for steps in (100, 200)}
    assert divided[100][0] == 1 and divided[200][1] > 0.001
