"""The explorable "scaling": wider and wider random vectors, and which key gets the weight."""

from typing import Any

import numpy as np

from attention_src.explorables.drawing import Explorable
from attention_src.softmax.reference import softmax

PRESS = ("slider", "width", "ArrowRight")
SAYS = "Width 8"
IN_SIGHT = ('input[type="range"]', '[data-key="goal"]')
WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
N_QUERIES, N_KEYS, WIDEST = 8, 16, 1024
# The plain dot products, or those divided by the root of the width.
STATES: dict[str, dict[str, Any]] = {
    "plain": {"divided": False, "place": 0, "query": 0},
    "divided": {"divided": True, "place": 6, "query": 0},
}
QUESTIONS = {"plain": "Which key gets the weight?", "divided": "And divided by √width?"}
TRIES = {
    "plain": ("Press “Another query”, and go through the widths again.",),
    "divided": (),
}


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


def scores(width: int) -> np.ndarray:
    """The plain dot products of all queries and keys.

    Args:
        width: how many entries of each vector count
    Returns: [8, 16]
    """
    k = entries(2, N_KEYS * WIDEST).reshape(N_KEYS, WIDEST)[:, :width]
    q = entries(1, N_QUERIES * WIDEST).reshape(N_QUERIES, WIDEST)[:, :width]
    return np.asarray(q @ k.T)


def weights(width: int, divided: bool = False) -> np.ndarray:
    """What the bars show, for all queries.

    Args:
        width: how many entries of each vector count
        divided: whether scores are divided by the root of the width
    Returns: [8, 16]
    """
    s = scores(width)
    return softmax(s / np.sqrt(width) if divided else s)


def make(state: str = "plain") -> Explorable:
    """One query among sixteen keys, all of random numbers.

    Args:
        state: one of STATES
    Returns: what the page is made from
    Raises:
        ValueError: there is no such state
    """
    if state not in STATES:
        raise ValueError(f"state is {state!r}; it should be one of {', '.join(STATES)}")
    given = STATES[state]
    width = WIDTHS[given["place"]]
    p = weights(width, given["divided"])[given["query"]]
    how = ", divided by the root of the width" if given["divided"] else ""
    return Explorable(
        given,
        f"Sixteen bars, the weights of sixteen keys for vectors of {width} random numbers{how}. "
        f"The highest, of key {p.argmax()}, is {p.max():.3f}; a dotted line stands at 0.9.",
        f"Width {width}: key {p.argmax()} has {p.max():.3f} of the weight. An interactive figure: "
        "make the vectors wider. It needs JavaScript; here is its first state.",
        QUESTIONS[state],
        TRIES[state],
        state="" if state == "plain" else state,
    )
