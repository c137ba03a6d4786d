"""The explorable "difference": its data and its words."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from attention_src.explorables.drawing import Explorable, Line

PRESS = ("slider", "head 0", "ArrowRight")
IN_SIGHT = (".ae-handle circle:nth-of-type(2)", '[data-key="ring"]')
SAYS = "times 1.10. 0.80 × Lisbon + 0.30 × Oslo: "
# Six days of reports, in degrees above or below normal. They are uncorrelated and vary alike, so
# the error on these six days is the one that is expected of such cities.
START: dict[str, Any] = {"lisbon": [3, -2, 2, -3, 1, -1], "oslo": [-1, -3, 3, 2, -2, 1]}
# How much of each city is in what each head contributes; or the heads' factors, both on Lisbon.
STATES: dict[str, dict[str, Any]] = {
    "one": {"at": [[0.7, 0.3]]},
    "two": {"at": [[0.4, 0.5], [-0.7, -0.2]]},
    "signs": {"factors": {"equal": [0.5, 0.5], "opposite": [1.5, -0.5]}},
}
QUESTIONS: dict[str, Line] = {
    "one": "How close does one head come?",
    "two": "How close do two heads come?",
    "signs": "When does it pay to look at Oslo?",
}
TRIES: dict[str, tuple[Line, ...]] = {
    "one": (),
    "two": ("Bring the answer to the ring. Then let the heads exchange their jobs.",),
    "signs": ("Move head 1 to Oslo, first with equal signs, then with opposite ones.",),
}


def make(state: str = "one") -> Explorable:
    """One head, or two, that should say how much warmer Lisbon is than Oslo.

    Args:
        state: "one" head to drag, "two", or "signs": two heads that look at Lisbon, whose factors
            have equal or opposite signs, and whose weights can move to Oslo
    Returns: what the page is made from
    Raises:
        ValueError: there is no such state
    """
    if state not in STATES:
        raise ValueError(f"state is {state!r}; it should be one of {', '.join(STATES)}")
    chosen = STATES[state]
    at = chosen.get("at") or [[factor, 0] for factor in chosen["factors"]["equal"]]
    left = f"{100 * error_left(at):.0f} % of the error is left."
    alt = {
        "one": "A plane, Lisbon to the right and Oslo upwards, with a ring at (1, −1). A head's "
        "dot is at (0.7, 0.3): ",
        "two": "A plane with a ring at (1, −1) and the arrows of two heads, which add up to "
        "another point: ",
        "signs": "A plane with a ring at (1, −1) and two heads' arrows to the right, one after the "
        "other, which end at (1, 0): ",
    }[state]
    return Explorable(
        {**START, **chosen, "state": state},
        alt + left,
        "An interactive figure: move what the heads look at, and see how much of the error is "
        "left. It needs JavaScript; here is its first state.",
        QUESTIONS[state],
        TRIES[state],
        "" if state == "one" else state,
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
