"""The explorable "softmax": four scores to drag, alone or together, and their shares of a unit."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from attention_src.explorables.drawing import Explorable, Line
from attention_src.softmax.reference import entropy_bits, softmax

PRESS = ("slider", "score of desk", "PageUp")
IN_SIGHT = ('[data-key="dot3"]', '[data-key="all"]', '[data-key="share3"]')
SAYS = "desk 0.034. You moved desk by +1.0. The largest change of a share is 0.021."
START: dict[str, Any] = {
    "labels": ["apple", "banana", "chair", "desk"],
    "scores": [3.0, 2.0, 0.0, -1.0],
}
STATES: dict[str, Line] = {
    "shares": "Which moves change the shares?",
    "temperature": "How many keys is the row worth?",
}
TRIES: dict[str, tuple[Line, ...]] = {
    "shares": (),
    "temperature": ("Find the temperature at which the row is worth three keys.",),
}


def shares(
    scores: Sequence[float], start: Sequence[float], temperature: float = 1.0
) -> tuple[np.ndarray, float, float]:
    """What the picture shows of a row of scores.

    Args:
        scores: of the keys [n_k]
        start: where the scores stood before the last move [n_k]
        temperature: what they are divided by
    Returns: the weights [n_k], the largest change of a weight since then, and the number of keys
        that the row is worth, two to its entropy in bits
    """
    weights, before = softmax([scores, start], temperature=temperature)
    return weights, float(np.abs(weights - before).max()), float(2 ** entropy_bits(weights))


def make(state: str = "shares") -> Explorable:
    """Four keys, their scores and their softmax weights.

    Args:
        state: "shares", where scores are dragged, or "temperature", which divides them
    Returns: what the page is made from
    Raises:
        ValueError: there is no such state
    """
    if state not in STATES:
        raise ValueError(f"state is {state!r}; it should be one of {', '.join(STATES)}")
    weights, _, worth = shares(START["scores"], START["scores"])
    keys = list(zip(START["labels"], START["scores"], weights, strict=True))
    numbers = ", ".join(f"{label} {score:.0f} and {weight:.3f}" for label, score, weight in keys)
    does = {
        "shares": "An interactive figure: drag a score, or all of them, and see the shares. ",
        "temperature": f"At temperature 1.00 the row is worth {worth:.1f} keys of 4. An "
        "interactive figure: change the temperature, and see the shares. ",
    }[state]
    return Explorable(
        {**START, "state": state},
        f"Four keys with their scores on a line and their shares of one unit as bars: {numbers}.",
        does + "It needs JavaScript; here is its first state.",
        STATES[state],
        TRIES[state],
        "" if state == "shares" else state,
    )
