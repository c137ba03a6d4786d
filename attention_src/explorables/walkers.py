"""The explorable "walkers": a query that learns to bring back 10, by two kinds of look-up."""

import numpy as np

from attention_src.explorables.drawing import Explorable
from attention_src.softmax.reference import softmax

PRESS = ("button", "Walk", "Enter")
SAYS = "after 400 steps"
IN_SIGHT = (
    "button:text-is('Walk')",
    *(f"[data-key={key}]" for key in ("hard-drag", "soft-start", "hard-height0", "soft-up")),
)
# Two numbers describe a thing: how edible it is, and its size. The shop holds so many of each.
NAMES = ["apple", "banana", "chair"]
KEYS = np.array([[2, -0.5], [1.73, 0.4], [-1, 2]])
STOCK = np.array([10, 5, 2])
WANTED = 10
RATE = 0.04
STEPS = 400
START = {1: [-1.0, 0.8], 4: [-3.6, 1.2]}  # in the land, and in one four times as wide


def make(*, far: bool = False) -> Explorable:
    """Two walkers in fog, who start at one place and want to climb to 10.

    Args:
        far: whether the land is four times as wide
    Returns: what the page is made from
    """
    wide = 4 if far else 1
    q = START[wide]
    scores = KEYS @ np.array(q)
    best, blend = STOCK[scores.argmax()], softmax(scores) @ STOCK
    given = {
        "names": NAMES,
        "keys": KEYS.tolist(),
        "values": STOCK.tolist(),
        "wanted": WANTED,
        "rate": RATE,
        "steps": STEPS,
        "query": q,
        "wide": wide,
    }
    seen = "the same land, four times as wide" if far else "two maps of one land"
    return Explorable(
        given,
        "Two maps of one land with the same start. On the left three flat terraces, 10, 5 and 2 "
        "high, with cliffs between them; on the right a slope in contour lines from 3 to 9. To the "
        "right things are more edible, upwards they are larger.",
        f"An interactive figure: {seen}. At ({q[0]}, {q[1]}) the best match alone answers {best}, "
        f"a bit of everything {blend:.2f}. Walk downhill on the error, and drag the start. It "
        "needs JavaScript; here is the land before the walk.",
        "And who finds the way from far out?" if far else "Who finds the way up to 10?",
    )
