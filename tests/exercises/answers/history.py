"""Answers to the exercises on why attention was invented: right ones, and sly ones."""

import itertools
from decimal import Decimal

import numpy as np

from attention_src.exercises import history as ex


def draws(seed=0, m=4, n=7, d=8):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, d)), rng.normal(size=(n, d))


def a_test(order=None, atol=1e-5, rows=slice(None), sums=True, signs=True, other=True, seed=1):
    def my_looking_test(attention):
        q, h = draws(seed)
        p = attention(q, h)
        if signs:
            assert (p >= 0).all()
        if sums:
            assert np.allclose(p.sum(axis=1), 1, atol=max(atol, 1e-5))
        turn = np.arange(7)[::-1] if order is None else order
        moved = attention(q, h[turn])
        assert np.allclose(moved[rows], p[:, turn][rows], rtol=0, atol=atol)
        if other:
            assert not np.allclose(attention(q, draws(2)[1]), p, rtol=0, atol=max(atol, 1e-5))

    return my_looking_test


def pair_by_pair(attention):
    q, h = draws(3, m=2, n=5)
    p = attention(q, h)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-5)
    assert p.min() >= 0 and np.ptp(p) > 1e-3
    for i, j in np.argwhere(np.tri(5, k=-1)):
        turn = np.arange(5)
        turn[[i, j]] = j, i
        np.testing.assert_allclose(attention(q, h[turn]), p[:, turn], atol=1e-5)


def raises_by_hand(attention, m=3, n=5, d=4):
    """Every order of the places, by `if` and `raise`."""
    q, h = draws(m=m, n=n, d=d)
    p = attention(q, h)
    if p.min() < 0:
        raise AssertionError("a weight is negative")
    if abs(p.sum(axis=1) - 1).max() > 1e-5:
        raise AssertionError(f"a row sums to {p.sum(axis=1)}")
    for order in itertools.permutations(range(n)):
        if abs(attention(q, h[list(order)]) - p[:, order]).max() > 1e-5:
            raise AssertionError("the weights do not follow")
    if abs(attention(q, -h) - p).max() <= 1e-4:
        raise AssertionError("it does not look at h")


def stretched(attention):
    a_test(other=False)(attention)
    q, h = draws()
    assert abs(attention(q, 2 * h) - attention(q, h)).max() > 1e-4


def one_row(attention):
    """All that is asked, of the last step alone."""
    a_test()(lambda q, h: np.repeat(attention(q, h)[-1:], len(q), axis=0))


THREE_DIGITS = {"a": 11, "b": 23.7, "c": 22400, "d": 358000, "e": 384}
RIGHT = {
    ex.check_budget: {
        "three digits": THREE_DIGITS,
        "as Decimal": {letter: Decimal(str(x)) for letter, x in THREE_DIGITS.items()},
    },
    ex.check_contexts: """
minus the maximum: e = np.exp(s - s.max(axis=1, keepdims=True))
powers of 2: e = np.exp2(s / np.log(2))
divided at the end: return e @ h / e.sum(axis=1, keepdims=True)
by einsum: return np.einsum("mn,nd,m->md", e, h, 1 / e.sum(axis=1))
by loops: return [sum(w * state for w, state in zip(row, h)) for row in p]
""",
    ex.check_reversal: {
        "lists": lambda n: [[15 if i + j == n - 1 else -10 for j in range(n)] for i in range(n)],
        "distance": lambda n: -np.minimum(12.0 * abs(np.add.outer(range(n), range(1 - n, 1))), 50),
        "from -50 to 50": lambda n: 100 * np.eye(n)[::-1] - 50,
        "whole numbers": lambda n: 30 * np.eye(n, dtype=int)[:, ::-1],
        "exactly what is needed": lambda n: np.log(max(99 * (n - 1), 1)) * np.eye(n)[::-1],
        "float32": lambda n: np.float32(20) * np.eye(n, dtype=np.float32)[::-1],
        "rows shifted": lambda n: 20 * np.eye(n)[::-1] + np.linspace(-20, 20, n)[:, None],
    },
    ex.check_looking_test: {
        "by arguments": a_test(),
        "another order": a_test(order=[3, 0, 5, 6, 1, 2, 4]),
        "all that the exercise calls wrong is off by more": a_test(atol=1e-3),
        "unseeded": a_test(seed=None),
        "pair by pair": pair_by_pair,
        "raises by hand": raises_by_hand,
        "raises by hand, as small as allowed": lambda attention: raises_by_hand(attention, 2, 3, 2),
    },
}

LARGER = "make your score larger"
REVERSALS = {
    "forwards": (lambda n: 20 * np.eye(n), "that of letter 0"),
    "four": (lambda n: 4 * np.eye(n)[::-1], LARGER),
    "eleven": (lambda n: 11 * np.eye(n)[::-1], "n = 1000"),
    "one ahead": (lambda n: np.roll(20 * np.eye(n)[::-1], 1, axis=1), "the largest"),
    "infinite": (lambda n: np.where(np.eye(n)[::-1] > 0, 0, -np.inf), "finite"),
    "a thousand": (lambda n: 1000 * np.eye(n)[::-1], "from -50 to 50"),
    "five letters": (lambda n: 20 * np.eye(5)[::-1], "expected shape"),
    "equal": (lambda n: np.zeros((n, n)), "n = 3"),
    "second half": (lambda n: 20 * np.eye(n)[::-1] * (np.arange(n) >= n // 2), ""),
    "0.989": (lambda n: np.log(89 * max(n - 1, 1)) * np.eye(n)[::-1], LARGER),
    "not at 640": (lambda n: (20 if not 500 < n < 900 else 5) * np.eye(n)[::-1], "n = 640"),
    "not at 7": (lambda n: np.full((n, n), np.nan) if n == 7 else 20 * np.eye(n)[::-1], "n = 7"),
}


def equal(attention):
    q, h = draws()
    assert np.array_equal(attention(q, h[::-1]), attention(q, h)[:, ::-1])
    assert (attention(q, h).sum(axis=1) == 1).all()


def unchanged(attention):
    q, h = draws()
    assert np.allclose(attention(q, h), attention(q, h[::-1]), atol=1e-5)


def queries_moved(attention):
    q, h = draws()
    assert np.allclose(attention(q[::-1], h), attention(q, h)[::-1], atol=1e-5)


def mean_of_the_sums(attention):
    a_test(sums=False)(attention)
    assert abs(attention(*draws()).sum(axis=1).mean() - 1) < 1e-5


SLY = {
    ex.check_contexts: """
a little in the sum:
    p = e / (e.sum(axis=1, keepdims=True) + 1e-9)
rounded weights: digits are judged
    return p.round(10) @ h
transposed: return (p @ h).T
absolute: e = np.exp(abs(s))
clipped: e = np.exp(np.clip(s, -10, 10))
kept by the scores: other states
    + if not hasattr(my_contexts, "kept"): my_contexts.kept = {}
    return my_contexts.kept.setdefault((s.tobytes(), h.shape), p @ h)
ten steps: many steps
    return p @ h * (np.arange(len(s)) < 10)[:, None]
ten states: many
    e = np.exp(s) * (np.arange(len(h)) < 10)
eight numbers a state: many
    return p @ h * (np.arange(h.shape[1]) < 8)
three states:
    e = np.exp(s[:, :3])
    return p @ h[:3]
""",
    ex.check_reversal: REVERSALS,
    ex.check_looking_test: {
        "no other content": (a_test(other=False), "caught 16 of 17"),
        "no sums": (a_test(sums=False), "caught 14 of 17"),
        "no signs": (a_test(signs=False), "caught 15 of 17"),
        "a turn of the circle": (a_test(order=[1, 2, 3, 4, 5, 6, 0]), "of 17"),
        "first two exchanged": (a_test(order=[1, 0, 2, 3, 4, 5, 6]), "caught 16 of 17"),
        "last two exchanged": (a_test(order=[0, 1, 2, 3, 4, 6, 5]), "of 17"),
        "mean of the sums": (mean_of_the_sums, "caught 16 of 17"),
        "first row": (a_test(rows=slice(1)), "caught 16 of 17"),
        "last row": (a_test(rows=slice(-1, None)), "caught 16 of 17"),
        "all of the last row alone": (one_row, "of 17"),
        "stretched": (stretched, "when a state is stretched"),
        "loose": (a_test(atol=0.1), "of 17"),
        "to the last bit": (a_test(atol=0), "allow for"),
        "equal to the last bit": (equal, "for rounding alone"),
        "same order": (a_test(order=np.arange(7)), "of 17"),
        "unchanged": (unchanged, "refuses a right implementation"),
        "queries moved": (queries_moved, "of 17"),
    },
}
