"""The explorable "sentence72": all 72 heads of MiniLM on a sentence, and on the reader's own.

What is shown at first was recorded, so that no model is needed to show it. To record it again:

    python -m attention_src.explorables.sentence72
"""

import base64
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from attention_src.explorables.drawing import Explorable, Line

PRESS = ("button", "size of what it adds", "Enter")
SAYS = "L1H9 gives"
TEXT = "The cat sat on the mat"
FILE = Path(__file__).with_name("sentence72.npz")
HEAD = 21  # L1H9, the head that is enlarged at first
COUNT = 72
# Where a head may look, seen from the word i: the places that count, in a text of n tokens.
PLACES = {
    "[CLS]": lambda tokens, i: [0],
    "[SEP]": lambda tokens, i: [len(tokens) - 1],
    "the word itself": lambda tokens, i: [i],
    "the word before": lambda tokens, i: [i - 1] if i > 1 else [],
    "the word after": lambda tokens, i: [i + 1] if i < len(tokens) - 2 else [],
    "the same word elsewhere": lambda tokens, i: [
        j for j in range(1, len(tokens) - 1) if j != i and tokens[j] == tokens[i]
    ],
    "punctuation": lambda tokens, i: [
        j for j in range(1, len(tokens) - 1) if not any(map(str.isalnum, tokens[j]))
    ],
}
TRIES: tuple[Line, ...] = (
    "Press “size of what it adds”. What becomes of the first column, [CLS]?",
    "With a sentence of your own: silence L0H2, which looks one word back. Which head steps in?",
)
# What is counted below the picture, of whatever sentence is there.
QUESTION = (
    "How many of 72 heads look mostly at [CLS], a mark before every text? And how many take most "
    "of what they add from there?"
)
# What is measured, and by which model.
NOTE = (
    "A row of weights p adds up to 1; the size of what is added is p‖v W_O‖, where v has its "
    "bias (Kobayashi et al., 2020): lengths, so terms may still cancel. Full violet is 1, full "
    "green 2 or more. A share is of one word’s row, averaged over the words; rows of [CLS] and "
    "[SEP], the marks around every text, are left out. The model is all-MiniLM-L6-v2: 6 layers "
    "of 12 heads, pieces of words in lower case (“##” begins the rest of a word, [UNK] is a sign "
    "that it does not know), weights in float16; the sentence’s vector is the mean of its tokens’. "
    "A head’s mean is taken over 24 plain sentences."
)


def make() -> Explorable:
    """The recorded sentence, with one head enlarged.

    Returns: what the page is made from
    """
    tokens, weights, added, _ = recorded()
    return Explorable(
        start(),
        "Attention maps of 72 heads, most with a dark first column, [CLS]; "
        f"{name_of(HEAD)} enlarged, beside the size of what it adds, where a diagonal appears.",
        f"{said(tokens, weights, added, HEAD)} An interactive figure: enlarge any head, and let "
        "the model read your own sentence. It needs JavaScript; here is its first state.",
        QUESTION,
        (*TRIES, NOTE),
    )


def recorded() -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """What MiniLM makes of the sentence.

    Returns:
        tokens: n strings
        weights: [72, n, n]
        added: [72, n, n]  p_ij times the length of v_j W_O, the size of what a head adds
        means: [72, 32]  each head's mean output over the plain sentences of the course
    """
    with np.load(FILE) as saved:
        weights = saved["weights"].astype(float) / 65535
        added = weights * saved["lengths"][:, None]
        return [str(token) for token in saved["tokens"]], weights, added, saved["means"]


def start() -> dict:
    """What the script starts from.

    Returns: data for sentence72.js; arrays are little-endian, in base64
    """
    with np.load(FILE) as saved:
        return {
            "text": TEXT,
            "tokens": saved["tokens"].tolist(),
            "head": HEAD,
            "weights": in_base64(saved["weights"], "<u2"),
            "lengths": in_base64(saved["lengths"], "<f4"),
            "means": in_base64(saved["means"], "<f2"),
        }


def in_base64(x: np.ndarray, code: str) -> str:
    """An array for a script.

    Args:
        x: any shape
        code: of the numbers' type, such as "<u2"
    Returns: its numbers one after the other, in base64
    """
    return base64.b64encode(x.astype(code).tobytes()).decode()


def name_of(head: int) -> str:
    """A head's name: L1H9 for head 21.

    Args:
        head: 0 to 71, 12 a layer
    Returns: layer and head
    """
    return f"L{head // 12}H{head % 12}"


def shares(tokens: Sequence[str], x: Float[np.ndarray, "n n"]) -> dict[str, float]:
    """How much of a head's rows lies on each place.

    Args:
        tokens: n strings, the first [CLS], the last [SEP]
        x: [n, n]  weights, or sizes of what is added
    Returns: place to its share of a word's row, averaged over the words that have such a place
    """
    rows = x / x.sum(axis=-1, keepdims=True)
    found = {}
    for place, where in PLACES.items():
        each = [rows[i, js].sum() for i in range(1, len(tokens) - 1) if (js := where(tokens, i))]
        if each:
            found[place] = float(np.mean(each))
    return found


def said(tokens: Sequence[str], weights: np.ndarray, added: np.ndarray, head: int) -> str:
    """What is said about one head.

    Args:
        tokens: n strings
        weights, added: [72, n, n]
        head: 0 to 71
    Returns: a sentence; sentence72.js says the same
    """
    p, c = shares(tokens, weights[head]), shares(tokens, added[head])
    looks, brings = max(p, key=p.__getitem__), max(c, key=c.__getitem__)
    more = "" if looks == brings else f" and {c[brings]:.0%} from {brings}"
    words = (
        f"{name_of(head)} gives {p[looks]:.0%} of its words’ weight to {looks}; "
        f"of what it adds, {c[looks]:.0%} comes from there{more}."
    )
    return words.replace("%", " %")


def on_cls(tokens: Sequence[str], x: np.ndarray) -> int:
    """The number of heads whose words' rows lie on [CLS] by more than half.

    Args:
        tokens: n strings
        x: [72, n, n]  weights, or sizes of what is added
    Returns: 0 to 72
    """
    return sum(shares(tokens, rows)["[CLS]"] > 0.5 for rows in x)


def record() -> None:
    """Run MiniLM on the sentence, and write the file."""
    from attention_src.models.minilm import MiniLM
    from attention_src.models.minilm.baselines import mean_outputs
    from attention_src.models.minilm.sentences import PLAIN

    model = MiniLM.load()  # in float16, as the page has it
    trace = model.trace(TEXT)
    n = len(trace.tokens)
    w_o = [model.head_output_weights(*divmod(head, 12)) for head in range(COUNT)]
    np.savez_compressed(
        FILE,
        tokens=trace.tokens,
        weights=np.rint(trace.weights.reshape(COUNT, n, n) * 65535).astype(np.uint16),
        lengths=np.linalg.norm(trace.values.reshape(COUNT, n, 32) @ np.stack(w_o), axis=-1),
        means=mean_outputs(model, PLAIN).reshape(COUNT, 32).astype(np.float16),
    )


if __name__ == "__main__":
    record()
