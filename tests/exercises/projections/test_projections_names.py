"""A head whose weights are written by hand, the ladder, and the open exercise's finding."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.exercises.projections import check_names, check_rank
from attention_src.exercises.projections.names import sentence, sentences

EYE, ZERO = np.eye(6), np.zeros((6, 6))


def halves(queries, keys):
    """w_q that reads whom a token names, w_k that reads who it is."""
    nothing = np.zeros_like(queries)
    return np.concatenate([nothing, queries]), np.concatenate([keys, nothing])


def circle(radius, people=6):
    angle = np.arange(6) * 2 * np.pi / people
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def rotated(w_q, w_k):
    b = np.random.default_rng(0).normal(size=(w_q.shape[1],) * 2)
    return w_q @ b, w_k @ np.linalg.inv(b).T


def with_a_common_query():
    """Each query also reads who asks, which adds the same to all scores of its row: no harm."""
    w_q, w_k = halves(20 * EYE, EYE)
    w_q[:6] += 3
    w_k[:6] += 0.5
    return w_q, w_k


def wide():
    w_q, w_k = halves(100 * EYE, EYE)
    more = np.zeros((12, 40))
    return np.hstack([w_q, more]), np.hstack([w_k, more])


SOLVED = run_exercise("projections", "ex:projections-names")
RIGHT = {
    "worked": SOLVED["my_weights"],
    "on a circle": SOLVED["my_weights_on_a_circle"],
    "keys large": lambda: halves(EYE, 20 * EYE),
    "in another basis": lambda: rotated(*halves(20 * EYE, EYE)),
    "lists": lambda: [w.tolist() for w in halves(30 * EYE, EYE)],
    "whole numbers": lambda: tuple(w.astype(int) for w in halves(9 * EYE, 4 * EYE)),
    "a corner cut": lambda: halves(100 * EYE[:, :5] - 20, EYE[:, :5] - 0.2),
    "one array": lambda: np.array(halves(20 * EYE, EYE)),
    "wide": wide,
    "with a common query": with_a_common_query,
    "signs": lambda: halves(*[4 * (2 * (np.arange(6)[:, None] >> np.arange(3) & 1) - 1)] * 2),
}


@pytest.mark.parametrize("name", RIGHT)
def test_weights_that_do_it_pass(name):
    assert check_names(RIGHT[name]).status == "passed"


def test_what_a_pass_says():
    assert "the smallest there is" in check_names(RIGHT["on a circle"]).message
    assert "d_k = 6" in check_names(RIGHT["worked"]).message


def one_direction(scale):
    numbers = scale * (np.arange(6.0)[:, None] - 2.5)
    return lambda: halves(numbers, numbers)


def but(row, column, value):
    w_q, w_k = halves(20 * EYE, EYE)
    w_q[row, column] = value
    return w_q, w_k


WRONG = {
    "exchanged": (lambda: halves(20 * EYE, EYE)[::-1], "are w_q and w_k exchanged?"),
    "itself": (
        lambda: (np.concatenate([20 * EYE, ZERO]), np.concatenate([EYE, ZERO])),
        "looks at itself: w_q does not read",
    ),
    "who names the same": (
        lambda: (np.concatenate([ZERO, 20 * EYE]), np.concatenate([ZERO, EYE])),
        "",
    ),
    "too small": (lambda: halves(EYE, EYE), "not by enough"),
    "nearly enough": (lambda: halves(9 * EYE, EYE), "not by enough"),
    "zeros": (lambda: np.zeros((2, 12, 6)), "All its weights are equal"),
    "everything": (lambda: (np.ones((12, 6)), np.ones((12, 6))), "All its weights are equal"),
    "negative": (lambda: halves(-20 * EYE, EYE), ""),
    "a line": (one_direction(20), ""),
    "keys shifted by one": (lambda: halves(20 * EYE, np.roll(EYE, 1, axis=0)), ""),
    "just below": (lambda: halves(15.1 * EYE, EYE), "It gives 0.98"),
    "shifted by one": (lambda: halves(20 * np.roll(EYE, 1, axis=0), EYE), ""),
    "one person missing": (lambda: but(11, 5, 0), ""),
    "one person exchanged": (lambda: but(8, 3, 40), ""),
    "a small circle": (lambda: halves(circle(1), circle(1)), "not by enough"),
    "half a circle": (lambda: halves(circle(3, 11), circle(3, 11)), "not by enough"),
    "one direction": (one_direction(5), ""),
    "one direction, huge": (one_direction(1e4), ""),
    "transposed": (lambda: tuple(w.T for w in halves(20 * EYE, EYE)), "expected w_q of shape"),
    "half the token": (lambda: (20 * EYE, EYE), "expected w_q of shape (12, d_k)"),
    "two widths": (lambda: (halves(20 * EYE, EYE)[0], np.zeros((12, 5))), "needs one"),
    "the product": (lambda: halves(20 * EYE, EYE)[0], "two matrices"),
    "infinite": (lambda: halves(np.inf * np.where(EYE > 0, 1, 0), EYE), ""),
    "overflows": (lambda: halves(1e200 * EYE, 1e200 * EYE), "not a number"),
    "no direction": (lambda: np.zeros((2, 12, 0)), "expected w_q of shape"),
    "text": (lambda: ("w_q", "w_k"), "it returned"),
    "all names at once": (lambda: (np.concatenate([20 * EYE] * 2), np.concatenate([EYE] * 2)), ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_weights_that_do_not_fail(name):
    assert_rejected(check_names, *WRONG[name])


@pytest.mark.parametrize("name", ["negative", "a line", "keys shifted by one", "shifted by one"])
def test_no_cause_is_named_that_is_not_the_cause(name):
    message = check_names(WRONG[name][0]).message
    assert "itself" not in message and "exchanged" not in message


def test_a_weight_just_below_is_not_rounded_up():
    message = check_names(WRONG["just below"][0]).message
    assert "0.99 " not in message and "there and" not in message


def test_weights_that_are_not_there():
    def stub():
        raise NotImplementedError

    assert check_names(stub).status == "not started"
    with pytest.raises(ValueError, match="f is ndarray, it should be a function"):
        check_names(ZERO)


def test_the_sentences_are_as_the_exercise_says():
    assert len(sentences()) == 60
    for who, named in sentences():
        assert 1 <= len(who) == len(set(who.tolist())) <= 6
        assert len(named) == len(who) and set(named.tolist()) <= set(who.tolist())
    x = sentence([2, 4], [4, 4])
    assert x.shape == (2, 12) and x[0].nonzero()[0].tolist() == [2, 10]


# --- the ladder --------------------------------------------------------------------------------


NEAR = [("a", 65535), ("b", 262143), ("c", 65), ("d", 61441), ("e", 255), ("f", 63), ("a", 6.5e4)]


@pytest.mark.parametrize(("rung", "answer"), NEAR)
def test_near_misses_of_the_ladder_are_refused(rung, answer):
    assert check_rank(**{rung: answer}).status == "wrong"


def test_what_the_ladder_counts_is_so():
    """The numbers that scores can feel, as the rank of the derivative of A by both matrices."""
    d_model, d_k = 7, 3
    w_q, w_k = np.random.default_rng(0).normal(size=(2, d_model, d_k))
    moves = []
    for step in np.eye(d_model * d_k).reshape(-1, d_model, d_k):
        moves += [(step @ w_k.T).ravel(), (w_q @ step.T).ravel()]
    assert np.linalg.matrix_rank(np.array(moves)) == 2 * d_model * d_k - d_k**2


# --- the open one ------------------------------------------------------------------------------


def test_what_we_found_without_a_residual_is_found():
    from attention_src.attention.reference import attention, attention_weights
    from attention_src.softmax.reference import softmax

    def told_apart(x):
        return np.linalg.norm(x - x.mean(axis=0)) / np.linalg.norm(x)

    given = {"attention": attention, "attention_weights": attention_weights}
    names = run_exercise(
        "projections", "ex:projections-apart", softmax=softmax, told_apart=told_apart, **given
    )
    assert names["mark"](names["mine"]) < 1e-3
    assert len(names["found"]) == 4
