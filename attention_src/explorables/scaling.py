"""The explorable "scaling": width, scale and number of keys: weights, entropy, slope."""

from typing import Any

import numpy as np

from attention_src.explorables.drawing import Explorable
from attention_src.softmax.reference import entropy_bits, softmax

PRESS = ("button", "Next query", "Enter")
SAYS = "Largest weight"
# 40 queries and 64 keys of 1,024 entries; the reader sees a part of them.
N_QUERIES, MOST_KEYS, WIDEST = 40, 64, 1024
START: dict[str, Any] = {"d_k": 64, "n_k": 16, "rule": "no scale", "query": 0}
RULES = {"no scale": 0.0, "1/√d_k": -0.5, "1/d_k": -1.0}  # powers of d_k


def entries(seed: int, count: int) -> np.ndarray:
    """Numbers between −√3 and √3, evenly spread: mean 0, variance 1. scaling.js makes the same.

    Args:
        seed: a whole number below 2³²
        count: how many
    Returns: [count]
    Source: mulberry32, a public-domain generator by Tommy Ettinger.
    """
    steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x6D2B79F5)
    a = (np.uint64(seed) + steps).astype(np.uint32)
    t = (a ^ (a >> np.uint32(15))) * (a | np.uint32(1))
    t ^= t + (t ^ (t >> np.uint32(7))) * (t | np.uint32(61))
    u = (t ^ (t >> np.uint32(14))) / 2**32
    return np.asarray(np.sqrt(3) * (2 * u - 1))


def numbers(d_k: int, n_k: int, rule: str) -> dict[str, np.ndarray]:
    """What the explorable shows, for all its queries.

    Args:
        d_k: how many entries of each vector count
        n_k: how many of the keys take part
        rule: a name in RULES
    Returns: "scores" and "weights" [40, n_k]; "bits" [40], the entropy; "slope" [40], the norm of
        the derivative of the weights by the query
    """
    k = entries(2, MOST_KEYS * WIDEST).reshape(MOST_KEYS, WIDEST)[:n_k, :d_k]
    q = entries(1, N_QUERIES * WIDEST).reshape(N_QUERIES, WIDEST)[:, :d_k]
    c = float(d_k) ** RULES[rule]
    s = c * (q @ k.T)
    p = softmax(s)
    around = k - (p @ k)[:, None]  # [40, n_k, d_k]: keys around their weighted mean
    slope = c * np.sqrt((p**2 * (around**2).sum(axis=-1)).sum(axis=-1))
    return {"scores": s, "weights": p, "bits": entropy_bits(p), "slope": slope}


def make() -> Explorable:
    """One query among 16 keys of width 64, without a scale.

    Returns: what the page is made from
    """
    found = numbers(START["d_k"], START["n_k"], START["rule"])
    p, query = found["weights"][START["query"]], START["query"]
    return Explorable(
        START,
        f"Weights of {START['n_k']} keys as bars, for vectors of {START['d_k']} entries and "
        f"unscaled scores: the largest is {p.max():.3f}, and the entropy "
        f"{found['bits'][query]:.2f} bits.",
        "An interactive figure: change the width, the scale and the number of keys, and see the "
        "weights, their entropy and their slope. It needs JavaScript; here is its first state.",
    )
