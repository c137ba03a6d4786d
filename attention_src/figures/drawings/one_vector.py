"""Encoder and decoder: five states, of which the last alone is handed on."""

from collections.abc import Collection
from itertools import pairwise

from attention_src.figures.drawing import (
    Drawing,
    Join,
    Part,
    Scene,
    arrow,
    both,
    box,
    column,
    faded,
    label,
    note,
    row,
)

ALT = (
    "Five states of the encoder in a chain over the letters of stone. An arrow leads from the last "
    "one alone to the context, and from there to all five states of the decoder, which begins with "
    "the same state."
)
READ = WRITTEN = "stone"


def one_vector() -> Drawing:
    """A word runs into one vector, and is written from it.

    Caption: The encoder has a state after each letter, and only the last is handed on: the writer
    begins with it, and sees it at each step. All that is written has to come from there.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    h, read = states("h", READ, narrow, lit={len(READ) - 1})
    q, written = states("q", WRITTEN, narrow, lit=range(len(WRITTEN)), above=False)
    c = box("$c$ : 52 numbers", "k", 130, bold=True)
    first, written = begun(written, narrow)
    top, low = titled("the encoder reads", read), titled("the decoder writes", written, above=False)
    root = column(top, c, low, gap=40)
    given = [arrow(h[-1], c, hue="k", width=2.5, way="v")]
    used = [faded(arrow(c, each, hue="k", way="v"), 0.6) for each in q]
    return Scene(root, [*chain(h), *chain([first, *q]), *given, *used])


def states(
    name: str, word: str, narrow: bool, lit: Collection[int], above: bool = True
) -> tuple[list[Part], Part]:
    """A row of states, each beside its letter.

    Args:
        name: "h" or "q"
        word: its letters stand above the states, or below
        narrow: for a phone
        lit: places that have the colour; the others are grey
        above: whether the letters stand above
    Returns:
        states: a box each
        all: the row
    """
    hue = {"h": "k", "q": "q"}[name]
    wide = 40 if narrow else 56
    boxes, columns = [], []
    for i, letter in enumerate(word):
        on = i in lit
        boxes.append(box(f"${name}_{i}$", hue if on else "ink", wide))
        said = label(letter, bold=True)
        columns.append(column(*([said, boxes[-1]] if above else [boxes[-1], said]), gap=5))
    return boxes, row(*columns, gap=18 if narrow else 34, align="top")


def begun(written: Part, narrow: bool) -> tuple[Part, Part]:
    """The writer's row behind the state that it begins with, the reader's last.

    Args:
        written: the row
        narrow: for a phone
    Returns:
        first: a box
        all: the row, with it
    """
    first = box(f"$h_{len(READ) - 1}$", "k", 32 if narrow else 56)
    return first, row(first, written, gap=18 if narrow else 34, align="top")


def titled(words: str, part: Part, above: bool = True) -> Part:
    """A part with a note above or below it.

    Args:
        words: the note
        part: what it is about
        above: where it stands
    Returns: both
    """
    said = note(words)
    return column(*([said, part] if above else [part, said]), gap=6)


def chain(boxes: list[Part]) -> list[Join]:
    """Arrows from each state to the next.

    Args:
        boxes: the states
    Returns: joins
    """
    return [arrow(a, b, gap=3) for a, b in pairwise(boxes)]
