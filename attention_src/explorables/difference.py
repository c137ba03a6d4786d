"""The explorable "difference": its data, its still and its words."""

from typing import Any

from attention_src.explorables.drawing import Explorable, still

# Six days of reports, in degrees above or below normal. They are uncorrelated and vary alike, so
# the error on these six days is the one that is expected of such cities.
START: dict[str, Any] = {
    "lisbon": [3, -2, 2, -3, 1, -1],
    "oslo": [-1, -3, 3, 2, -2, 1],
    "at": [[0.5, 0.5], [0.3, 0.7]],  # how much of each city is in what each head contributes
}
QUESTION = "Can an average become a difference?"
TRIES = (
    "Drag the dot to the ring. How small can you make the error?",
    "Then take two heads. Where must they be?",
)


def make(question: str = QUESTION, tries: tuple[str, ...] = TRIES) -> Explorable:
    """One head, or two, that should say how much warmer Lisbon is than Oslo.

    Args:
        question: the line above the picture
        tries: what to try, a line each
    Returns: what the page is made from
    """
    picture, size = still("difference")
    return Explorable(
        START,
        picture,
        size,
        "One head with weights of a half on Lisbon and on Oslo, far from the wanted difference: "
        "125 % of the error is left.",
        "An interactive figure: drag one head, or two, and see how much of the error is left. It "
        "needs JavaScript; here is its first state.",
        question,
        tuple(tries),
    )
