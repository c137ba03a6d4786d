"""The explorable "which_key": 24 keys in the plane, and who wins for which query."""

import numpy as np

from attention_src.explorables.drawing import Explorable

PRESS = ("slider", "up", "ArrowRight")
SAYS = "So far 1 of 24 has been first."
IN_SIGHT = ('[data-key="query"]', '[data-key="key2"]')  # the tip, and the key that is first
STATES = ("alone", "one_more")
SEEDS = (0, 12, 4)  # of the keys; each draw has 24 different ones
QUERY = (1.1, 0.7)  # where the query stands at first: on a key


def keys(seed: int = 0) -> np.ndarray:
    """24 keys, placed at random.

    Args:
        seed: which draw
    Returns: [24, 2], in tenths
    """
    return np.random.default_rng([2, seed]).normal(size=(24, 2)).round(1)


def make(state: str = "alone") -> Explorable:
    """A query that stands on a key which is not first.

    Args:
        state: "alone", or "one_more": for which queries each key is first, with one number more
            or without it
    Returns: what the page is made from
    Raises:
        ValueError: there is no such state
    """
    if state not in STATES:
        raise ValueError(f"state is {state!r}; it should be one of {', '.join(STATES)}")
    more = state == "one_more"
    given = {
        "sets": [keys(seed).tolist() for seed in SEEDS],
        "query": list(QUERY),
        "kind": "more" if more else "plain",
        "state": state,
    }
    needs = "It needs JavaScript; here is its first state."
    if more:
        return Explorable(
            given,
            "24 dots, each in a land of its own, where a query scores it highest. The query "
            "(1.1, 0.7) stands on a dot, in the land of that dot.",
            "With one number more, each of 24 keys is first for some query. An interactive figure: "
            f"move the query, and take the number away again. {needs}",
            "Who wins where?",
            state=state,
        )
    return Explorable(
        given,
        "24 dots scattered around the origin, and a line whose end stands on one of them, "
        "(1.1, 0.7). A dot further out, (1.8, 1.1), is lit.",
        "The query stands on (1.1, 0.7), which scores 1.70. (1.8, 1.1) wins with 2.75. An "
        f"interactive figure: move the query, and see which key wins. {needs}",
        "Which keys can win?",
    )
