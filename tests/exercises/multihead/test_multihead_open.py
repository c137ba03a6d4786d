"""The ladder, and the head by hand: right answers pass, wrong ones do not and are told why."""

from fractions import Fraction

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.multihead import check_bound, check_previous_head

# --- the ladder --------------------------------------------------------------------------------


RIGHT_RUNGS = [
    (4, 0, 0.8, 1.6, 1),
    (4.0, -0.0, 4 / 5, 8 / 5, np.float64(1)),
    (np.int64(4), 1e-17, 0.1 * 8, 2 - 0.4, 3 - 2),
    tuple(np.float32([4, 0, 0.8, 1.6, 1])),
    tuple(np.array(x) for x in (4, 0, 0.8, 1.6, 1)),
    (Fraction(4), Fraction(0), Fraction(4, 5), Fraction(8, 5), Fraction(1)),
    (4.001, 0, 0.801, 1.599, 0.999),
]


@pytest.mark.parametrize("answers", RIGHT_RUNGS)
def test_right_rungs(answers):
    assert check_bound(*answers).status == "passed"


@pytest.mark.parametrize(
    "answers",
    [
        (2, 0, 0.8, 1.6, 1),
        (0, 0, 0.8, 1.6, 1),
        (4, 1, 0.8, 1.6, 1),
        (4, 0, 0.5, 1.6, 1),
        (4, 0, 0.8, 0.4, 1),
        (4, 0, 0.8, 0.8, 1),
        (4, 0, 0.8, np.nan, 1),
        (4, 0, "0.8", 1.6, 1),
        (4, 0, [0.8, -0.8], 1.6, 1),
        (4, 0, 0.8, 1.6, 2),
        (4, 0, 0.8, 1.6, 0),
        (4, 0, 0.8, 1.6, 1 / 3),
        (4, 0.1, 0.8, 1.6, 1),
        (-4, 0, 0.8, 1.6, 1),
        (4, 0, -0.8, 1.6, 1),
    ],
)
def test_wrong_rungs(answers):
    assert check_bound(*answers).status == "wrong"


# --- the head by hand --------------------------------------------------------------------------


# The worked solution, in the words of the chapter.
def my_previous_head():
    w_q, w_k = np.zeros((2, 16, 8))
    w_v, w_o = np.zeros((16, 4)), np.zeros((4, 16))
    w_k[4:12] = np.eye(8)  # a key says: I stand at place j
    w_q[4:12] = 30 * np.eye(8, k=-1)  # a query from i asks for i - 1
    w_v[:4] = np.eye(4)  # take the letter …
    w_o[:, 12:] = np.eye(4)  # … and write it where there is room
    return w_q, w_k, w_v, w_o


def test_worked_solution_and_stub():
    assert_worked("multihead", check_previous_head, my_previous_head)


def head(
    *,
    by=30.0,
    shift=-1,
    reads=slice(0, 4),
    writes=slice(12, 16),
    take=1.0,
    places=slice(4, 12),
    d_v=4,
):
    """A head like the worked one, with something else about it."""
    w_q, w_k = np.zeros((2, 16, 8))
    w_v, w_o = np.zeros((16, d_v)), np.zeros((d_v, 16))
    w_k[places] = np.eye(8)
    w_q[places] = by * np.eye(8, k=shift)
    w_v[reads, :4] = np.eye(4) * take
    w_o[:4, writes] = np.eye(4)
    return w_q, w_k, w_v, w_o


def on_a_circle():  # two numbers are enough to tell eight places apart
    angle = np.arange(8) * 2 * np.pi / 8
    w_q, w_k = np.zeros((2, 16, 2))
    w_k[4:12] = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    w_q[4:12] = 60 * np.stack([np.cos(angle - angle[1]), np.sin(angle - angle[1])], axis=1)
    return w_q, w_k, *head()[2:]


def on_a_parabola():  # largest where j = i - 1: 2 (i - 1) j - j^2
    j = np.arange(8.0)
    w_q, w_k = np.zeros((2, 16, 2))
    w_k[4:12] = np.stack([j, j**2], axis=1)
    w_q[4:12] = 20 * np.stack([2 * (j - 1), -np.ones(8)], axis=1)
    return w_q, w_k, *head()[2:]


def full_width():
    w_q, w_k, w_v, w_o = head()
    return w_q @ np.eye(8, 16), w_k @ np.eye(8, 16), w_v @ np.eye(4, 16), np.eye(16, 4) @ w_o


def turned(seed):
    rng = np.random.default_rng(seed)
    w_q, w_k, w_v, w_o = head()
    turn, mix = np.linalg.qr(rng.normal(size=(8, 8)))[0], rng.normal(size=(4, 4))
    return w_q @ turn, w_k @ turn, w_v @ mix, np.linalg.inv(mix) @ w_o


def first_looks_at_itself():
    w_q, *rest = head()
    w_q[4, 0] = 30
    return w_q, *rest


RIGHT = {
    "worked solution": my_previous_head,
    "louder": lambda: head(by=1000),
    "shift in the keys": lambda: (30 * head()[1], head(by=1, shift=1)[0], *head()[2:]),
    "on a circle": on_a_circle,
    "on a parabola": on_a_parabola,
    "full width": full_width,
    "turned": lambda: turned(0),
    "the first looks at itself": first_looks_at_itself,
    "lists": lambda: [w.tolist() for w in my_previous_head()],
    "weighed": lambda: (*head()[:2], head()[2] * 5, head()[3] / 5),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_heads_pass(name):
    assert check_previous_head(RIGHT[name]).status == "passed"


def nan_in(name):
    matrices = dict(zip(("w_q", "w_k", "w_v", "w_o"), my_previous_head(), strict=True))
    matrices[name][0, 0] = np.nan
    return tuple(matrices.values())


WRONG = {
    "zeros": (lambda: head(by=0), "all places alike"),
    "too soft": (lambda: head(by=8), "Sharper"),
    "ahead": (lambda: head(shift=1), "one place ahead"),
    "itself": (lambda: head(shift=0), "at itself"),
    "two back": (lambda: head(shift=-2), "looks most at place"),
    "anywhere else": (lambda: head(by=-30), "several places"),
    "takes the place": (lambda: head(reads=slice(4, 8)), "What does it take from there"),
    "writes over the letter": (lambda: head(writes=slice(0, 4)), "where does"),
    "half": (lambda: head(take=0.5), "What does it take"),
    "two per cent too much": (lambda: head(take=1.02), "What does it take"),
    "by letters": (lambda: (*head()[:1], head()[0], *head()[2:]), ""),
    "writes elsewhere too": (
        lambda: (*head()[:3], head()[3] + np.eye(4, 16)),
        "outside the free components",
    ),
    "three matrices": (lambda: my_previous_head()[:3], "four matrices"),
    "one matrix": (lambda: my_previous_head()[0], "four matrices"),
    "transposed": (lambda: tuple(w.T for w in my_previous_head()), "w_q has shape (8, 16)"),
    "w_o transposed": (lambda: (*head()[:3], head()[3].T), "w_o has shape"),
    "queries wider": (
        lambda: (np.zeros((16, 9)), *my_previous_head()[1:]),
        "must be equally wide",
    ),
    "a vector": (lambda: (np.zeros(16), *my_previous_head()[1:]), "should be a matrix"),
    "not a number": (lambda: nan_in("w_v"), "not finite"),
    "words": (lambda: ("w_q", *my_previous_head()[1:]), "w_q, a matrix"),
    "letters a to c only": (
        lambda: (*head()[:2], head()[2] * (np.arange(4) < 3), head()[3]),
        "letter before",
    ),
    "places 0 to 5 only": (
        lambda: (head()[0] * (np.arange(16) < 10)[:, None], *head()[1:]),
        "letter before",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_heads_are_rejected_and_told_why(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_previous_head, answer, spoken_of)


def test_not_a_function():
    with pytest.raises(ValueError, match="pass its name without calling"):
        check_previous_head(my_previous_head())
