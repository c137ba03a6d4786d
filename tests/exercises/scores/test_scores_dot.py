"""The check of the scaled dot product: right answers pass, wrong ones are told why."""

import numpy as np
import pytest
import torch
from worked import assert_rejected, assert_worked

from attention_src.exercises.scores import check_dot_scores
from attention_src.scores import reference


# The worked solution, in the words of the chapter.
def dot_scores(q, k, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(q.shape[-1])
    return (q @ k.swapaxes(-1, -2) * scale).astype(q.dtype)


def factor(q, scale):
    return q.shape[-1] ** -0.5 if scale is None else scale


def with_einsum(q, k, scale=None):
    return (np.einsum("...qd,...kd->...qk", q, k) * factor(q, scale)).astype(q.dtype)


def one_by_one(q, k, scale=None):
    if q.ndim > 2:
        return np.stack([one_by_one(a, b, scale) for a, b in zip(q, k, strict=True)])
    rows = [[float((a * b).sum()) * factor(q, scale) for b in k] for a in q]
    return np.array(rows, dtype=q.dtype)


def with_torch(q, k, scale=None):
    q, k = torch.from_numpy(q.copy()), torch.from_numpy(k.copy())
    return q @ k.transpose(-1, -2) * factor(q, scale)


def through_the_package(q, k, scale=None):
    if scale is None:
        return reference.scaled_dot(q, k)
    return (reference.dot(q, k) * scale).astype(q.dtype)


def queries_first(q, k, scale=None):
    return ((q * factor(q, scale)) @ np.moveaxis(k, -1, -2)).astype(q.dtype)


RIGHT = [
    dot_scores,
    with_einsum,
    one_by_one,
    with_torch,
    through_the_package,
    queries_first,
    lambda q, k, scale=None: (
        np.tensordot(q, k, ([-1], [-1])) * factor(q, scale)
        if q.ndim == 2
        else dot_scores(q, k, scale)
    ).astype(q.dtype),
]


def test_the_worked_solution():
    assert_worked("scores", check_dot_scores, dot_scores)


@pytest.mark.parametrize("right", RIGHT)
def test_right_answers_pass(right):
    assert check_dot_scores(right).status == "passed"


def scaled_by(of):
    return lambda q, k, scale=None: q @ k.swapaxes(-1, -2) * (of(q, k) if scale is None else scale)


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def scaled_in_place(q, k, scale=None):
    q *= factor(q, scale)
    return q @ k.swapaxes(-1, -2)


def kept_by_shape(q, k, scale=None, seen={}):  # noqa: B006
    return seen.setdefault((q.shape, k.shape, scale), dot_scores(q, k, scale))


WRONG = {
    "no scale": (scaled_by(lambda q, k: 1), "bare products"),
    "d_k": (scaled_by(lambda q, k: 1 / q.shape[-1]), "square root"),
    "times the root": (scaled_by(lambda q, k: q.shape[-1] ** 0.5), "one over it"),
    "keys": (scaled_by(lambda q, k: k.shape[-2] ** -0.5), "number of keys"),
    "queries": (scaled_by(lambda q, k: q.shape[-2] ** -0.5), "number of queries"),
    "first axis": (scaled_by(lambda q, k: len(q) ** -0.5), "d_k is the width"),
    "ignores the scale": (lambda q, k, scale=None: dot_scores(q, k), "ignores the scale"),
    "twice": (
        lambda q, k, scale=None: dot_scores(q, k) * (1 if scale is None else scale),
        "you used both",
    ),
    "divides": (
        lambda q, k, scale=None: dot_scores(q, k, None if scale is None else np.divide(1, scale)),
        "It multiplies",
    ),
    "or": (lambda q, k, scale=None: dot_scores(q, k, scale or None), "scale is None"),
    "transposed": (
        lambda q, k, scale=None: dot_scores(q, k, scale).swapaxes(-1, -2),
        "Yours is transposed",
    ),
    "softmax": (
        lambda q, k, scale=None: torch.softmax(torch.from_numpy(dot_scores(q, k, scale)), -1),
        "before the softmax",
    ),
    "cosine": (lambda q, k, scale=None: dot_scores(unit(q), unit(k), scale), "That is the cosine"),
    "in place": (scaled_in_place, "in place"),
    "all axes reversed": (lambda q, k, scale=None: q @ k.T * factor(q, scale), ""),
    "not transposed if it fits": (
        lambda q, k, scale=None: (
            (q @ k if q.shape[-2] == q.shape[-1] == k.shape[-2] else q @ k.swapaxes(-1, -2))
            * factor(q, scale)
        ).astype(q.dtype),
        "",
    ),
    "two axes only": (
        lambda q, k, scale=None: np.einsum("qd,kd->qk", q, k) * factor(q, scale),
        "",
    ),
    "three axes at most": (
        lambda q, k, scale=None: np.inner(q, k) * factor(q, scale),
        "",
    ),
    "float16": (
        lambda q, k, scale=None: dot_scores(q.astype(np.float16), k.astype(np.float16), scale),
        "",
    ),
    "float32 inside": (
        lambda q, k, scale=None: dot_scores(
            q.astype(np.float32), k.astype(np.float32), scale
        ).astype(q.dtype),
        "",
    ),
    "squeezed": (lambda q, k, scale=None: np.squeeze(dot_scores(q, k, scale)), ""),
    "root of 8": (scaled_by(lambda q, k: 8**-0.5), ""),
    "kept by shape": (kept_by_shape, ""),
    "positive scales only": (
        lambda q, k, scale=None: dot_scores(q, k, scale if scale is None else abs(scale)),
        "",
    ),
    "capped": (lambda q, k, scale=None: 50 * np.tanh(dot_scores(q, k, scale) / 50), ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected(name):
    answer, words = WRONG[name]
    assert_rejected(check_dot_scores, answer, words)
