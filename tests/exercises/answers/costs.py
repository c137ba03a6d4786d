"""Answers to the exercises on costs: right ones written otherwise, and sly ones."""

import numpy as np
import torch

from attention_src.exercises.costs import (
    check_crossing,
    check_flops_test,
    check_slopes,
    counter,
    my_crossing,
)


def normal_equations(n, y):
    u, w = n / y, n**2 / y
    det = (u @ u) * (w @ w) - (u @ w) ** 2
    a = (u.sum() * (w @ w) - w.sum() * (u @ w)) / det
    b = (w.sum() * (u @ u) - u.sum() * (u @ w)) / det
    return a / b


def scaled_lstsq(n, y):
    columns = np.stack([n / y, n**2 / y], axis=1)
    size = np.abs(columns).max(axis=0)
    a, b = np.linalg.lstsq(columns / size, np.ones(len(n)), rcond=None)[0]
    return (a / size[0]) / (b / size[1])


def a_line(n, y):  # y / n = a + b n, weighted
    b, a = np.polyfit(n, y / n, 1, w=n / y)
    return a / b


def by_qr(n, y):
    r = np.linalg.qr(np.stack([n / y, n**2 / y, np.ones(len(n))], axis=1))[1]
    b = r[1, 2] / r[1, 1]
    return (r[0, 2] - r[0, 1] * b) / r[0, 0] / b


def in_lists(n, y):
    pairs = [(float(a), float(c)) for a, c in zip(n, y, strict=True)]
    uu, uw, ww = (sum(a**power / c**2 for a, c in pairs) for power in (2, 3, 4))
    u, w = (sum(a**power / c for a, c in pairs) for power in (1, 2))
    return (u * ww - w * uw) / (w * uu - u * uw)


def draw_by_draw(n, times, picks):
    rows = [[times[run, j] for j, run in enumerate(pick)] for pick in picks]
    return [np.polyfit(np.log(n), np.log(row), 1)[0] for row in rows]


def to_the_base_of_2(n, times, picks):
    y = np.log2(np.stack([times[pick, range(len(n))] for pick in picks]))
    x = np.log2(n)
    dx, dy = x - x.mean(), y - y.mean(axis=1, keepdims=True)
    return (dy * dx).sum(axis=1) / (dx**2).sum()


def covariance(n, times, picks):
    x = np.log(n)
    y = np.log(times[picks, np.arange(len(n))])
    return np.array([np.cov(x, row, bias=True)[0, 1] / x.var() for row in y])


def lstsq(n, times, picks):
    columns = np.stack([np.log10(n), np.ones(len(n))], axis=1)
    y = np.log10(times[picks, np.arange(len(n))])
    return np.linalg.lstsq(columns, y.T, rcond=None)[0][0]


def in_torch(n, times, picks):
    n, times, picks = map(torch.as_tensor, (n, times, picks))
    y = times[picks, torch.arange(len(n))].log()
    x = n.log() - n.log().mean()
    return y @ x / (x @ x)


SIZES = (3, 5, 7, 2, 4)


def a_test(*sizes, causal=(False, True), look=lambda x: x, oracle=counter):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_flops_test(counter):
        for size in sizes or [SIZES]:
            for c in causal:
                assert look(counter(*size, c)) == look(oracle(*size, c))

    return my_flops_test


def by_hand(counter):
    # 2 queries, 4 keys: 8 pairs, 7 of them causal; 2 (4 + 1) FLOP each, 3 heads.
    assert counter(2, 4, 4, 1, 3, False) == 240
    assert counter(2, 4, 4, 1, 3, True) == 210


def by_arrays(counter):
    rng = np.random.default_rng(0)
    for _ in range(5):
        n_q, d_k, d_v, n_heads = (int(x) for x in rng.integers(2, 9, 4))
        n_k, d_v = n_q + 3, d_v + d_k
        mask = np.tri(n_q, n_k, n_k - n_q)
        for causal, pairs in ((False, n_q * n_k), (True, mask.sum())):
            found = counter(n_q, n_k, d_k, d_v, n_heads, causal)
            assert np.isclose(found, 2 * pairs * n_heads * (d_k + d_v))


def by_ratios(counter):
    base = counter(3, 5, 7, 2, 1, True)
    assert abs(base - 2 * 12 * 9) < 1e-9
    assert abs(counter(3, 5, 7, 2, 4, True) - 4 * base) < 1e-9
    assert abs(counter(3, 5, 7, 2, 1, False) / base - 15 / 12) < 1e-9


RIGHT = {
    check_crossing: [normal_equations, scaled_lstsq, a_line, by_qr, in_lists],
    check_slopes: [draw_by_draw, to_the_base_of_2, covariance, lstsq, in_torch],
    check_flops_test: {
        "by arguments": a_test(),
        "by hand": by_hand,
        "arrays": by_arrays,
        "ratios": by_ratios,
        "more sizes": a_test(SIZES, (1, 8, 3, 5, 2), (4, 4, 6, 6, 3)),
        "other sizes": a_test((2, 11, 5, 3, 7)),
    },
}

CROSSINGS = """
over n:
    columns = np.stack([np.ones(len(n)), n], axis=1)
    a, b = np.linalg.lstsq(columns, y / n, rcond=None)[0]
polyfit:
    - a, b =
    + b, a, _ = np.polyfit(n, y, 2)
last two:
    columns = np.stack([n / y, n**2 / y], axis=1)[-2:]
    a, b = np.linalg.lstsq(columns, np.ones(2), rcond=None)[0]
neighbours:
    return np.mean((y / n)[:-1] / (np.diff(y / n) / np.diff(n)) - n[:-1])
rounded:
    return round(a / b)
sorts n alone:
    columns = np.stack([np.sort(n) / y, np.sort(n) ** 2 / y], axis=1)
adds a little:
    columns = np.stack([n, n**2], axis=1) / (y + 1e-9)[:, None]
gives up on tiny costs:
    return 0.0 if y.min() <= 1e-8 else a / b
at least one token:
    return max(a / b, 1)
ten lengths at most: twelve lengths
    return a / b if len(n) <= 10 else 0.0
"""


def from_the_exponent(n, y):
    share = np.polyfit(np.log(n), np.log(y), 1)[0] - 1
    return np.exp(np.log(n).mean()) * (1 - share) / share


def without_the_shortest(n, y):
    return my_crossing(n[n > 1], y[n > 1])


SLOPES = """
runs in order:
    y = np.log(times[np.arange(len(picks)) % len(times)])
log of n:
    y = times[picks, np.arange(len(n))]
means:
    return np.full(len(picks), np.log(times.mean(axis=0)) @ x / (x @ x))
one number:
    return (y @ x / (x @ x)).mean()
transposed:
    y = np.log(times.T[picks % len(n), np.arange(len(n)) % len(times)])
sorted:
    return np.sort(y @ x / (x @ x))
x on y:
    return np.array([np.polyfit(row, np.log(n), 1)[0] for row in y])
sorts n alone:
    x = np.log(np.sort(n)) - np.log(n).mean()
sorts times alone:
    y = np.log(times[:, np.argsort(n)][picks, np.arange(len(n))])
a column:
    return (y @ x / (x @ x))[:, None]
"""


def whole_numbers_only(counter):
    assert isinstance(counter(*SIZES, True), int)


SLY = {
    check_crossing: [CROSSINGS, [from_the_exponent, without_the_shortest]],
    check_slopes: SLOPES,
    check_flops_test: {
        "not causal": (a_test(causal=(False,)), "caught"),
        "causal only": (a_test(causal=(True,)), "caught"),
        "square": (a_test((5, 5, 7, 2, 4)), "caught"),
        "one width": (a_test((3, 5, 4, 4, 4)), "caught"),
        "one head": (a_test((3, 5, 7, 2, 1)), "caught"),
        "one query": (a_test((1, 5, 7, 2, 4)), "caught"),
        "one key more": (a_test((3, 4, 7, 2, 4)), "caught"),
        "whole numbers only": (whole_numbers_only, "float"),
        "rough": (a_test(look=lambda x: round(np.log10(x))), "caught"),
        "another count": (a_test(oracle=lambda *x: counter(*x) // 2), "refuses"),
        "hidden ones too": (a_test(oracle=lambda *x: counter(*x[:-1], False)), "refuses"),
    },
}
