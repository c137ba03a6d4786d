"""The explorable "split_merge": a table of tokens cut into heads, rightly beside wrongly.

A reshape reads the numbers in the order in which they lie in memory, row after row. So it can cut a
token into pieces, but only a transpose brings the pieces of one head together.
"""

from attention_src.explorables.drawing import Explorable, Line

PRESS = ("button", "merge", "Enter")
SAYS = "x is back in both ways"
TOKENS = ("the", "river", "bank", "was", "steep")  # n = 5
COLUMNS = 8  # d_model
HEADS = (1, 2, 4, 8)  # each divides the columns
START = {"heads": 2, "step": 2, "lit": 0}  # all sizes differ: 2 heads, 5 tokens, 4 columns each

QUESTION = "Where does each row go?"
TRIES: tuple[Line, ...] = (
    "Point at each head, or tap it. In which heads do “river” and “bank” meet?",
    "Press merge. Would comparing with x have told you which way is wrong?",
)
# The two ways, and what is said below the picture: at x, after the reshape, with heads, with one
# head alone, and after the merge. In braces: what the script computes.
WORDS = {
    "right": "right: reshape, then swapaxes",
    "wrong": "wrong: reshape only",
    "x": "A row for each of {n} tokens, {columns} numbers long. They lie in memory row after row.",
    "reshape": "The right way has cut each token into {heads}, and nothing has moved yet. The "
    "wrong way has changed the shape alone: the same numbers, in the same order.",
    "heads": "{name} is meant to be {meant}, from “{token}”. Reshape alone makes it {found}, from "
    "“{other}”. There, head {lit} never meets {lacks}. The shape is right, so nothing fails.",
    "one": "With one head there is nothing to cut, and both lines give the same.",
    "merge": "Merged, x is back in both ways, number for number. A round trip does not find the "
    "mistake; a look into one head does.",
}


def make() -> Explorable:
    """Five tokens of eight numbers, two heads.

    Returns: what the page is made from
    """
    return Explorable(
        start(),
        "A table of 5 tokens and 8 columns cut into 2 heads. Rightly, head 0 has columns 0 to 3 of "
        "every token; by a reshape alone, “the”, “river” and half of “bank”.",
        "An interactive figure: choose the number of heads and follow the numbers through both "
        "ways. It needs JavaScript; here is its first state.",
        QUESTION,
        TRIES,
    )


def start() -> dict:
    """What the script starts from.

    Returns: data for split_merge.js
    """
    return {
        "tokens": TOKENS,
        "columns": COLUMNS,
        "counts": HEADS,
        "start": START,
        "words": WORDS,
    }
