"""The explorable "one_query": a guest's query at the market, followed to the price that it hears.

The market is that of the chapter *The equation*; its code prints the same numbers from these
constants. A key says how sweet and how wooden a thing is, a value is its price.
"""

import numpy as np

from attention_src.explorables.drawing import Explorable, Line
from attention_src.softmax.reference import softmax

PRESS = ("button", "all three guests", "Enter")
SAYS = "The three prices: 3.87, 29.91, 12.25"
AXES = ("sweet", "wooden")  # the d_k = 2 numbers of a key, and of a query
THINGS = ("apple", "plum", "carrot", "chair")
KEYS = np.array([[2, 0], [1.5, 1], [0.5, 0], [0, 2]])  # (4, 2); a plum has a stone
PRICES = np.array([[3], [2], [1], [40]])  # (4, 1): n_k = 4, d_v = 1
GUESTS = np.array([[2, 0], [0, 2], [1, 1]])  # (3, 2): n_q = 3; sweet, wooden, both

# A pair holds the words for one guest and those for all three.
QUESTION = (
    "How does one query turn four prices into one answer?",
    "Three queries at once: what is a row of each matrix?",
)
TRIES: tuple[Line, ...] = (
    (
        "Point at a thing to see its product with the query. The area of its disc is its weight.",
        "The areas of the discs are the weights of the query that you touched last.",
    ),
    (
        "Pull the arrow longer, then turn it: which changes the order of the weights?",
        "Drag one arrow. Which rows of S, P and O change, and which stay as they are?",
    ),
    (
        "Shorten the arrow until half of the answer comes from the chair. What is its weight?",
        "Point at a column of Kᵀ: with one row of Q it makes one number of S.",
    ),
)
# What is said below the picture. In braces: what the script computes, as `said` does here.
WORDS = {
    "apart": "The {first} gets the most weight, {weight} %. The {dear} gets {small} % of "
    "the weight and makes {share} % of the answer: {part} of {output}.",
    "same": "The {first} gets the most weight, {weight} %, and makes {share} % of the answer: "
    "{part} of {output}.",
    "all": "Each row of Q becomes one row of S, of P and of O, whatever the other rows hold. The "
    "three prices: {outputs}.",
}


def make() -> Explorable:
    """The first guest, who wants something sweet, among four things with their prices.

    Returns: what the page is made from
    """
    q = GUESTS[0]
    weights = softmax(KEYS @ q / np.sqrt(len(AXES)))
    numbers = ", ".join(f"{name} {p:.3f}" for name, p in zip(THINGS, weights, strict=True))
    return Explorable(
        start(),
        f"The query ({q[0]}, {q[1]}) among four keys: scores, weights ({numbers}), and weight × "
        f"price as heights, stacked to {weights @ PRICES[:, 0]:.2f}.",
        f"{said(q)} An interactive figure: drag the query and see every step change. It "
        "needs JavaScript; here is its first state.",
        QUESTION,
        TRIES,
    )


def start() -> dict:
    """What the script starts from: the market, and the words.

    Returns: data for one_query.js
    """
    return {
        "axes": AXES,
        "names": THINGS,
        "keys": KEYS.tolist(),
        "prices": PRICES[:, 0].tolist(),
        "guests": GUESTS.tolist(),
        "words": WORDS,
    }


def said(q: np.ndarray) -> str:
    """What is said about one guest.

    Args:
        q: the query [2]
    Returns: a sentence or two; one_query.js says the same
    """
    weights = softmax(KEYS @ q / np.sqrt(len(AXES)))
    parts = weights * PRICES[:, 0]
    first, dear = int(weights.round(9).argmax()), int(PRICES.argmax())  # equal is equal
    return WORDS["same" if first == dear else "apart"].format(
        first=THINGS[first],
        dear=THINGS[dear],
        weight=f"{100 * weights[first]:.1f}",
        small=f"{100 * weights[dear]:.1f}",
        share=f"{100 * parts[dear] / parts.sum():.1f}",
        part=f"{parts[dear]:.2f}",
        output=f"{parts.sum():.2f}",
    )
