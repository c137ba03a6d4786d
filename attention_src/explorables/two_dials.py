"""The explorable "two_dials": whom three tokens look at, as query and key read different parts."""

from typing import Any

import numpy as np

from attention_src.explorables.drawing import Explorable, Line
from attention_src.softmax.reference import softmax

PRESS = ("slider", "dial of the query", "ArrowRight")
SAYS = "The query is read at 35 degrees"
IN_SIGHT = ('[data-key="hand-q"]', '[data-key="want2"]')
NAMES = ["rock", "paper", "scissors"]
BEATS = [2, 0, 1]  # whom each of them beats
FACTOR = 4  # of the scores
ENOUGH = 0.9  # of the weight: found
STATES: dict[str, dict[str, Any]] = {"two": {"q": 30, "k": 60}, "one": {"q": 20, "k": 20}}
QUESTIONS: dict[str, Line] = {
    "two": "Whom does each token look at?",
    "one": "Whom does each token look at, with one matrix for both?",
}
TRIES: dict[str, tuple[Line, ...]] = {
    "two": (),
    "one": ("Turn the hand as far as it goes, and watch the arrows between two tokens.",),
}


def weights(q: float, k: float) -> np.ndarray:
    """Whom each token looks at.

    Args:
        q, k: what the query and the key are made of, in degrees: 0 is what the token is, 90 what
            it beats
    Returns: the weights [3, 3], a row for each token that looks
    """
    am = np.eye(3)
    query, key = (np.cos(t) * am + np.sin(t) * am[BEATS] for t in np.radians((q, k)))
    return np.asarray(softmax(FACTOR * query @ key.T))


def make(state: str = "two") -> Explorable:
    """Three tokens, and the matrices that make their queries and keys.

    Args:
        state: "two" matrices, each with a dial of its own, or "one" for both
    Returns: what the page is made from
    Raises:
        ValueError: there is no such state
    """
    if state not in STATES:
        raise ValueError(f"state is {state!r}; it should be one of {', '.join(STATES)}")
    chosen = STATES[state]
    rock, paper, scissors = weights(**chosen)[1]
    said = f"Paper gives rock {rock:.2f}, itself {paper:.2f} and scissors {scissors:.2f}"
    return Explorable(
        {**chosen, "state": state},
        "Two quarter dials, from what a token is to what it beats, and rock, paper and scissors in "
        f"a triangle, with arrows to whom they look at. {said}.",
        f"{said}. An interactive figure: turn the dials, and see whom "
        "each token looks at. It needs JavaScript; here is its first state.",
        QUESTIONS[state],
        TRIES[state],
        "" if state == "two" else state,
    )
