"""The explorable "stall": the market of the chapter *The equation*, with its prices alone."""

import numpy as np

from attention_src.explorables.drawing import Explorable
from attention_src.explorables.one_query import AXES, GUESTS, KEYS, PRICES, THINGS
from attention_src.softmax.reference import softmax

PRESS = ("slider", "how wooden", "ArrowDown")
SAYS = "you hear 3."
IN_SIGHT = ('[data-key="question"]', '[data-key="limit"]')
DEAREST = 3  # of the sweet things


def make() -> Explorable:
    """Somebody asks what something sweet costs, and hears more than each sweet thing's price.

    Returns: what the page is made from
    """
    q = GUESTS[0]
    heard = softmax(KEYS @ q / np.sqrt(len(AXES))) @ PRICES[:, 0]
    given = {
        "axes": AXES,
        "names": THINGS,
        "keys": KEYS.tolist(),
        "prices": PRICES[:, 0].tolist(),
        "query": q.tolist(),
        "dearest": DEAREST,
    }
    return Explorable(
        given,
        "A plane, sweet to the right and wooden upwards, with apple 3, plum 2, carrot 1, chair 40, "
        f"and a question that points at the apple; beside it a gauge at {heard:.2f}, above 3.",
        f"The question ({q[0]}, {q[1]}) hears {heard:.2f}. An interactive figure: drag the "
        "question until it hears less than 3. It needs JavaScript; here is its first state.",
        "What does something sweet cost?",
    )
