"""The explorable "cache_fills": a text grows by a token, and what has to be computed then."""

from typing import Any

from attention_src.explorables.drawing import Explorable, Line

PRESS = ("button", "Next token", "Enter")
SAYS = "“was” adds one row to K and one to V"
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
START: dict[str, Any] = {"n": 3, "both": False}  # tokens, and whether they look both ways
QUESTION = "When a text grows by one token, what has to be computed?"
TRIES: tuple[Line, ...] = (
    "Add tokens until the text ends. How far apart are the two numbers?",
    "Then let the tokens look both ways. Which rows could you still keep?",
)
# In braces: what the script computes.
WORDS: dict[str, Any] = {
    "label": "K and V of two layers, and the rows computed",
    # On the controls.
    "next": "Next token",
    "again": "Start over",
    "less": "Back",
    "ways": {"false": "looking back only", "true": "looking both ways"},
    # In the picture.
    "layer1": "layer 1",
    "layer2": "layer 2",
    "was": "before “{word}” came",
    "work": "layer 2: rows of q, k, v computed",
    "kept": "with a cache",
    "useless": "no usable cache",
    "without": "without a cache",
    "sofar": "rows so far",
    "kept_note": "pale: kept, only read",
    "without_note": "every row again",
    "back_note": "looking back only: {n}",
    # Below it: one of these.
    "alone": "“{word}” stands alone: it has one row of q, k and v in each layer, and nothing could "
    "have been kept.",
    "grows": "“{word}” adds one row to K and one to V, and needs one query; no older row has "
    "changed. So layer 2 computes {new} rows; without a cache it computes {all}.",
    "ends": "No row has ever changed: {kept} rows with a cache, {without} without, {times} times "
    "as many. After {far} tokens it would be {far_times} times as many.",
    "changes": "“{word}” changes every older row of layer 2, that of “{most}” by {change} % of its "
    "length: none could have been kept. In layer 1 a row depends on its own token alone, and "
    "stays.",
}
FAR = 999  # tokens of a longer text, for which the sentence says the same


def make() -> Explorable:
    """A text of five tokens in two layers: what is new, what changes, what is computed again.

    Returns: what the page is made from
    """
    n = START["n"]
    kept, without = rows_computed(n)
    said = WORDS["grows"].format(word=TOKENS[n - 1], new=3, all=3 * n)
    return Explorable(
        start(),
        f"K and V of two layers after {n} tokens: one row of each is new, the others are as they "
        f"were. So far layer 2 has computed {kept} rows of q, k and v with a cache, and "
        f"{without} without.",
        f"{said} An interactive figure: add a token, and see what is new and what is computed. It "
        "needs JavaScript; here is its first state.",
        QUESTION,
        TRIES,
    )


def start() -> dict[str, Any]:
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


def rows_computed(n: int) -> tuple[int, int]:
    """Rows of q, k and v that a layer computes for n tokens, which come one at a time.

    Args:
        n: number of tokens
    Returns: with a cache 3 a step; without, 3 for each token so far
    """
    return 3 * n, 3 * n * (n + 1) // 2
