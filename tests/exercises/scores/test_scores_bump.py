"""Weights written by hand, and the open exercise's cell and solution."""

import contextlib
import io

import numpy as np
import pytest
from worked import assert_rejected, assert_worked, run_exercise

from attention_src.exercises.scores import bump, check_bump


# The worked solution, in the words of the chapter.
def my_bump():
    a = np.array([[1.0, -1.0], [2.0, 2.0]])  # the constant's row, then x
    b = np.array([[0.0, 0.0], [-2.0, -2.0]])  # then y
    w = np.array([1.0, -1.0])
    return a, b, w  # tanh(2(x - y) + 1) - tanh(2(x - y) - 1)


def units(slope=2.0, shift=1.0, w=(1.0, -1.0), back=-1.0, from_key=False):
    """Bumps of a slope and a shift, perhaps wrong ones."""
    shifts, slopes = np.resize([shift, -shift], len(w)), np.full(len(w), slope)
    a = np.stack([0 * shifts if from_key else shifts, slopes])
    b = np.stack([shifts if from_key else 0 * shifts, back * slopes])
    return a, b, np.array(w)


RIGHT = [
    my_bump,
    lambda: units(slope=1.0),
    lambda: units(slope=5.0, shift=2.5),
    lambda: units(shift=0.3),
    lambda: units(from_key=True),
    lambda: units(slope=-2.0),
    lambda: units(shift=-1.0, w=(-1.0, 1.0)),
    lambda: units(w=(1.0, -1.0, 1.0, -1.0)),
    lambda: units(w=(1, -1)),
    lambda: [part.tolist() for part in my_bump()],
    lambda: units(w=(100.0, -100.0)),
]


def test_the_worked_solution():
    assert_worked("scores", check_bump, my_bump)
    assert "2 hidden units" in check_bump(my_bump).message
    assert "with fewer" not in check_bump(my_bump).message
    assert "with fewer" in check_bump(lambda: units(w=(1.0, -1.0, 1.0, -1.0))).message


@pytest.mark.parametrize("right", RIGHT)
def test_right_answers_pass(right):
    assert check_bump(right).status == "passed"


WRONG = {
    "a pit": (lambda: units(w=(-1.0, 1.0)), "should lead"),
    "sum for difference": (lambda: units(back=1.0), "should lead"),
    "the middle only": (lambda: units(slope=0.0), "should lead"),
    "twice the key": (lambda: units(back=-2.0), "should lead"),
    "no shift": (lambda: units(shift=0.0), "should lead"),
    "no minus": (lambda: units(w=(1.0, 1.0)), "should lead"),
    "too flat": (lambda: units(slope=0.1), "should lead"),
    "too faint": (lambda: units(w=(0.05, -0.05)), "should lead"),
    "too broad": (lambda: units(slope=2.0, shift=8.0), "should lead"),
    "one unit": (lambda: units(w=(1.0,)), "should lead"),
    "w too short": (lambda: (*my_bump()[:2], np.ones(1)), "w should have one number"),
    "a dot": (lambda: (np.eye(2), np.eye(2), np.ones(2)), "should lead"),
    "five units": (lambda: units(w=(1.0, -1.0, 1.0, -1.0, 0.0)), "from 1 to 4"),
    "transposed": (lambda: [x.T for x in units(w=(1.0, -1.0, 0.0))], "shape [2, 3]"),
    "w a column": (lambda: (*my_bump()[:2], my_bump()[2][:, None]), "shape [d_a]"),
    "two parts": (lambda: my_bump()[:2], "three arrays"),
    "nan": (lambda: units(w=(np.nan, 1.0)), "finite"),
    "infinite": (lambda: units(slope=np.inf), "finite"),
    "words": (lambda: "a bump", "three arrays"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected(name):
    answer, words = WRONG[name]
    assert_rejected(check_bump, answer, words)


def test_a_check_needs_a_function():
    with pytest.raises(ValueError, match="should be a function"):
        check_bump(3)


def test_what_the_solution_says_of_fewer_units_and_no_constant():
    """One unit only rises or falls along the keys; without a constant the score is odd."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        s = bump.scores(rng.normal(size=(2, 1)), rng.normal(size=(2, 1)), rng.normal(size=1))
        assert set(s.argmax(axis=1)) <= {0, 8}
        a, b = rng.normal(size=(2, 2, 4))
        a[0] = b[0] = 0
        odd = bump.scores(a, b, rng.normal(size=4))
        np.testing.assert_allclose(odd[::-1, ::-1], -odd, atol=1e-12)
        assert np.delete(odd[4], 4).max() >= odd[4, 4] - 1e-12


def test_the_open_exercise_s_numbers():
    """Four times as many keys ask for four numbers more, and a common vector changes nothing."""

    def n_winners(q, k):
        return len(np.unique((q @ k.T).argmax(axis=1)))

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        names = run_exercise("scores", "ex:scores-winners", n_winners=n_winners)
    share = names["share_of_winners"]
    assert f"{share(64, 8):.2f}" in printed.getvalue()
    for n_k, d in ((32, 12), (128, 16), (512, 20), (2048, 24)):
        assert np.mean([share(n_k, d, seed=seed) for seed in range(5)]) > 0.945
        assert np.mean([share(n_k, d - 4, seed=seed) for seed in range(5)]) < 0.945
    assert share(128, 8, centre=5.0) == share(128, 8)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        names["table"]()
    assert "2048 keys, d_k = 24: 0.97" in printed.getvalue()
