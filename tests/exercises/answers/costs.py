"""Answers to the exercises on costs: right ones written otherwise, and sly ones."""

import numpy as np

from attention_src.exercises import costs as ex

SIZES = (3, 5, 7, 2, 4)


def a_test(*sizes, causal=(False, True), look=lambda x: x, oracle=ex.counter):
    def my_flops_test(counter):
        for size in sizes or [SIZES]:
            for c in causal:
                assert look(counter(*size, c)) == look(oracle(*size, c))

    return my_flops_test


def by_hand(counter):
    # 2 queries, 4 keys: 8 pairs, 7 of them causal; 2 (4 + 1) FLOP each, 3 heads.
    assert counter(2, 4, 4, 1, 3, False) == 240
    assert counter(2, 4, 4, 1, 3, True) == 210


def by_a_mask(n_q, n_k, d_k, d_v, n_heads, causal):
    pairs = np.tri(n_q, n_k, n_k - n_q).sum() if causal else n_q * n_k
    return 2 * pairs * n_heads * (d_k + d_v)


def by_ratios(counter):
    base = counter(3, 5, 7, 2, 1, True)
    assert abs(base - 2 * 12 * 9) < 1e-9
    assert abs(counter(3, 5, 7, 2, 4, True) - 4 * base) < 1e-9
    assert abs(counter(3, 5, 7, 2, 1, False) / base - 15 / 12) < 1e-9


RIGHT = {
    ex.check_crossing: """
normal equations:
    - a, b =
    + u, w = columns.T
    + a, b = np.linalg.solve([[u @ u, u @ w], [u @ w, w @ w]], [u.sum(), w.sum()])
a line through y / n, weighted:
    - columns
    a, b = np.polyfit(n, y / n, 1, w=n / y)[::-1]
QR:
    - a, b =
    + q, r = np.linalg.qr(columns)
    + a, b = np.linalg.solve(r, q.sum(axis=0))
""",
    ex.check_slopes: """
draw by draw:
    - y =
    - x =
    + rows = [[times[run, j] for j, run in enumerate(pick)] for pick in picks]
    return [np.polyfit(np.log(n), np.log(row), 1)[0] for row in rows]
base 2:
    y = np.log2(times[picks, np.arange(len(n))])
    x = np.log2(n) - np.log2(n).mean()
covariance: return [np.cov(x, row, bias=True)[0, 1] / x.var() for row in y]
""",
    ex.check_flops_test: {
        "by arguments": a_test(),
        "by hand": by_hand,
        "by a mask": a_test((4, 7, 5, 2, 3), (1, 9, 4, 4, 1), oracle=by_a_mask),
        "by ratios": by_ratios,
        "more sizes": a_test(SIZES, (1, 8, 3, 5, 2), (4, 4, 6, 6, 3)),
    },
}


SLY = {
    ex.check_crossing: """
from the exponent:
    - columns
    - a, b =
    + share = np.polyfit(np.log(n), np.log(y), 1)[0] - 1
    return np.exp(np.log(n).mean()) * (1 - share) / share
neighbours: return np.mean((y / n)[:-1] / (np.diff(y / n) / np.diff(n)) - n[:-1])
without the shortest:
    columns = np.stack([n / y, n**2 / y], axis=1)[n > 1]
    a, b = np.linalg.lstsq(columns, np.ones(len(columns)), rcond=None)[0]
sorts n alone: columns = np.stack([np.sort(n) / y, np.sort(n) ** 2 / y], axis=1)
adds a little: columns = np.stack([n, n**2], axis=1) / (y + 1e-9)[:, None]
gives up on tiny costs: return 0.0 if y.min() <= 1e-8 else a / b
at least one token: return max(a / b, 1)
small directions left out: long lengths
    a, b = np.linalg.lstsq(columns, np.ones(len(n)), rcond=1e-6)[0]
smaller ones left out: long lengths
    a, b = np.linalg.lstsq(columns, np.ones(len(n)), rcond=1e-7)[0]
a little on the diagonal: Nine digits are judged
    - a, b =
    + u = columns.T @ columns
    + a, b = np.linalg.solve(u + 1e-9 * np.diag(np.diag(u)), columns.sum(axis=0))
nine digits behind the point: far below 1 token
    return round(a / b, 9)
ten lengths at most: twelve lengths
    return a / b if len(n) <= 10 else 0.0
""",
    ex.check_slopes: """
sixteen runs: twenty runs
    y = np.log(times[:16][picks % 16, np.arange(len(n))])
runs in order: y = np.log(times[np.arange(len(picks)) % len(times)])
log of n alone: y = times[picks, np.arange(len(n))]
transposed: y = np.log(times.T[picks % len(n), np.arange(len(n)) % len(times)])
sorted: return np.sort(y @ x / (x @ x))
x on y: return np.array([np.polyfit(row, np.log(n), 1)[0] for row in y])
sorts n alone: x = np.log(np.sort(n)) - np.log(n).mean()
the diagonal of all draws: y = np.log(np.diagonal(times[picks % len(times)][..., : len(n)])).T
the first run on the diagonal: y = np.log(np.diag(times[picks[0]]))[None].repeat(len(picks), axis=0)
a little more: y = np.log(times[picks, np.arange(len(n))] + 1e-9)
sorts times alone: y = np.log(times[:, np.argsort(n)][picks, np.arange(len(n))])
""",
    ex.check_flops_test: {
        "not causal": (a_test(causal=(False,)), "caught"),
        "causal only": (a_test(causal=(True,)), "caught"),
        "square": (a_test((5, 5, 7, 2, 4)), "caught"),
        "one width": (a_test((3, 5, 4, 4, 4)), "caught"),
        "one head": (a_test((3, 5, 7, 2, 1)), "caught"),
        "one query": (a_test((1, 5, 7, 2, 4)), "caught"),
        "one key more": (a_test((3, 4, 7, 2, 4)), "caught"),
        "whole numbers only": (a_test(look=type), "float"),
        "rough": (a_test(look=lambda x: round(np.log10(x))), "caught"),
        "another count": (a_test(oracle=lambda *x: ex.counter(*x) // 2), "refuses"),
        "hidden ones too": (a_test(oracle=lambda *x: ex.counter(*x[:-1], False)), "refuses"),
    },
}
