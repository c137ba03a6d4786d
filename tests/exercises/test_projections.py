"""Layers are as right and wrong as the exercise says; a head by hand; the ladder; the open one."""

import numpy as np
import pytest
from worked import run_exercise

from attention_src.attention.reference import attention, attention_weights
from attention_src.exercises import projections as ex
from attention_src.softmax.reference import softmax


def difference(layer, n, seed=0):
    rng = np.random.default_rng(seed)
    x, order = rng.normal(size=(n, 8)), rng.permutation(n)
    assert layer(x).shape == (n, 8) and np.isfinite(layer(x)).all()
    return np.abs(layer(x[order]) - layer(x)[order]).max()


def test_layers_know_the_order_or_not_as_the_exercise_says():
    for one in ex.check_order_test.wrong:
        assert min(difference(one.function, 40, seed) for seed in range(5)) > 1e-3, one.name
        assert all(np.isfinite(difference(one.function, n)) for n in (1, 2, 3, 100)), one.name
    for one in ex.check_order_test.right:
        assert max(difference(one.function, n) for n in (1, 2, 13, 40, 100)) < 2e-6, one.name


def test_what_a_pass_says():
    solved = run_exercise("projections", "ex:projections-names")
    assert "the smallest there is" in ex.check_names(solved["my_weights_on_a_circle"]).message
    assert "d_k = 6" in ex.check_names(solved["my_weights"]).message


EYE = np.eye(6)
LINE = 20 * (np.arange(6.0)[:, None] - 2.5)
OTHERWISE = {
    "negative": (-20 * EYE, EYE),
    "a line": (LINE, LINE),
    "keys shifted by one": (20 * EYE, np.roll(EYE, 1, axis=0)),
    "shifted by one": (20 * np.roll(EYE, 1, axis=0), EYE),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_no_cause_is_named_that_is_not_the_cause(name):
    queries, keys = OTHERWISE[name]  # of whom a token names, of who it is
    w_q, w_k = np.concatenate([0 * queries, queries]), np.concatenate([keys, 0 * keys])
    result = ex.check_names(lambda: (w_q, w_k))
    assert result.status == "wrong"
    assert "itself" not in result.message and "exchanged" not in result.message


def test_the_sentences_are_as_the_exercise_says():
    assert len(ex.sentences()) == 60
    for who, named in ex.sentences():
        assert 1 <= len(who) == len(set(who.tolist())) <= 6
        assert len(named) == len(who) and set(named.tolist()) <= set(who.tolist())
    x = ex.sentence([2, 4], [4, 4])
    assert x.shape == (2, 12) and x[0].nonzero()[0].tolist() == [2, 10]


def test_one_more_is_refused_in_each_rung():
    for rung in ex.check_rank.rungs:
        assert ex.check_rank(**{rung.letter: rung.value + 1}).status == "wrong"


def test_what_the_ladder_counts_is_so():
    """The numbers that scores can feel, as the rank of the derivative of A by both matrices."""
    d_model, d_k = 7, 3
    w_q, w_k = np.random.default_rng(0).normal(size=(2, d_model, d_k))
    moves = []
    for step in np.eye(d_model * d_k).reshape(-1, d_model, d_k):
        moves += [(step @ w_k.T).ravel(), (w_q @ step.T).ravel()]
    assert np.linalg.matrix_rank(np.array(moves)) == 2 * d_model * d_k - d_k**2


def test_what_we_found_without_a_residual_is_found():
    def told_apart(x):
        return np.linalg.norm(x - x.mean(axis=0)) / np.linalg.norm(x)

    given = {"attention": attention, "attention_weights": attention_weights, "softmax": softmax}
    names = run_exercise("projections", "ex:projections-apart", told_apart=told_apart, **given)
    assert names["mark"](names["mine"]) < 1e-3
    assert len(names["found"]) == 4
