"""The check of softmax's gradient: right answers of every style pass, wrong ones are refused."""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.softmax import check_softmax_backward


def my_softmax_backward(p, dp):
    p, dp = np.asarray(p), np.asarray(dp)
    return p * (dp - (p * dp).sum(axis=-1, keepdims=True))


def row_by_row(p, dp):
    out = np.empty(p.shape)
    for index in np.ndindex(p.shape[:-1]):
        out[index] = p[index] * (dp[index] - p[index] @ dp[index])
    return out


def by_lists(p, dp):
    if p.ndim > 1:
        return [by_lists(a, b) for a, b in zip(p, dp, strict=True)]
    mean = sum(a * b for a, b in zip(p.tolist(), dp.tolist(), strict=True))
    return [a * (b - mean) for a, b in zip(p.tolist(), dp.tolist(), strict=True)]


def by_torch(p, dp):
    torch = pytest.importorskip("torch")
    p, dp = torch.tensor(p, requires_grad=True), torch.tensor(dp)
    return p * (dp - (p * dp).sum(-1, keepdim=True))


def in_a_copy(p, dp):
    ds = dp.copy()
    ds -= (p * dp).sum(axis=-1, keepdims=True)
    ds *= p
    return ds


def keys_first(p, dp):
    a, b = np.moveaxis(p, -1, 0), np.moveaxis(dp, -1, 0)
    return np.moveaxis(a * (b - (a * b).sum(axis=0)), 0, -1)


RIGHT = {
    "two products": lambda p, dp: p * dp - p * np.sum(p * dp, axis=-1, keepdims=True),
    "einsum": lambda p, dp: p * (dp - np.einsum("...j,...j->...", p, dp)[..., None]),
    "matmul": lambda p, dp: p * (dp - (p[..., None, :] @ dp[..., :, None])[..., 0]),
    "row by row": row_by_row,
    "Python lists": by_lists,
    "torch": by_torch,
    "in a copy": in_a_copy,
    "keys first": keys_first,
    "shifted first": lambda p, dp: (
        my_softmax_backward(p, dp - dp.max(axis=-1, keepdims=True))
        * (p.sum(axis=-1, keepdims=True) > 0)
    ),
}


def my_softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def elementwise(p, dp):
    return p * dp


def diagonal(p, dp):
    return p * (1 - p) * dp


def sign(p, dp):
    return p * (np.sum(p * dp, axis=-1, keepdims=True) - dp)


def plus(p, dp):
    return p * (dp + np.sum(p * dp, axis=-1, keepdims=True))


def unweighted_sum(p, dp):
    return p * (dp - dp.sum(axis=-1, keepdims=True))


def unweighted_mean(p, dp):
    return p * (dp - dp.mean(axis=-1, keepdims=True))


def forgets_p(p, dp):
    return dp - (p * dp).sum(axis=-1, keepdims=True)


def softmax_of_weights(p, dp):
    return my_softmax_backward(my_softmax(p), dp)


def backward_axis_0(p, dp):
    return p * (dp - (p * dp).sum(axis=0, keepdims=True))


def backward_sum_of_all(p, dp):
    return p * (dp - np.sum(p * dp))


def backward_lost_axis(p, dp):
    return p * (dp - (p * dp).sum(-1))


def jacobian(p, dp):
    J = p[..., :, None] * np.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :]
    return np.einsum("...ij,...j->...i", J, dp)


def one_row_jacobian(p, dp):
    return (np.diag(p) - np.outer(p, p)) @ dp


def backward_in_place(p, dp):
    dp -= (p * dp).sum(axis=-1, keepdims=True)
    return p * dp


WRONG = {
    elementwise: "elementwise product only",
    diagonal: "the diagonal of the Jacobian",
    sign: "The sign is turned round",
    plus: "You added the mean of dp",
    unweighted_sum: "plain sum of dp",
    unweighted_mean: "plain mean of dp",
    forgets_p: "multiply it by p",
    softmax_of_weights: "p holds the weights already",
    backward_axis_0: "wrong axis",
    backward_sum_of_all: "one sum for the whole array",
    backward_lost_axis: "Use keepdims=True",
    jacobian: "you formed the n × n Jacobian",
    one_row_jacobian: "operands could not be broadcast",
    backward_in_place: "changed its input dp in place",
}


def jacobian_in_torch(p, dp):
    torch = pytest.importorskip("torch")
    p, dp = torch.tensor(p), torch.tensor(dp)
    J = torch.diag_embed(p) - p[..., :, None] * p[..., None, :]
    return (J @ dp[..., None])[..., 0]


def jacobian_row_by_row(p, dp):
    out = np.empty(p.shape)
    for index in np.ndindex(p.shape[:-1]):
        a = p[index]
        out[index] = (np.diag(a) - np.outer(a, a)) @ dp[index]
    return out


def seen():
    kept = {}
    return lambda p, dp: kept.setdefault(p.shape, my_softmax_backward(p, dp)).copy()


def summed_over(axis):
    return lambda p, dp: p * (dp - (p * dp).sum(axis=axis, keepdims=True))


SLY = {
    "the Jacobian in torch": jacobian_in_torch,
    "the Jacobian of each row": jacobian_row_by_row,
    "axis −2": lambda p, dp: summed_over(-2 if p.ndim > 1 else -1)(p, dp),
    "one sum for a matrix, in 3-D": lambda p, dp: (
        my_softmax_backward(p, dp) if p.ndim < 3 else summed_over((-2, -1))(p, dp)
    ),
    "4-D only wrong": lambda p, dp: my_softmax_backward(p, dp) * (1 if p.ndim < 4 else 2),
    "squeezed": lambda p, dp: np.squeeze(my_softmax_backward(p, dp)),
    "float32": lambda p, dp: my_softmax_backward(p.astype(np.float32), dp).astype(np.float32),
    "float32 inside": lambda p, dp: my_softmax_backward(
        p.astype(np.float32), dp.astype(np.float32)
    ).astype(float),
    "normalised first": lambda p, dp: my_softmax_backward(p / p.sum(axis=-1, keepdims=True), dp),
    "through log p": lambda p, dp: my_softmax_backward(my_softmax(np.log(p)), dp),
    "clipped": lambda p, dp: my_softmax_backward(p, np.clip(dp, -1000, 1000)),
    "zeros lifted": lambda p, dp: my_softmax_backward(np.maximum(p, 1e-6), dp),
    "kept by shape": seen(),
    "swapped": lambda p, dp: my_softmax_backward(dp, p),
    "a pair": lambda p, dp: (my_softmax_backward(p, dp), p),
    "the loss": lambda p, dp: (p * dp).sum(axis=-1),
}


def test_the_worked_solution_and_a_stub():
    assert_worked("softmax", check_softmax_backward, my_softmax_backward)


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_written_differently(name):
    assert check_softmax_backward(RIGHT[name]), name


@pytest.mark.parametrize("answer", WRONG, ids=lambda f: f.__name__)
def test_wrong_answers_that_people_give(answer):
    assert_rejected(check_softmax_backward, answer, WRONG[answer])


@pytest.mark.parametrize("name", SLY)
def test_answers_that_are_nearly_right(name):
    assert check_softmax_backward(SLY[name]).status == "wrong", name
