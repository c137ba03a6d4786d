"""Scores as an area, drawn to scale beside the queries and keys that they are made from."""

import math

from attention_src.figures.drawing import (
    NAME,
    Drawing,
    Part,
    Scene,
    bar,
    both,
    cells,
    grid,
    label,
    note,
    row,
)

ALT = (
    "A large square, the scores of 16,384 tokens, sticks out of a dashed one, which is 1 GiB. That "
    "of 4,096 tokens is a small corner; the queries are a strip as thin as a hair."
)
SIDE = 256  # pixels for the longer text
LONG, SHORT, WIDTH = 16384, 4096, 64  # tokens, tokens, numbers in a query
SCALE = SIDE / LONG  # pixels for a token
LIMIT = math.isqrt(2**30 // 8)  # so many scores of 8 bytes, squared, fill 1 GiB


def score_area() -> Drawing:
    """The tables of scores of two texts, and 1 GiB, in one scale.

    Caption: Drawn to scale. Four times the tokens make sixteen times the scores. The thin strip is
    all of Q.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    limit, short = LIMIT * SCALE, SHORT * SCALE
    rim = cells(1, 1, "ink", limit, shade=lambda i, j: "ghost")
    table = Part(SIDE, SIDE, [], [(0, 0, bar(SIDE, "p", SIDE, 0.3)), (0, 0, rim)])
    table.inside.append((0, 0, bar(short, "p", short)))
    for said, corner, colour in (
        (f"{LONG:,} tokens\n{_bytes(LONG)}", SIDE, "ink"),
        ("1 GiB", limit, "ink"),
        (f"{SHORT:,}\n{_bytes(SHORT)}", short, "paper"),
    ):
        words = note(said, colour, align="end")
        table.inside.append((corner - words.w - 7, corner - words.h - 6, words))
    k = row(label("$K^⊤$", NAME, "k"), gap=0)
    lines = [
        [None, None, k],
        [None, None, bar(SIDE, "k", WIDTH * SCALE)],
        [label("$Q$", NAME, "q"), bar(WIDTH * SCALE, "q", SIDE), table],
    ]
    return Scene(grid(lines, (7, 7)))


def _bytes(tokens: int) -> str:
    """How much the scores of so many tokens take, in float64."""
    mib = 8 * tokens**2 // 2**20
    return f"{mib // 1024} GiB" if mib >= 1024 else f"{mib} MiB"
