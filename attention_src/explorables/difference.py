"""The explorable "difference": its data and its words."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from attention_src.explorables.drawing import Explorable, Line

PRESS = ("button", "two heads", "Enter")
SAYS = "Error left: 269 %"
# Six days of reports, in degrees above or below normal. They are uncorrelated and vary alike, so
# the error on these six days is the one that is expected of such cities.
START: dict[str, Any] = {
    "lisbon": [3, -2, 2, -3, 1, -1],
    "oslo": [-1, -3, 3, 2, -2, 1],
    "at": [[0.5, 0.5], [0.2, 0.8]],  # how much of each city is in what each head contributes
}
QUESTION = "Can an average become a difference?"
TRIES: tuple[Line, ...] = (
    "Drag the dot to the ring. How small can you make the error?",
    "Then take two heads. Where must they be?",
)


def make(question: Line = QUESTION, tries: Sequence[Line] = TRIES) -> Explorable:
    """One head, or two, that should say how much warmer Lisbon is than Oslo.

    Args:
        question: the line above the picture
        tries: what to try, a line each
    Returns: what the page is made from
    """
    return Explorable(
        START,
        "One head with weights of a half on Lisbon and on Oslo, far from the wanted difference: "
        f"{100 * error_left(START['at'][:1]):.0f} % of the error is left.",
        "An interactive figure: drag one head, or two, and see how much of the error is left. It "
        "needs JavaScript; here is its first state.",
        question,
        tuple(tries),
    )


def weigh(point: Sequence[float]) -> tuple[np.ndarray, float]:
    """The weights of a head, and what W_O multiplies its answer by.

    Args:
        point: how much of Lisbon's and of Oslo's report it contributes, not of two signs
    Returns: weights [2], which add up to 1, and the factor
    Raises:
        ValueError: the two have different signs: no weights and no factor give that
    """
    if point[0] * point[1] < 0:
        raise ValueError(f"point is {point}; its two numbers should not have different signs")
    factor = float(np.sum(point))
    return (np.array(point) / factor if factor else np.full(2, 0.5)), factor


def error_left(at: Sequence[Sequence[float]]) -> float:
    """The squared error of the heads' sum, as a share of that of always answering 0.

    Args:
        at: what each head contributes of the two reports [heads, 2]
    Returns: 0 for Lisbon less Oslo, 1 for no better than 0
    """
    reports = np.array([START["lisbon"], START["oslo"]], float)  # [2, 6]
    values = [factor * (weights @ reports) for weights, factor in map(weigh, at)]
    wanted = reports[0] - reports[1]
    return float(((np.sum(values, axis=0) - wanted) ** 2).sum() / (wanted**2).sum())
