"""The explorable "roll": a query that learns by rolling downhill, and where it ends."""

from typing import Any

import numpy as np

from attention_src.explorables.drawing import Explorable

PRESS = ("slider", "up", "ArrowLeft")
SAYS = "So far 1 start, 0 at jazz."
IN_SIGHT = ('[data-key="query"]', '[data-key="key2"]')  # what is dragged, and what is wanted
STATES = ("roll", "pushes", "equal")
START: dict[str, Any] = {
    "labels": ["rock", "blues", "jazz"],
    "keys": [[2.0, 0.0], [1.0, 2.0], [0.0, -2.0]],
    "values": [0, 4, 10],
    "wanted": 10,
    "query": [2.0, 0.5],
    "rate": 0.02,
    "steps": 400,
    "equal": 0.1,  # the length of equal steps …
    "equal_steps": 200,  # … at most so many, …
    "enough": 0.999,  # … or until one key has so much of the weight
}
QUESTIONS = {
    "roll": "From where does the query find jazz?",
    "pushes": "Which key pulls where?",
    "equal": "Do longer steps take another road?",
}


def push(query: Any) -> tuple[np.ndarray, float, np.ndarray]:
    """What the query looks at, and how the loss pushes it.

    Args:
        query: [2]
    Returns:
        weights: [n_k]
        output: one number
        push: [2]  minus the gradient by the query of (output - wanted)^2 / 2
    """
    k, v = np.array(START["keys"]), np.array(START["values"])
    scores = k @ query / np.sqrt(2)
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    output = float(weights @ v)
    asks = weights * (v - output) * (START["wanted"] - output)
    return weights, output, asks @ k / np.sqrt(2)


def rolled(query: Any, kind: str = "plain") -> np.ndarray:
    """The path of a query that learns.

    Args:
        query: where it is released, [2]
        kind: "plain" steps, or "equal" ones
    Returns: [steps + 1, 2]
    Raises:
        ValueError: another kind
    """
    if kind not in ("plain", "equal"):
        raise ValueError(f"kind is {kind!r}; it should be 'plain' or 'equal'")
    path = [np.array(query, dtype=float)]
    for _ in range(START["steps"] if kind == "plain" else START["equal_steps"]):
        weights, _, ahead = push(path[-1])
        if kind == "equal":
            if weights.max() > START["enough"]:
                break
            ahead = ahead * (START["equal"] / np.linalg.norm(ahead) / START["rate"])
        path.append(path[-1] + START["rate"] * ahead)
    return np.array(path)


def make(state: str = "roll") -> Explorable:
    """A query that is released half a unit above a key, and rolls to the wrong one.

    Args:
        state: "roll"; "pushes", with the pull of each key; or "equal", with a second path, of steps
            that are equally long
    Returns: what the page is made from
    Raises:
        ValueError: there is no such state
    """
    if state not in STATES:
        raise ValueError(f"state is {state!r}; it should be one of {', '.join(STATES)}")
    path = rolled(START["query"])
    weights, output, _ = push(path[-1])
    alt = {
        "roll": "A map with the keys rock at (2, 0), blues at (1, 2) and jazz at (0, −2). From "
        "(2, 0.5) a path leads up through blues, and beside it the weight of blues grows to "
        f"{weights[1]:.3f}.",
        "pushes": "The same map. From the query at (2, 0.5) the pull of rock points left, that of "
        "blues up and to the right, that of jazz a little down; their sum points up and left.",
        "equal": "The same map. From (2, 0.5) two paths lead through blues, one of plain steps "
        "and one of steps of equal length; they run side by side.",
    }[state]
    return Explorable(
        {**START, "state": state},
        alt,
        f"Released at (2, 0.5), the query ends at blues with weight {weights[1]:.3f}, and hears "
        f"{output:.1f} where 10 is wanted. An interactive figure: release the query elsewhere. It "
        "needs JavaScript; here is its first state.",
        QUESTIONS[state],
        state="" if state == "roll" else state,
    )
