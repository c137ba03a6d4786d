"""The explorable "cache_fills": a text grows by a token, and what has to be computed then."""

from typing import Any

from attention_src.explorables.drawing import Explorable, still

TOKENS = ("the", "river", "bank", "was", "steep")
# Two layers of attention, one head each, three numbers wide. The numbers are chosen so that every
# change can be seen, and so that "bank" takes most of what it adds from "river".
X = [[-0.5, 0.0, -0.1], [0.2, 0.9, 0.8], [-0.2, -0.8, -0.2], [0.9, 0.7, -0.1], [0.4, 0.1, -0.8]]
WEIGHTS = {
    "q1": [[0.9, 0.6, 0.6], [0.8, 0.7, -0.3], [0.9, 0.8, -0.6]],
    "k1": [[-0.7, -0.1, -0.7], [-0.4, -0.3, -0.3], [-0.2, -0.6, 0.4]],
    "v1": [[0.8, 0.5, -0.4], [-0.5, 0.3, 0.7], [0.6, -0.2, -0.6]],
    "k2": [[0.2, 0.6, 0.8], [0.6, 0.6, -0.4], [0.3, -0.1, -0.1]],
    "v2": [[-0.8, 0.6, -0.6], [0.3, 0.5, 0.8], [0.2, -0.9, -0.1]],
}
START = {"n": 3, "both": False}  # tokens, and whether they look both ways
QUESTION = "When a text grows by one token, what has to be computed?"
TRIES = (
    "Add tokens until the text ends. How far apart are the two numbers?",
    "Then let the tokens look both ways. Which rows could you still keep?",
)
WORDS = {
    # On the controls.
    "next": "Next token",
    "again": "Start over",
    "less": "Back",
    "ways": {"false": "looking back only", "true": "looking both ways"},
    # In the picture.
    "layer1": "layer 1",
    "layer2": "layer 2",
    "was": "before “{word}” came",
    "work": "rows computed in layer 2",
    "kept": "with a cache",
    "useless": "no usable cache",
    "without": "without a cache",
    "sofar": "rows so far",
    "kept_note": "pale: kept, only read",
    "without_note": "every row again",
    "back_note": "looking back only: {n}",
    # Below it. The last of these that fits is said.
    "alone": "“{word}” stands alone: it has one row of q, k and v in each layer, and nothing could "
    "have been kept.",
    "grows": "“{word}” adds one row to K and one to V, and no older row has changed. So layer 2 "
    "computes {new} rows; without a cache it computes {all}.",
    "ends": "No row has ever changed: {kept} rows with a cache, {without} without, {times} times "
    "as many. After {far} tokens it would be {far_times} times as many.",
    "changes": "“{word}” changes every older row of layer 2, that of “{most}” by {change} % of its "
    "length: none could have been kept. In layer 1 a row depends on its own token alone, and stays.",
}
FAR = 999  # tokens of a longer text, for which the sentence says the same


def make(question: str = QUESTION, tries: tuple[str, ...] = TRIES) -> Explorable:
    """A text of five tokens in two layers: what is new, what changes, what is computed again.

    Args:
        question: the line above the picture
        tries: lines below it
    Returns: what the page is made from
    """
    picture, size = still("cache_fills")
    n = int(START["n"])
    return Explorable(
        given(),
        picture,
        size,
        f"K and V of two layers after {n} tokens; one row of each is new, the others are as they "
        f"were. So far layer 2 has computed {3 * n} rows of q, k and v with a cache, and "
        f"{3 * n * (n + 1) // 2} without.",
        "An interactive figure: add a token, and see which rows of K and V are new and how many "
        f"rows are computed. It needs JavaScript; here are the first {n} tokens.",
        question,
        tries,
    )


def given() -> dict[str, Any]:
    """The data that the script starts from.

    Returns: tokens, their vectors x [5, 3], the weights [3, 3] of two layers, the first state, the
        words
    """
    return {
        "tokens": TOKENS,
        "x": X,
        "weights": WEIGHTS,
        "start": START,
        "far": FAR,
        "words": WORDS,
    }
