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
by logarithms: return np.exp(s - np.logaddexp.reduce(s, axis=1, keepdims=True)) @ v
queries divided first: s = (q / temperature.reshape(-1, 1)) @ k.T
keys in the rows:
    s = (k @ q.T / temperature).T
by loops:
    + e = [np.exp(k @ x / t - (k @ x / t).max()) for x, t in zip(q, temperature)]
    + return [(w / w.sum() @ v).tolist() for w in e]
by einsum: return np.einsum("mn,nc->mc", e / e.sum(axis=1, keepdims=True), v)
""",
    ex.check_slope: """
by the keys: return (p[:, None] * v).T @ (k - p @ k) / temperature
by the table of softmax: return v.T @ (np.diag(p) - np.outer(p, p)) @ k / temperature
by outer products: return sum(np.outer(pull[j], k[j]) for j in range(len(k))) / temperature
by einsum: return np.einsum("jc,jd->cd", pull, k) / temperature
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
    return e / (e.sum(axis=1, keepdims=True) + 1e-9) @ v
not that cold: very cold
    s = q @ k.T / np.maximum(temperature, 0.01)[:, None]
root of the temperature: s = q @ k.T / temperature[:, None] ** 0.5
in float32: s = (q @ k.T / temperature[:, None]).astype(np.float32)
clipped: Did you clip
    s = np.clip(q @ k.T / temperature[:, None], -50, 50)
clipped far above: Did you clip
    s = np.minimum(q @ k.T / temperature[:, None], 709)
clipped far out: s = np.clip(q @ k.T / temperature[:, None], -300, 300)
the last temperature for all: s = q @ k.T / temperature[-1]
ten queries: many
    return (e / e.sum(axis=1, keepdims=True) @ v) * (np.arange(len(q)) < 10)[:, None]
ten numbers a key: many
    s = q[:, :10] @ k[:, :10].T / temperature[:, None]
ten numbers a value: many
    return (e / e.sum(axis=1, keepdims=True) @ v) * (np.arange(v.shape[1]) < 10)
no hotter than 1000: cold and hot
    s = q @ k.T / np.minimum(temperature, 1000)[:, None]
eight keys: many
    return (e / e.sum(axis=1, keepdims=True))[:, :8] @ v[:8]
""",
    ex.check_slope: """
root of the temperature: return pull.T @ k / temperature**0.5
the first output for all: return np.repeat(pull.T[:1] @ k, v.shape[1], axis=0) / temperature
the largest value subtracted: pull = p[:, None] * (v - v.max(axis=0))
eight keys: many keys
    p = np.exp(k @ q / temperature) * (np.arange(len(k)) < 8)
eight numbers a key: many keys
    return pull.T @ k / temperature * (np.arange(len(q)) < 8)
no colder than 0.1: very cold
    + temperature = max(temperature, 0.1)
scores clipped: scores of 600
    p = np.exp(np.clip(k @ q / temperature, -300, 300))
the best key alone: pull = np.eye(len(k))[p.argmax()][:, None] * (v - p @ v)
clipped: return np.clip(pull.T @ k / temperature, -2, 2)
""",
    ex.check_round_dictionary: {
        "fixed and just too warm": (round_dictionary(t=lambda n: 2e-4), COLD),
        "gap to the opposite": (round_dictionary(t=lambda n: 2 / 30), COLD),
        "linear in n": (round_dictionary(t=lambda n: 0.05 / n), COLD),
        "its inverse": (round_dictionary(t=lambda n: 30 / gap(n)), "One over that"),
        "end met twice": (round_dictionary(lambda n: np.linspace(0, 2 * np.pi, n)), "end twice"),
        "degrees": (round_dictionary(lambda n: 360 * np.arange(n) / n), "radians"),
        "degrees, as cold as need be": (
            round_dictionary(lambda n: 360 * np.arange(n) / n, lambda n: gap(n) / 30),
            "radians",
        ),
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
