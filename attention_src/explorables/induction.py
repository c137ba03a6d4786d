"""The explorable "induction": two heads of the planted model guess together which letter comes.

The script holds the whole model, weights included, and reads what the reader types.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.explorables.drawing import Explorable, Line
from attention_src.models.planted.heads import MAX_TOKENS, POSITION, PREVIOUS, TOKEN, VOCABULARY
from attention_src.models.planted.model import PlantedModel
from attention_src.softmax.reference import softmax

PRESS = ("button", "previous", "Enter")
SAYS = "PlantedModel gives “n” 5.5 % without previous, and 99.9 % with all 8 heads"
MODEL = PlantedModel.load()
LETTERS = 10  # at most, after the start sign: as many as fit on a phone
START: dict[str, Any] = {"text": "stonesto", "at": 8, "silent": []}
QUESTION = "How do two heads together guess the letter that comes next?"
TRIES: tuple[Line, ...] = (
    "Type banana. Where does the last letter look? And in a word that has no letter twice, such as "
    "stone?",
    "Then silence heads, one at a time: what they write is set to 0. Which of the eight does the "
    "guess need? (One of them says the same in every text. It will be dealt with below.)",
)
# In braces: what the script computes.
WORDS: dict[str, Any] = {
    "label": "A text, what the head previous writes, and what the head induction finds there",
    # On the controls.
    "text": "text",
    "silence": "silence",
    "layer": "layer {layer}",
    "reset": "Reset",
    "place": "place {at}: {letter}",
    # In the picture.
    "values": "values",
    "keys": "keys",
    "query": "query",
    "one": "1. previous copies each letter one place on",
    "one_silent": "1. previous is silent: nothing is copied",
    "two": "2. induction finds “{letter}” among the keys",
    "two_rests": "2. induction finds no “{letter}”, rests on ^",
    "two_silent": "2. induction is silent: nothing is passed",
    "rest": "rest",
    "guess": "guess after “{letter}”",
    "came": "“{came}” came: loss {loss}",
    "open": "the text ends here",
    # Below it: one of these about the head, and one about the guess.
    "finds": "Induction finds “{letter}” among the keys at {found} of {all} places up to here, "
    "with {weight} of its weight, and takes the value above, {taken}.",
    "rests": "None of {all} places up to here has “{letter}” as its key: induction rests on "
    "the start sign, whose value is 0.",
    "blind": "Without previous there are no keys: induction has lost its target, and rests on "
    "the start sign, whose value is 0.",
    "deaf": "Induction passes nothing on, whatever it finds.",
    "nothing": "After the start sign there is no letter to look for yet.",
    "alone": "PlantedModel’s guess: {tops}, {share}.",
    "same": "Without {heads}, PlantedModel’s guess stays {tops}, {share}.",
    "less": "PlantedModel gives {tops} {now} without {heads}, and {share} with all {count} heads.",
    "other": "PlantedModel gives “{was}” {now} without {heads}, and {before} with all {count} "
    "heads; its guess is now {tops}.",
    "several": "{some} of the heads",
    "or": "or",
    "and": "and",
    "each": "{share} each",
    "many": "any of {many}, all alike",
}


def make() -> Explorable:
    """The planted model on a text of at most ten letters, with heads that can be silenced.

    Returns: what the page is made from
    """
    trace = MODEL.run("^" + START["text"])
    at, letter = START["at"], START["text"][-1]
    weight = trace.weights[MODEL.find("induction")][at].max()
    guess, share = trace.guesses[at], softmax(trace.logits)[at].max()
    return Explorable(
        start(),
        f"The text ^{START['text']}, and below each letter the one before it. The last "
        f"“{letter}” finds “{letter}” below “{guess}”, with {100 * weight:.0f} % of the weight, "
        f"and the guess is “{guess}”, {100 * share:.1f} %.",
        f"PlantedModel guesses “{guess}” after “{START['text']}”, {100 * share:.1f} %. An "
        "interactive figure: type a text and silence heads. It needs JavaScript; here is its "
        "first state.",
        QUESTION,
        TRIES,
    )


def start() -> dict[str, Any]:
    """The data that the script starts from.

    Returns: the model (its letters, where the parts of the stream begin, eight heads with their
        matrices as runs), the first state, the words
    """
    heads = []
    for at, role in MODEL.truth.items():
        weights = MODEL.head(*at)
        matrices = {name: runs(getattr(weights, f"w_{name}")) for name in "qkvo"}
        heads.append({"role": role, "layer": at[0], **matrices})
    return {
        "letters": "".join(VOCABULARY),
        "parts": {"token": TOKEN.start, "position": POSITION.start, "previous": PREVIOUS.start},
        "width": MODEL.unembedding.shape[0],
        "inside": MAX_TOKENS,
        "heads": heads,
        "unembedding": runs(MODEL.unembedding),
        "most": LETTERS,
        "start": START,
        "words": WORDS,
    }


def runs(w: Float[np.ndarray, "rows columns"]) -> list[list[float]]:
    """A matrix that is mostly 0, as runs of equal numbers: down a diagonal, or down a column.

    Args:
        w: [rows, columns]
    Returns: a list of [row, column, step, count, value]: value stands at row + i, column + step i,
        for i from 0 to count - 1
    """
    left = {(int(i), int(j)): float(w[i, j]) for i, j in np.argwhere(w)}
    found = []
    while left:
        (row, column), value = next(iter(left.items()))
        chains = []
        for step in (0, 1):
            chain = [(row, column)]
            while left.get(after := (row + len(chain), column + step * len(chain))) == value:
                chain.append(after)
            chains.append(chain)
        step = int(len(chains[1]) > len(chains[0]))
        for place in chains[step]:
            del left[place]
        found.append([row, column, step, len(chains[step]), value])
    return found
