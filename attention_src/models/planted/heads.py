"""The heads of the planted model, written by hand: what each reads, looks for, takes and writes.

The residual stream is cut into parts, and in each part one number stands for one letter or place:

    TOKEN      27   the letter that stands here; the embedding writes it
    POSITION   32   the place; the embedding writes it
    PREVIOUS   27   the letter before, if a head writes it
    NEXT       27   the guess of the next letter, the only part that the logits add to a constant
    SCRATCH    27   written, and never read

A head's four matrices copy parts into its queries, keys and values, and its output into a part.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

START = "^"  # stands at place 0 of every text
VOCABULARY = (START, *"abcdefghijklmnopqrstuvwxyz")
V, MAX_TOKENS = len(VOCABULARY), 32
D_HEAD = MAX_TOKENS  # d_k and d_v: the widest part fits

TOKEN, POSITION, PREVIOUS, NEXT, SCRATCH = (
    slice(0, V),
    slice(V, V + MAX_TOKENS),
    slice(V + MAX_TOKENS, 2 * V + MAX_TOKENS),
    slice(2 * V + MAX_TOKENS, 3 * V + MAX_TOKENS),
    slice(3 * V + MAX_TOKENS, 4 * V + MAX_TOKENS),
)
D_MODEL = SCRATCH.stop

SHARP = 20.0  # the score of a match; no match has 0, so exp(SHARP) : 1
SURE = 10.0  # what a whole vote of the induction head adds to a logit
LIKELY = 8.0  # what a share of 1 adds to a logit in the head of means
OFFSET = 20.0  # what the unembedding gives START everywhere, and one head takes away


@dataclass(frozen=True)
class Weights:
    """The four matrices of one head.

    w_q, w_k: [d_model, 32]  a token's query and key are x w_q and x w_k
    w_v: [d_model, 32]  its value is x w_v
    w_o: [32, d_model]  the head adds o w_o to the stream
    """

    w_q: Float[np.ndarray, "d_model d_k"]
    w_k: Float[np.ndarray, "d_model d_k"]
    w_v: Float[np.ndarray, "d_model d_v"]
    w_o: Float[np.ndarray, "d_v d_model"]


def reads(part: slice, skip: int = 0) -> Float[np.ndarray, "d_model d_head"]:
    """The matrix that copies a part of the stream into the first components of a head.

    Args:
        part: TOKEN, POSITION, PREVIOUS, NEXT or SCRATCH
        skip: leave out this many components; 1 leaves START out and keeps the letters
    Returns: [d_model, 32]  for x @ w; its transpose writes from a head into that part
    """
    w = np.zeros((D_MODEL, D_HEAD))
    for i in range(skip, part.stop - part.start):
        w[part.start + i, i] = 1
    return w


def writes(part: slice) -> Float[np.ndarray, "d_head d_model"]:
    """The matrix that copies the first components of a head into a part of the stream.

    Args:
        part: as for `reads`
    Returns: [32, d_model]
    """
    return reads(part).T


def at_start() -> Float[np.ndarray, "d_model d_head"]:
    """The matrix that puts a 1 into component 0 of START, and nothing into that of any letter.

    Returns: [d_model, 32]
    """
    w = np.zeros((D_MODEL, D_HEAD))
    w[TOKEN.start, 0] = 1
    return w


def everywhere() -> Float[np.ndarray, "d_model d_head"]:
    """The matrix that puts a 1 into component 0 of every token: all read the same.

    Returns: [d_model, 32]
    """
    w = np.zeros((D_MODEL, D_HEAD))
    w[TOKEN, 0] = 1
    return w


def previous() -> Weights:
    """Looks one place back, and writes the letter that it finds there into PREVIOUS.

    Returns: Weights
    """
    one_back = np.eye(D_HEAD, k=-1)  # a query from place i asks for place i - 1
    one_back[0, 0] = 1  # place 0 has none before it
    return Weights(
        w_q=SHARP * reads(POSITION) @ one_back,
        w_k=reads(POSITION),
        w_v=reads(TOKEN, skip=1),
        w_o=writes(PREVIOUS),
    )


def induction() -> Weights:
    """Looks for places whose PREVIOUS is the letter here, and guesses the letters found there.

    Where there are none it rests on START, whose value is 0.

    Returns: Weights
    """
    return Weights(
        w_q=SHARP * (reads(TOKEN) + everywhere() / 2),
        w_k=reads(PREVIOUS) + at_start(),
        w_v=reads(TOKEN, skip=1),
        w_o=SURE * writes(NEXT),
    )


def mean() -> Weights:
    """Looks at all places alike, and guesses each letter by its share of the text so far.

    Returns: Weights
    """
    return Weights(
        w_q=np.zeros((D_MODEL, D_HEAD)),
        w_k=np.zeros((D_MODEL, D_HEAD)),
        w_v=reads(TOKEN, skip=1),
        w_o=LIKELY * writes(NEXT),
    )


def sink() -> Weights:
    """Looks only at START; START's value is 0.

    Returns: Weights
    """
    return Weights(
        w_q=SHARP * everywhere(), w_k=at_start(), w_v=reads(TOKEN, skip=1), w_o=writes(NEXT)
    )


def steady() -> Weights:
    """Looks at START, and takes the same OFFSET from START's logit in every text.

    Returns: Weights
    """
    return Weights(
        w_q=SHARP * everywhere(), w_k=at_start(), w_v=everywhere(), w_o=-OFFSET * writes(NEXT)
    )


def echo() -> Weights:
    """Looks at all places with the letter here, and copies it to where it is never read.

    Returns: Weights
    """
    return Weights(
        w_q=SHARP * reads(TOKEN), w_k=reads(TOKEN), w_v=reads(TOKEN, skip=1), w_o=writes(SCRATCH)
    )


def idle() -> Weights:
    """All weights are 0: looks at all places alike, and writes nothing.

    Returns: Weights
    """
    nothing = np.zeros((D_MODEL, D_HEAD))
    return Weights(nothing, nothing, nothing, nothing.T)


@dataclass(frozen=True)
class Role:
    """What a head does, and whether the model's guesses depend on it.

    make: makes its weights
    does: one line
    matters: "yes" if what it writes depends on the text and changes guesses; "constant" if guesses
        need what it writes, which is the same in every text; "spare" if another head does the
        same; "no" otherwise
    """

    make: Callable[[], Weights]
    does: str
    matters: str


ROLES = {
    "previous": Role(previous, "writes the letter before, for the induction head to read", "yes"),
    "sink": Role(sink, "rests on the start, whose value is 0", "no"),
    "echo": Role(echo, "finds the same letter, and writes it where nobody reads", "no"),
    "idle": Role(idle, "flat, and writes nothing", "no"),
    "induction": Role(induction, "guesses what followed this letter before", "yes"),
    "mean": Role(mean, "flat, and guesses each letter by its share so far", "yes"),
    "steady": Role(steady, "lowers the start sign's score by a constant", "constant"),
    "late": Role(previous, "the previous-token head once more, after all who read it", "no"),
    "twin": Role(previous, "the previous-token head once more: one of the two is enough", "spare"),
}
LAYERS = (("previous", "sink", "echo", "idle"), ("induction", "mean", "steady", "late"))
