"""The check of the Jacobian by a key: right answers of every style pass, wrong ones are refused."""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.gradients import check_output_by_key, pairs


# The worked solution, in the words of the chapter.
def my_output_by_key(q, k, v, j):
    s = k @ q / q.shape[0] ** 0.5
    p = np.exp(s - s.max())
    p = p / p.sum()
    return np.outer(p[j] * (v[j] - p @ v), q) / q.shape[0] ** 0.5


def test_the_worked_solution_and_a_stub():
    assert_worked("gradients", check_output_by_key, my_output_by_key)


def shares(q, k):
    e = np.exp((k * q).sum(axis=1) / np.sqrt(len(q)))
    return e / e.sum()


def by_jacobian_of_softmax(q, k, v, j):
    p = shares(q, k)
    column = (np.diag(p) - np.outer(p, p))[:, j]
    return (v.T @ column)[:, None] * q[None, :] / np.sqrt(len(q))


def by_loops(q, k, v, j):
    p = shares(q, k)
    o = sum(a * row for a, row in zip(p, v, strict=True))
    return [[p[j] * (v[j][c] - o[c]) * x / np.sqrt(len(q)) for x in q] for c in range(v.shape[1])]


def by_autograd(q, k, v, j):
    torch = pytest.importorskip("torch")

    def output(key):
        keys = torch.cat([torch.tensor(k[:j]), key[None], torch.tensor(k[j + 1 :])])
        return torch.softmax(keys @ torch.tensor(q) / len(q) ** 0.5, dim=0) @ torch.tensor(v)

    return torch.autograd.functional.jacobian(output, torch.tensor(k[j]))


def through_backward(q, k, v, j):
    rows = np.eye(v.shape[1])
    return np.array([pairs.broken("", q[None], k, v, row[None])[1][j] for row in rows])


RIGHT_JACOBIANS = [
    by_jacobian_of_softmax,
    by_loops,
    by_autograd,
    through_backward,
    lambda q, k, v, j: np.einsum(
        "c,d->cd", shares(q, k)[j] * (v[j] - shares(q, k) @ v), q / np.sqrt(len(q))
    ),
    lambda q, k, v, j: shares(q, k)[j] * np.outer(v[j] - shares(q, k) @ v, q) * len(q) ** -0.5,
]


@pytest.mark.parametrize("answer", RIGHT_JACOBIANS)
def test_right_jacobians(answer):
    assert check_output_by_key(answer)


def changed(left=lambda p, v, o: p * (v - o), right=lambda q, k: q, power=-0.5, weigh=shares):
    def wrong(q, k, v, j):
        p = weigh(q, k)
        return np.outer(left(p[j], v[j], p @ v), right(q, k[j])) * len(q) ** power

    return wrong


def by_the_query(q, k, v, j):
    p = shares(q, k)
    return (v - p @ v).T @ (p[:, None] * (k - p @ k)) / np.sqrt(len(q))


def nudged(q, k, v, j, h=1e-2):
    out = np.zeros((v.shape[1], len(q)))
    for c in range(len(q)):
        up, down = k.copy(), k.copy()
        up[j, c] += h
        down[j, c] -= h
        out[:, c] = (shares(q, up) @ v - shares(q, down) @ v) / (2 * h)
    return out


def unscaled(q, k):
    return shares(q * np.sqrt(len(q)), k)


WRONG_JACOBIANS = {
    "by the query": (by_the_query, "how o moves with q"),
    "no scale": (changed(power=0, weigh=unscaled), "The scale is missing"),
    "scores alone scaled": (changed(power=0), "The weights are right"),
    "transposed": (lambda *x: my_output_by_key(*x).T, "[d_v, d_k]"),
    "softmax fixed": (changed(lambda p, v, o: p * v), "The other weights move too"),
    "p (1 - p) v": (changed(lambda p, v, o: p * (1 - p) * v), "You moved p_j only"),
    "along the key": (changed(right=lambda q, k: k), "along q"),
    "no weight": (changed(lambda p, v, o: v - o), "multiply by p_j"),
    "sign": (changed(lambda p, v, o: p * (o - v)), "sign is turned round"),
    "p (1 - p) (v - o)": (changed(lambda p, v, o: p * (1 - p) * (v - o)), ""),
    "p squared": (changed(lambda p, v, o: p**2 * (v - o)), ""),
    "divided by d_k": (changed(power=-1), ""),
    "a wide nudge": (lambda q, k, v, j: nudged(q, k, v, j), ""),
    "a good nudge": (lambda q, k, v, j: nudged(q, k, v, j, 1e-5), "The largest difference is"),
    "the first key": (lambda q, k, v, j: my_output_by_key(q, k, v, 0), ""),
    "summed": (lambda *x: my_output_by_key(*x).sum(), ""),
    "all keys": (
        lambda q, k, v, j: np.array([my_output_by_key(q, k, v, i) for i in range(len(k))]),
        "",
    ),
}


@pytest.mark.parametrize("name", WRONG_JACOBIANS)
def test_wrong_jacobians(name):
    assert_rejected(check_output_by_key, *WRONG_JACOBIANS[name])
