"""Scores of maps, on maps whose score is known."""

import numpy as np
import pytest

from attention_src.attention.maps import (
    column_score,
    contributions,
    offset_score,
)


def random_weights(*shape):
    return np.random.default_rng(0).dirichlet(np.ones(shape[-1]), size=shape[:-1])


def test_offset_score_counts_words_only():
    n = 7
    previous = np.eye(n, k=-1)
    assert offset_score(previous, -1) == 1 and offset_score(previous, 1) == 0
    assert offset_score(np.eye(n), 0) == 1
    assert offset_score(np.eye(n, k=1), 1) == 1
    special = np.zeros((n, n))
    special[1, 0] = special[-1, -2] = 1  # from the first word to [CLS], from [SEP] to the last word
    assert offset_score(special, -1) == 0


def test_scores_keep_the_leading_axes():
    p = random_weights(2, 3, 7, 7)
    for score in (offset_score(p, -1), column_score(p, 0)):
        assert score.shape == (2, 3)
    expected = p[1, 2, [2, 3, 4, 5], [1, 2, 3, 4]].mean()
    np.testing.assert_allclose(offset_score(p, -1)[1, 2], expected)


def test_column_score_leaves_special_queries_out():
    p = np.zeros((5, 5))
    p[1:4, 0] = 1
    assert column_score(p, 0) == 1 and column_score(p, -1) == 0


def test_contributions():
    p = np.array([[0.9, 0.1], [0.5, 0.5]])
    np.testing.assert_allclose(contributions(p, [1.0, 9.0]), [[0.5, 0.5], [0.1, 0.9]])
    np.testing.assert_allclose(contributions(p, [2.0, 2.0]), p)
    assert (contributions(p, [0.0, 0.0]) == 0).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: offset_score(np.ones((3, 4)), -1), r"p has shape \(3, 4\)"),
        (lambda: offset_score(np.eye(4), 5), "offset=5: no two of the 2 words"),
        (lambda: column_score(np.eye(4), 4), "column=4: p has 4 keys"),
        (lambda: column_score(np.eye(4), -5), "column is -5; it should be at least -4"),
        (lambda: column_score(np.eye(4), 1.5), "column is 1.5; it should be a whole number"),
        (lambda: column_score(np.eye(4), True), "column is True; it should be a whole number"),
        (lambda: offset_score(np.eye(4), 0.5), "offset is 0.5; it should be a whole number"),
        (lambda: contributions(np.eye(3), np.ones(2)), r"value_norms has shape \(2,\)"),
    ],
)
def test_bad_input_names_the_argument(call, message, untyped):
    with pytest.raises(ValueError, match=message):
        call()
