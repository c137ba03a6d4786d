"""Scores as an area, drawn to scale beside the queries and keys that they are made from."""

import math

from attention_src.figures.drawing import (
    NAME,
    THIN,
    Drawing,
    Part,
    Scene,
    bar,
    both,
    column,
    grid,
    label,
    note,
)
from attention_src.figures.drawing.look import FILL, element

ALT = (
    "A large square, the scores of 16,384 tokens, sticks out of a dashed one, which is 1 GiB. That "
    "of 4,096 tokens is a small corner; the queries are a strip as thin as a hair."
)
LONG, SHORT, WIDTH = 16384, 4096, 64  # tokens, tokens, numbers in a query
LIMIT = math.isqrt(2**30 // 8)  # so many scores of 8 bytes, squared, fill 1 GiB


def score_area() -> Drawing:
    """The tables of scores of two texts, and 1 GiB, in one scale.

    Caption: Drawn to scale, in float64. Four times the tokens make sixteen times the scores. The
    thin strip is all of Q.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    side = 256 if narrow else 320  # pixels for the longer text
    scale = side / LONG  # pixels for a token
    limit, short = LIMIT * scale, SHORT * scale
    table = Part(side, side, [], [(0, 0, bar(side, "ink", side, 0.15)), (0, 0, _rim(limit))])
    table.inside.append((0, 0, bar(short, "ink", short)))
    for said, corner, colour in (
        (f"{LONG:,} tokens\n{_bytes(LONG, LONG)}", side, "ink"),
        ("1 GiB", limit, "ink"),
        (f"{SHORT:,}\n{_bytes(SHORT, SHORT)}", short, "paper"),
    ):
        words = note(said, colour, align="end")
        table.inside.append((corner - words.w - 7, corner - words.h - 6, words))
    queries = note(f"each {WIDTH} wide:\n{_bytes(LONG, WIDTH)}", align="start")
    q = label("$Q$", NAME, "q")
    lines: list[list[Part | None]] = [
        [None, None, label("$K^⊤$", NAME, "k")],
        [None, None, bar(side, "k", WIDTH * scale)],
        [q if narrow else column(q, queries, gap=4), bar(WIDTH * scale, "q", side), table],
    ]
    return Scene(grid(lines, (7, 7)))


def _rim(side: float) -> Part:
    """A dashed square."""
    square = element(
        "rect",
        width=side,
        height=side,
        fill="none",
        stroke=FILL["ink"],
        stroke_width=THIN,
        stroke_dasharray="3 2",
    )
    return Part(side, side, [square])


def _bytes(rows: int, cols: int) -> str:
    """How much a table takes, in float64."""
    mib = 8 * rows * cols // 2**20
    return f"{mib // 1024} GiB" if mib >= 1024 else f"{mib} MiB"
