"""Answers to the exercises on retrieval: right ones written otherwise, and sly ones."""

import numpy as np

from attention_src.exercises.retrieval import (
    check_kernel_regression,
    check_round_dictionary,
    check_soft_lookup,
    my_kernel_regression,
)


def by_loops(q, k, v, temperature):
    scores = [sum(a * b for a, b in zip(key, q, strict=True)) / temperature for key in k.tolist()]
    e = [np.exp(s - max(scores)) for s in scores]
    return [sum(p * row[c] for p, row in zip(e, v, strict=True)) / sum(e) for c in range(len(v[0]))]


def by_logarithms(q, k, v, temperature):
    s = k @ q / temperature
    return np.exp(s - np.logaddexp.reduce(s)) @ v


def by_scaled_query(q, k, v, temperature):
    s = (k * (q / temperature)).sum(axis=1, keepdims=True)
    e = np.exp(s - s.max())
    return (e * v).sum(axis=0) / e.sum()


def by_pairs(q, k, v, temperature):
    s = k @ q / temperature
    gaps = np.minimum(s[None] - s[:, None], 700)
    return (v / np.exp(gaps).sum(axis=1, keepdims=True)).sum(axis=0)


def weigh(s, axis=-1):
    e = np.exp(s - s.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


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
    return weigh((x[:, None] * places - places**2 / 2) / h**2) @ heights


def regress_by_logarithms(x, places, heights, h):
    s = -(np.subtract.outer(x, places) ** 2) / (2 * h**2)
    return np.exp(s - np.logaddexp.reduce(s, axis=1, keepdims=True)) @ heights


def regress_from_the_nearest(x, places, heights, h):
    a = np.subtract.outer(x, places) ** 2
    e = np.exp((a.min(axis=1, keepdims=True) - a) / (2 * h**2))
    return (e * heights).sum(1) / e.sum(1)


def on_a_circle(n):
    angle = 2 * np.pi * np.arange(n) / n
    gap = 1 - np.cos(2 * np.pi / max(n, 2))
    return np.stack([np.cos(angle), np.sin(angle)], axis=1), gap / 30


def half_circle(n):
    angle = np.pi * np.arange(n) / n
    return [[np.cos(a), np.sin(a)] for a in angle], 1e-6


def complex_roots(n):
    z = np.exp(2j * np.pi * np.arange(n)[::-1] / n)
    return np.array([z.real, z.imag]).T, np.float64(2e-5)


def searched(n):
    keys, _ = on_a_circle(n)
    cold = (t for t in 0.5 ** np.arange(40.0) if np.diag(weigh(keys @ keys.T / t)).min() > 1 - 1e-7)
    return keys, next(cold)


RIGHT = {
    check_soft_lookup: [by_loops, by_logarithms, by_scaled_query, by_pairs],
    check_kernel_regression: [
        regress_by_loops,
        regress_transposed,
        regress_by_dots,
        regress_by_logarithms,
        regress_from_the_nearest,
    ],
    check_round_dictionary: [half_circle, complex_roots, searched],
}

LOOKUPS = """
not that cold: very cold
    s = k @ q / max(temperature, 0.01)
root of the temperature:
    s = k @ q / temperature**0.5
scaled:
    s = k @ q / temperature / len(q) ** 0.5
in float32:
    s = (k @ q / temperature).astype(np.float32)
clipped:
    s = np.clip(k @ q / temperature, -50, 50)
weights alone:
    return e / e.sum()
first number of each value:
    return e / e.sum() @ v[:, :1]
eight keys: drawn
    return e[:8] / e[:8].sum() @ v[:8]
bare products over their sum: (scores as weights)
    return s * temperature / (s * temperature).sum() @ v
"""

REGRESSIONS = """
a small number below the line:
    e = np.exp(s)
    return e @ heights / (e.sum(axis=1) + 1e-300)
not that narrow: narrow
    s = -((x[:, None] - places) ** 2) / (2 * max(h, 0.01) ** 2)
no h:
    s = -((x[:, None] - places) ** 2) / 2
places sorted, heights not:
    s = -((x[:, None] - np.sort(places)) ** 2) / (2 * h**2)
"""


def each_place_once(x, places, heights, h):
    _, first = np.unique(places, return_index=True)
    return my_kernel_regression(x, places[first], heights[first], h)


def changed(keys=lambda k: k, t=lambda t, n: t):
    """A right dictionary, then changed."""
    return lambda n: (keys(on_a_circle(n)[0]), t(on_a_circle(n)[1], n))


def at(angles, t):
    return lambda n: (np.stack([np.cos(angles(n)), np.sin(angles(n))], axis=1), t)


COLD, ONE = "cold enough", "one positive number"
SLY = {
    check_soft_lookup: LOOKUPS,
    check_kernel_regression: [REGRESSIONS, {"unique": (each_place_once, "measured twice")}],
    check_round_dictionary: {
        "too warm": (changed(t=lambda t, n: 1.0), COLD),
        "fixed and just too warm": (changed(t=lambda t, n: 2e-4), COLD),
        "gap to the opposite": (changed(t=lambda t, n: 2 / 30), COLD),
        "linear in n": (changed(t=lambda t, n: 0.05 / n), COLD),
        "hot": (changed(t=lambda t, n: 1 / t), COLD),
        "end met twice": (at(lambda n: np.linspace(0, 2 * np.pi, n), 1e-5), COLD),
        "degrees": (at(lambda n: 360 * np.arange(n) / n, 1e-3), COLD),
        "random": (at(lambda n: np.random.default_rng(0).uniform(0, 7, n), 1e-3), COLD),
        "one size forgotten": (changed(t=lambda t, n: 1.0 if n == 97 else t), "for n = 97"),
        "too cold to compute": (changed(t=lambda t, n: 1e-320), "scores overflow"),
        "long keys": (changed(keys=lambda k: 2 * k), "has length 2"),
        "nan": (changed(keys=lambda k: k * np.nan), "has length nan"),
        "one-hot": (lambda n: (np.eye(n), 0.01), "shape (1, 2)"),
        "transposed": (changed(keys=lambda k: k.T), "shape"),
        "swapped": (lambda n: on_a_circle(n)[::-1], "shape"),
        "negative": (changed(t=lambda t, n: -t), ONE),
        "zero": (changed(t=lambda t, n: 0.0), ONE),
        "one a key": (changed(t=lambda t, n: np.full(n, 1e-5)), ONE),
        "keys alone": (lambda n: on_a_circle(n)[0], "two things"),
    },
}
