"""The explorable "sentence": one head of MiniLM on a sentence, and on the reader's own.

It is sentence72 made small: three heads, without what they add. What is shown at first was
recorded, so that no model is needed to show it. To record it again:

    python -m attention_src.explorables.sentence
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from attention_src.explorables.drawing import Explorable, Line
from attention_src.explorables.sentence72 import in_base64, name_of, shares

PRESS = ("button", "L0H2", "Enter")
SAYS = "From “it”, L0H2 gives 100 % to “because”"
TEXT = "The horse ate the apple because it was hungry"
FILE = Path(__file__).with_name("sentence.npz")
HEADS = (37, 2, 20)  # L3H1, L0H2, L1H8; the first is shown at first
TRIES: tuple[Line, ...] = (
    "Change “hungry” to “sweet”: the first key fetches the model. Who is “it” now?",
)
NOTE = (
    "L3H1 is head 1 of layer 3 of all-MiniLM-L6-v2, in float16. A word’s weights add up to 1; "
    "[CLS] and [SEP] are marks around every text, “##” begins the rest of a word that is read in "
    "pieces, and [UNK] is a sign that the model does not know. Sentence and head are chosen to be "
    "clear."
)


def make() -> Explorable:
    """The recorded sentence under the first head.

    Returns: what the page is made from
    """
    tokens, weights = recorded()
    query = strongest(weights[0])
    return Explorable(
        start(),
        f"Lines from words to the words at which {name_of(HEADS[0])} looks; the thickest goes from "
        f"“{tokens[query]}” to “{tokens[weights[0, query].argmax()]}”. Bars show the weights.",
        f"{said(tokens, weights[0], query, name_of(HEADS[0]))} An interactive figure: pick a word "
        "and a head, and let the model read your own sentence. It needs JavaScript; here is its "
        "first state.",
        finding(tokens, weights[0], query, name_of(HEADS[0])),
        (*TRIES, NOTE),
    )


def recorded() -> tuple[list[str], np.ndarray]:
    """What MiniLM makes of the sentence.

    Returns:
        tokens: n strings
        weights: [3, n, n]
    """
    with np.load(FILE) as saved:
        return [str(token) for token in saved["tokens"]], saved["weights"].astype(float) / 65535


def start() -> dict:
    """What the script starts from.

    Returns: data for sentence.js; arrays are little-endian, in base64
    """
    with np.load(FILE) as saved:
        return {
            "text": TEXT,
            "tokens": saved["tokens"].tolist(),
            "heads": list(HEADS),
            "weights": in_base64(saved["weights"], "<u2"),
        }


def strongest(weights: Float[np.ndarray, "n n"]) -> int:
    """The word whose weight on another word is largest.

    Args:
        weights: [n, n], the first and the last token being [CLS] and [SEP]
    Returns: its number, from 1 to n - 2
    """
    p = weights[1:-1, 1:-1].copy()
    np.fill_diagonal(p, 0)
    return 1 + int(p.max(axis=1).argmax())


def said(tokens: Sequence[str], weights: Float[np.ndarray, "n n"], query: int, name: str) -> str:
    """What is said about a word, and about the head.

    Args:
        tokens: n strings
        weights: [n, n]
        query: the word's number
        name: of the head
    Returns: two sentences; sentence.js says the same
    """
    p = weights[query]
    one, two = np.argsort(-p, kind="stable")[:2]
    then = "" if p[two] < 0.005 else f", {p[two]:.0%} to {_quoted(tokens[two])}"
    all_words = shares(tokens, weights)
    place = max(all_words, key=all_words.__getitem__)
    return (
        f"From {_quoted(tokens[query])}, {name} gives {p[one]:.0%} to {_quoted(tokens[one])}{then}."
        f" On average over the words, {place} gets {all_words[place]:.0%}."
    ).replace("%", " %")


def _quoted(token: str) -> str:
    return token if token.startswith("[") else f"“{token}”"


def finding(tokens: Sequence[str], weights: Float[np.ndarray, "n n"], query: int, name: str) -> str:
    """The line above the picture, about a word under a head.

    Args:
        tokens, weights, query, name: as for `said`
    Returns: a sentence; sentence.js says the same
    """
    best = weights[query].argmax()
    one, two = (_quoted(t if len(t) < 10 else f"{t[:8]}…") for t in (tokens[query], tokens[best]))
    return (
        f"In one head of a real model, {name}, {one} gives {weights[query, best]:.0%} of its "
        f"weight to {two}."
    ).replace("%", " %")


def record() -> None:
    """Run MiniLM on the sentence, and write the file."""
    from attention_src.models.minilm import MiniLM

    trace = MiniLM.load().trace(TEXT)  # in float16, as the page has it
    n = len(trace.tokens)
    weights = np.rint(trace.weights.reshape(-1, n, n)[list(HEADS)] * 65535).astype(np.uint16)
    np.savez_compressed(FILE, tokens=trace.tokens, weights=weights)


if __name__ == "__main__":
    record()
