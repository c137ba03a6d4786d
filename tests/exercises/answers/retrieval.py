"""Answers to the exercises on retrieval: right ones written otherwise, and sly ones."""

import numpy as np

from attention_src.exercises import retrieval as ex


def evenly(n):
    return 2 * np.pi * np.arange(n) / n


def gap(n):
    return 1 - np.cos(2 * np.pi / max(n, 2))


def round_dictionary(angle=evenly, t=lambda n: 2e-5, keys=lambda k: k):
    """A right dictionary, or one with something else about it."""
    return lambda n: (keys(np.stack([np.cos(angle(n)), np.sin(angle(n))], axis=1)), t(n))


RIGHT = {
    ex.check_soft_lookup: """
by logarithms: return np.exp(s - np.logaddexp.reduce(s)) @ v
by pairs:
    return (v / np.exp(np.minimum(s - s[:, None], 700)).sum(axis=1, keepdims=True)).sum(axis=0)
by loops:
    + s = [sum(a * b for a, b in zip(key, q)) / temperature for key in k.tolist()]
    + e = [np.exp(score - max(s)) for score in s]
    + return [sum(p * row[c] for p, row in zip(e, v)) / sum(e) for c in range(len(v[0]))]
""",
    ex.check_kernel_regression: """
query by query: return [np.average(heights, weights=row) for row in e]
by dots: s = (x[:, None] * places - places**2 / 2) / h**2
by logarithms: e = np.exp(s - np.logaddexp.reduce(s, axis=1, keepdims=True))
""",
    ex.check_round_dictionary: {
        "half a circle, as lists": round_dictionary(
            lambda n: np.pi * np.arange(n) / n, lambda n: 1e-6, np.ndarray.tolist
        ),
        "the last key first": round_dictionary(keys=lambda k: k[::-1]),
        "turned": round_dictionary(lambda n: evenly(n) + 1),
        "as cold as need be": round_dictionary(t=lambda n: gap(n) / 20),
        "much colder": round_dictionary(t=lambda n: np.float64(1e-12)),
    },
}

COLD, ONE = "cold enough", "one positive number"
SLY = {
    ex.check_soft_lookup: """
a little in the sum: Twelve digits are judged
    return e / (e.sum() + 1e-9) @ v
not that cold: very cold
    s = k @ q / max(temperature, 0.01)
root of the temperature: s = k @ q / temperature**0.5
scaled: s = k @ q / temperature / len(q) ** 0.5
in float32: s = (k @ q / temperature).astype(np.float32)
clipped: s = np.clip(k @ q / temperature, -50, 50)
weights alone: return e / e.sum()
eight keys: drawn
    return e[:8] / e[:8].sum() @ v[:8]
""",
    ex.check_kernel_regression: """
a little in the sum: Twelve digits are judged
    return e @ heights / (e.sum(axis=1) + 1e-9)
a small number below the line:
    e = np.exp(s)
    return e @ heights / (e.sum(axis=1) + 1e-300)
not that narrow: narrow
    s = -((x[:, None] - places) ** 2) / (2 * max(h, 0.01) ** 2)
no h: s = -((x[:, None] - places) ** 2) / 2
places sorted, heights not: s = -((x[:, None] - np.sort(places)) ** 2) / (2 * h**2)
each place once: measured twice
    s = -((x[:, None] - np.unique(places)) ** 2) / (2 * h**2)
    return e @ heights[np.unique(places, return_index=True)[1]] / e.sum(axis=1)
""",
    ex.check_round_dictionary: {
        "fixed and just too warm": (round_dictionary(t=lambda n: 2e-4), COLD),
        "gap to the opposite": (round_dictionary(t=lambda n: 2 / 30), COLD),
        "linear in n": (round_dictionary(t=lambda n: 0.05 / n), COLD),
        "its inverse": (round_dictionary(t=lambda n: 30 / gap(n)), COLD),
        "end met twice": (round_dictionary(lambda n: np.linspace(0, 2 * np.pi, n)), COLD),
        "degrees": (round_dictionary(lambda n: 360 * np.arange(n) / n), COLD),
        "random": (round_dictionary(lambda n: np.random.default_rng(0).uniform(0, 7, n)), COLD),
        "one size forgotten": (round_dictionary(t=lambda n: (n == 97) + 2e-5), "for n = 97"),
        "too cold to compute": (round_dictionary(t=lambda n: 1e-320), "scores overflow"),
        "long keys": (round_dictionary(keys=lambda k: 2 * k), "has length 2"),
        "one-hot": (lambda n: (np.eye(n), 0.01), "shape (1, 2)"),
        "transposed": (round_dictionary(keys=lambda k: k.T), "shape"),
        "swapped": (lambda n: round_dictionary()(n)[::-1], "shape"),
        "negative": (round_dictionary(t=lambda n: -1e-5), ONE),
        "zero": (round_dictionary(t=lambda n: 0.0), ONE),
        "one a key": (round_dictionary(t=lambda n: np.full(n, 1e-5)), ONE),
    },
}
