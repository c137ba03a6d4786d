"""Attention: one step of the writer scores all states of the reader and averages them."""

import math

from attention_src.figures.drawing import Drawing, Scene, arrow, both, box, column, faded, line
from attention_src.figures.drawings.one_vector import READ, begun, chain, states, titled

ALT = (
    "Five states of the encoder over the letters of stone are joined to the context of step 2, one "
    "by a thick line, four by thin ones; the decoder, which begins with the last state, writes the "
    "t of notes from it."
)
WRITTEN, STEP = "notes", 2
_EXPS = [math.exp(4 if letter == WRITTEN[STEP] else 0) for letter in READ]
WEIGHTS = [e / sum(_EXPS) for e in _EXPS]


def look_back() -> Drawing:
    """One step of writing, with the weights of that step.

    Caption: Step 2 writes the t of notes. It scores all five states, and almost all of its weight
    goes to one. The next step will look somewhere else. The writer begins as in `one_vector`.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    h, read = states("h", READ, narrow, lit=range(len(READ)))
    q, written = states("q", WRITTEN, narrow, lit={STEP}, above=False)
    c = box(f"$c_{STEP}$ : their average", "o", 130, bold=True)
    first, written = begun(written, narrow)
    top, low = titled("the encoder reads", read), titled("the decoder writes", written, above=False)
    root = column(top, c, low, gap=40)
    looks = [
        faded(line(state, c, hue="p", width=1 + 5 * p), 1 if p > 0.5 else 0.6)
        for state, p in zip(h, WEIGHTS, strict=True)
    ]
    used = [arrow(c, q[STEP], hue="o", width=2.5, way="v")]
    return Scene(root, [*chain(h), *chain([first, *q]), *looks, *used])
