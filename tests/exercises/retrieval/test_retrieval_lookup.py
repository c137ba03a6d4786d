"""The soft look-up and kernel regression: right answers pass, wrong ones are named."""

import functools

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.retrieval import check_kernel_regression, check_soft_lookup


def my_soft_lookup(q, k, v, temperature):
    s = k @ q / temperature  # [n]
    e = np.exp(s - s.max())
    return e / e.sum() @ v  # [d_v]


def my_kernel_regression(x, places, heights, h):
    s = -((x[:, None] - places) ** 2) / (2 * h**2)  # [n_q, n]
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e @ heights / e.sum(axis=1)


def test_the_worked_solutions_pass():
    assert_worked("retrieval", check_soft_lookup, my_soft_lookup)
    assert_worked("retrieval", check_kernel_regression, my_kernel_regression)


def by_loops(q, k, v, temperature):
    scores = [sum(a * b for a, b in zip(key, q, strict=True)) / temperature for key in k.tolist()]
    e = [np.exp(s - max(scores)) for s in scores]
    return [sum(p * row[c] for p, row in zip(e, v, strict=True)) / sum(e) for c in range(len(v[0]))]


def by_logarithms(q, k, v, temperature):
    s = k @ q / temperature
    return np.exp(s - np.logaddexp.reduce(s)) @ v


def by_einsum(q, k, v, temperature):
    s = np.einsum("nd,d->n", k, q) / temperature
    e = np.exp(s - s.max())
    return np.einsum("n,nc->c", e / e.sum(), v)


def by_torch(q, k, v, temperature):
    import torch

    q, k, v = (torch.tensor(x, dtype=torch.float64) for x in (q, k, v))
    return torch.softmax(k @ q / temperature, 0) @ v


def by_scaled_query(q, k, v, temperature):
    s = (k * (q / temperature)).sum(axis=1, keepdims=True)
    e = np.exp(s - s.max())
    return (e * v).sum(axis=0) / e.sum()


def by_pairs(q, k, v, temperature):
    s = k @ q / temperature
    return (v / np.exp(np.minimum(s[None] - s[:, None], 700)).sum(axis=1, keepdims=True)).sum(
        axis=0
    )


@pytest.mark.parametrize(
    "f", [by_loops, by_logarithms, by_einsum, by_torch, by_scaled_query, by_pairs]
)
def test_right_look_ups_pass(f):
    assert check_soft_lookup(f).status == "passed"


def weigh(s, axis=-1):
    e = np.exp(s - s.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


WRONG_LOOKUPS = {
    "no maximum": (lambda q, k, v, t: np.exp(k @ q / t) @ v / np.exp(k @ q / t).sum(), "infinite"),
    "times t": (lambda q, k, v, t: weigh(k @ q * t) @ v, "Divide: cold is sharp"),
    "no t": (lambda q, k, v, t: weigh(k @ q) @ v, "changes nothing"),
    "not that cold": (lambda q, k, v, t: weigh(k @ q / max(t, 0.01)) @ v, "wrong"),
    "hard": (lambda q, k, v, t: v[np.argmax(k @ q)], "best key alone"),
    "mean": (lambda q, k, v, t: v.mean(axis=0), "Weigh them"),
    "near": (lambda q, k, v, t: weigh(-((k - q) ** 2).sum(1) / 2 / t) @ v, "by distance"),
    "weights": (lambda q, k, v, t: weigh(k @ q / t), "wrong"),
    "shares of scores": (lambda q, k, v, t: (k @ q) / (k @ q).sum() @ v, "Take exponentials"),
    "root of t": (lambda q, k, v, t: weigh(k @ q / t**0.5) @ v, "wrong"),
    "first value": (lambda q, k, v, t: weigh(k @ q / t) @ v[:, :1], "wrong"),
    "squeezed": (lambda q, k, v, t: np.squeeze(weigh(k @ q / t) @ v), "wrong"),
    "in float32": (lambda q, k, v, t: weigh((k @ q / t).astype(np.float32)) @ v, "wrong"),
    "centred": (
        lambda q, k, v, t: np.exp(s := k @ q / t - (k @ q / t).mean()) @ v / np.exp(s).sum(),
        "wrong",
    ),
    "clipped": (lambda q, k, v, t: weigh(np.clip(k @ q / t, -50, 50)) @ v, "wrong"),
    "small q only": (lambda q, k, v, t: weigh(k[:8] @ q / t) @ v[:8], "wrong"),
    "scaled": (lambda q, k, v, t: weigh(k @ q / t / len(q) ** 0.5) @ v, "wrong"),
    "in place": (lambda q, k, v, t: weigh(k @ np.divide(q, t, out=q)) @ v, "in place"),
}


@pytest.mark.parametrize("name", WRONG_LOOKUPS)
def test_wrong_look_ups_are_rejected(name):
    f, words = WRONG_LOOKUPS[name]
    assert_rejected(check_soft_lookup, f, words)


def regress_by_loops(x, places, heights, h):
    found = []
    for here in x:
        s = [-((here - place) ** 2) / 2 / h / h for place in places]
        e = [np.exp(a - max(s)) for a in s]
        found.append(sum(a * y for a, y in zip(e, heights, strict=True)) / sum(e))
    return found


def regress_transposed(x, places, heights, h):
    s = -0.5 * np.square((places[:, None] - x) / h)
    return (weigh(s, 0) * heights[:, None]).sum(axis=0)


def regress_by_dots(x, places, heights, h):
    s = (x[:, None] * places - places**2 / 2) / h**2
    return weigh(s) @ heights


def regress_by_logarithms(x, places, heights, h):
    s = -(np.subtract.outer(x, places) ** 2) / (2 * h**2)
    return np.exp(s - np.logaddexp.reduce(s, axis=1, keepdims=True)) @ heights


def regress_from_the_nearest(x, places, heights, h):
    a = np.subtract.outer(x, places) ** 2
    e = np.exp((a.min(axis=1, keepdims=True) - a) / (2 * h**2))
    return (e * heights).sum(1) / e.sum(1)


def regress_vectorized(x, places, heights, h):
    one = lambda here: weigh(-((here - places) ** 2) / (2 * h**2)) @ heights  # noqa: E731
    return np.vectorize(one, otypes=[float])(x)


@pytest.mark.parametrize(
    "f",
    [
        regress_by_loops,
        regress_transposed,
        regress_by_dots,
        regress_by_logarithms,
        regress_from_the_nearest,
        regress_vectorized,
    ],
)
def test_right_regressions_pass(f):
    assert check_kernel_regression(f).status == "passed"


def with_score(score, x, places, heights, h):
    return weigh(score(np.abs(x[:, None] - places), h)) @ heights


def textbook(x, places, heights, h):
    e = np.exp(-((x[:, None] - places) ** 2) / (2 * h**2))
    return e @ heights / e.sum(axis=1)


def mended_with_nan(x, places, heights, h):
    return np.nan_to_num(textbook(x, places, heights, h))


def with_epsilon(x, places, heights, h):
    e = np.exp(-((x[:, None] - places) ** 2) / (2 * h**2))
    return e @ heights / (e.sum(axis=1) + 1e-300)


def one_maximum(x, places, heights, h):
    s = -((x[:, None] - places) ** 2) / (2 * h**2)
    e = np.exp(s - s.max())
    return e @ heights / e.sum(axis=1)


def mean_when_far(x, places, heights, h):
    with np.errstate(all="ignore"):
        o = textbook(x, places, heights, h)
    return np.where(np.isnan(o), heights.mean(), o)


WRONG_REGRESSIONS = {
    "0/0": (textbook, "0 / 0"),
    "nan to 0": (mended_with_nan, "wrong"),
    "epsilon": (with_epsilon, "wrong"),
    "mean when far": (mean_when_far, "wrong"),
    "one maximum": (one_maximum, "own maximum"),
    "h": (functools.partial(with_score, lambda a, h: -(a**2) / 2 / h), "h squared"),
    "no 2": (functools.partial(with_score, lambda a, h: -((a / h) ** 2)), "2 below the line"),
    "not squared": (functools.partial(with_score, lambda a, h: -a / h), "Square the distance"),
    "sign": (functools.partial(with_score, lambda a, h: (a / h) ** 2 / 2), "A sign is missing"),
    "times h²": (functools.partial(with_score, lambda a, h: -((a * h) ** 2) / 2), "not multiply"),
    "wrong axis": (
        lambda x, p, y, h: weigh(-((x[:, None] - p) ** 2) / 2 / h**2, 0) @ y,
        "over the keys",
    ),
    "nearest": (lambda x, p, y, h: y[abs(x[:, None] - p).argmin(1)], "nearest measurement"),
    "not that narrow": (lambda x, p, y, h: my_kernel_regression(x, p, y, max(h, 0.01)), "wrong"),
    "no h": (functools.partial(with_score, lambda a, h: -(a**2) / 2), "wrong"),
    "first query": (lambda x, p, y, h: my_kernel_regression(x[:1], p, y, h), "wrong"),
    "sorted": (lambda x, p, y, h: my_kernel_regression(x, np.sort(p), y, h), "wrong"),
    "unique": (
        lambda x, p, y, h: my_kernel_regression(
            x, *(a[np.unique(p, return_index=True)[1]] for a in (p, y)), h
        ),
        "wrong",
    ),
}


@pytest.mark.parametrize("name", WRONG_REGRESSIONS)
def test_wrong_regressions_are_rejected(name):
    f, words = WRONG_REGRESSIONS[name]
    assert_rejected(check_kernel_regression, f, words)
