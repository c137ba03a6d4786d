"""A vocabulary for the course's drawings: small SVGs of the same bytes everywhere.

    q = tensor("$Q$", cells(5, 3, "q", lit=2), "$n × d_k$", "q")
    s = tensor("$S$", cells(5, 5, lit=2), "$n × n$")
    Scene(row(q, s, gap=60), [arrow(q, s)], [band(q.row(2), s.row(2))])

A drawing is said from the inside out: parts (words, things) are set in rows, columns and grids, and
joins name the parts that they join. Nobody types a coordinate. The drawings of the chapters are in
attention_src/figures/drawings/. Python's standard library alone.

Rules:

1. One thing is lit: full colour for what the caption says, pale for the rest, grey for what is not
   the subject. What is seen in two seconds, and is that the point?
2. A colour is a role: q, k, v, weights p, output o. Grey is vectors, scores, machines.
3. A strength is a number, in steps of 0.1. Where cells have numbers, the code computes them.
4. Present is solid, kept is pale, room is outlined ("empty"), gone is dashed ("ghost").
5. Three sizes of type; nothing below 11.2 pixels. Bold is for titles and the one word that matters.
6. Strokes: 1.5 arrows and boxes, 1 frames and connections, 2.5 what is lit.
7. Time and data run left to right, on a phone down. What belongs to a token stays on its line.
8. At most 680 pixels wide, narrow at most 340, each less than 13 KiB.
9. Words beside things, not a legend; a dozen that are not names. The caption says what to look at;
   the alt text says the point.
"""

from attention_src.figures.drawing.joins import Join, arrow, band, brace, faded, line
from attention_src.figures.drawing.look import BODY, LIT, NAME, NOTE, PALE, STROKE, THIN
from attention_src.figures.drawing.parts import (
    Part,
    column,
    dim,
    grid,
    lean,
    named,
    over,
    row,
    space,
    stand,
)
from attention_src.figures.drawing.sheet import Drawing, Scene, both, svg
from attention_src.figures.drawing.things import bar, box, cells, frame, op, stack, tensor
from attention_src.figures.drawing.words import label, note

__all__ = [
    "BODY",
    "LIT",
    "NAME",
    "NOTE",
    "PALE",
    "STROKE",
    "THIN",
    "Drawing",
    "Join",
    "Part",
    "Scene",
    "arrow",
    "band",
    "bar",
    "both",
    "box",
    "brace",
    "cells",
    "column",
    "dim",
    "faded",
    "frame",
    "grid",
    "label",
    "lean",
    "line",
    "named",
    "note",
    "op",
    "over",
    "row",
    "space",
    "stack",
    "stand",
    "svg",
    "tensor",
]
