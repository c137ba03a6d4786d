"""The check of the additive score in little memory."""

import numpy as np
import pytest
import torch
from worked import assert_rejected, assert_worked

from attention_src.exercises.scores import check_additive_scores
from attention_src.scores import reference


# The worked solution, in the words of the chapter.
def my_additive_scores(q, k, a, b, w):
    from_k = k @ b  # [n_k, d_a], the same for all queries
    return np.stack([np.tanh(row + from_k) @ w for row in q @ a])


def key_by_key(q, k, a, b, w):
    return np.stack([np.tanh(q @ a + row) @ w for row in k @ b], axis=1)


def unit_by_unit(q, k, a, b, w):
    s = np.zeros((len(q), len(k)))
    for u in range(len(w)):
        s += w[u] * np.tanh(np.add.outer(q @ a[:, u], k @ b[:, u]))
    return s


def in_blocks(q, k, a, b, w):
    blocks = [q[i : i + 7] for i in range(0, len(q), 7)]
    return np.concatenate([reference.additive(block, k, a.T, b.T, w) for block in blocks])


def with_torch(q, k, a, b, w):
    q, k, a, b, w = map(torch.from_numpy, (q, k, a, b, w))
    return torch.stack([torch.tanh(row @ a + k @ b) @ w for row in q])


def in_lists(q, k, a, b, w):
    return [list(np.tanh(row @ a + k @ b) @ w) for row in q]


def by_exponentials(q, k, a, b, w):
    rows = []
    for row in q @ a:
        e = np.exp(-2 * np.abs(row + k @ b))
        rows.append((np.sign(row + k @ b) * (1 - e) / (1 + e)) @ w)
    return np.array(rows)


RIGHT = [
    my_additive_scores,
    key_by_key,
    unit_by_unit,
    in_blocks,
    with_torch,
    in_lists,
    by_exponentials,
]


def test_the_worked_solution():
    assert_worked("scores", check_additive_scores, my_additive_scores)


@pytest.mark.parametrize("right", RIGHT)
def test_right_answers_pass(right):
    assert check_additive_scores(right).status == "passed"


def every_pair(join):
    """join(q a [d_a], k b [n_k, d_a], w) for each query."""
    return lambda q, k, a, b, w: np.stack([join(row, k @ b, w) for row in q @ a])


def in_eights(q, k, a, b, w):
    """Blocks of 8; the remainder stays 0."""
    n = len(q) // 8 * 8 or len(q)
    rest = np.zeros((len(q) - n, len(k)))
    return np.concatenate([my_additive_scores(q[:n], k, a, b, w), rest])


def ratio_of_exponentials(x, y, w):
    with np.errstate(all="ignore"):
        up, down = np.exp(x + y), np.exp(-x - y)
        return (up - down) / (up + down) @ w


WRONG = {
    "remainder left out": (in_eights, ""),
    "exponentials": (every_pair(ratio_of_exponentials), ""),
    "all at once": (
        lambda q, k, a, b, w: reference.additive(q, k, a.T, b.T, w),
        "MB of memory",
    ),
    "all at once in float32": (
        lambda q, k, a, b, w: (
            np.tanh((q @ a)[:, None].astype("f4") + (k @ b)[None].astype("f4")) @ w
        ),
        "",
    ),
    "no tanh": (every_pair(lambda x, y, w: (x + y) @ w), "no tanh"),
    "tanh last": (every_pair(lambda x, y, w: np.tanh((x + y) @ w)), "bent afterwards"),
    "tanh apart": (every_pair(lambda x, y, w: (np.tanh(x) + np.tanh(y)) @ w), "Add first"),
    "product": (every_pair(lambda x, y, w: np.tanh(x * y) @ w), "formula adds"),
    "difference": (every_pair(lambda x, y, w: np.tanh(x - y) @ w), "subtracted"),
    "no w": (every_pair(lambda x, y, w: np.tanh(x + y).sum(-1)), "weights w"),
    "mean": (every_pair(lambda x, y, w: np.tanh(x + y) @ w / w.size), "number of hidden units"),
    "root": (every_pair(lambda x, y, w: np.tanh(x + y) @ w / w.size**0.5), "square root"),
    "transposed": (lambda *x: my_additive_scores(*x).T, "transposed"),
    "relu": (every_pair(lambda x, y, w: np.maximum(x + y, 0) @ w), "cut off at 0"),
    "sigmoid": (every_pair(lambda x, y, w: 1 / (1 + np.exp(-x - y)) @ w), "sigmoid"),
    "roles swapped": (lambda q, k, a, b, w: my_additive_scores(k, q, a, b, w).T, ""),
    "a for both": (lambda q, k, a, b, w: my_additive_scores(q, k, a, a, w), ""),
    "a transposed": (lambda q, k, a, b, w: my_additive_scores(q, k, a.T, b.T, w), ""),
    "sin": (every_pair(lambda x, y, w: np.sin(x + y) @ w), ""),
    "arctan": (every_pair(lambda x, y, w: np.arctan(x + y) @ w), ""),
    "first 50 units": (
        lambda q, k, a, b, w: my_additive_scores(q, k, a[:, :50], b[:, :50], w[:50]),
        "",
    ),
    "first query": (
        lambda q, k, a, b, w: np.repeat(my_additive_scores(q[:1], k, a, b, w), len(q), axis=0),
        "",
    ),
    "with a bias": (every_pair(lambda x, y, w: np.tanh(x + y + 0.01) @ w), ""),
    "softmax": (
        lambda *x: torch.softmax(torch.from_numpy(my_additive_scores(*x)), -1),
        "",
    ),
    "squeezed": (lambda *x: np.squeeze(my_additive_scores(*x)), ""),
    "float32": (
        lambda *x: my_additive_scores(*(part.astype(np.float32) for part in x)),
        "",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected(name):
    answer, words = WRONG[name]
    assert_rejected(check_additive_scores, answer, words)
