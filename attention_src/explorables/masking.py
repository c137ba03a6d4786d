"""The explorable "masking": a model calls the tosses of a coin, until cells are hidden."""

import numpy as np

from attention_src.explorables.drawing import Explorable, Line
from attention_src.softmax.reference import softmax

PRESS = ("button", "Toss again", "Enter")
SAYS = "called right; under this mask, 14 of 14"
IN_SIGHT = (".ae-controls button", '[data-key="cell6-8"]', '[data-key="score"]')
STATES = ("start", "after")
# Rounds of eight tosses, two digits each, heads for a binary 1; the first was chosen.
# The rest: np.random.default_rng(4).integers(0, 2, (64, 8))[1:].
RECORDED = (
    "964ed49ef9548d87f310da2b4c56849c18d251379abf0a8ef7acd9a0d7ad9c7f"
    "8de793b9d599445b5c2a5dd394cc421eee577c7d5b101a65ff170191b010e59a"
)
QUESTIONS: dict[str, Line] = {
    "start": "Which tosses must be hidden?",
    "after": "Where is the future?",
}
TRIES: dict[str, tuple[Line, ...]] = {
    "start": (
        "Tap a cell below a coin to hide it, or drag over several. A coin hides its column.",
    ),
    "after": ("Compare the sums before heads with those before tails. Then hide with −∞.",),
}


def make(state: str = "start") -> Explorable:
    """Eight tosses of a coin, and a model that calls each of them from what it may look at.

    Args:
        state: "start", where nothing is hidden, or "after": the future is, by a 0 after the softmax
    Returns: what the page is made from
    Raises:
        ValueError: there is no such state
    """
    if state not in STATES:
        raise ValueError(f"state is {state!r}; it should be one of {', '.join(STATES)}")
    hidden = state == "after"
    tosses = rounds()[0]
    _, _, right = call(tosses, past(8) if hidden else ~past(8) | True, zero_after=hidden)
    alt = (
        "After each of eight tosses, a row of cells, one for the start and one for each toss. "
        + ("All later tosses are hidden. " if hidden else "Nothing is hidden. ")
        + f"{right.sum()} of {len(right)} tosses are called right."
    )
    return Explorable(
        {"rounds": ["".join("TH"[toss] for toss in row) for row in rounds()], "state": state},
        alt,
        "An interactive figure: hide what a model looks at, and see how many tosses of a coin it "
        "still calls. It needs JavaScript; here is its first state.",
        QUESTIONS[state],
        TRIES[state],
        "after" if hidden else "",
    )


def rounds() -> np.ndarray:
    """The tosses, in the order in which they come.

    Returns: [rounds, 8], 1 for heads, 0 for tails
    """
    return np.unpackbits(np.frombuffer(bytes.fromhex(RECORDED), np.uint8)).reshape(-1, 8)


def past(n: int) -> np.ndarray:
    """The mask that shows the start and the tosses up to one's own.

    Args:
        n: how many tosses
    Returns: [n, n + 1], True where the model may look
    """
    return np.tri(n, n + 1, 1, dtype=bool)


def call(
    tosses: np.ndarray, see: np.ndarray, zero_after: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Call each next toss.

    Args:
        tosses: [n], 1 for heads, 0 for tails
        see: [n, n + 1], True where the model may look; key 0 is the start, key j + 1 toss j
        zero_after: hide by a weight of 0 after the softmax, not by −∞ before it
    Returns:
        weights: [n, n + 1]
        outputs: [n]
        right: [n - 1], whether the next toss was called
    """
    n = len(tosses)
    tosses = tosses.astype(int)
    scores = np.zeros((n, n + 1))
    scores[:, 0] = 15
    i = np.arange(n - 1)
    scores[i, i + 2] = 30 * tosses[1:]
    weights = softmax(scores) * see if zero_after else softmax(np.where(see, scores, -np.inf))
    outputs = weights @ np.append(-1, 2 * tosses - 1)
    return weights, outputs, (outputs[:-1] > -0.5) == (tosses[1:] == 1)
