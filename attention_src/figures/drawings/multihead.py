"""A layer of heads: project, attend, join, mix."""

import math

from attention_src.figures.drawing import (
    LIT,
    PALE,
    Drawing,
    Part,
    Scene,
    arrow,
    bar,
    both,
    cells,
    column,
    frame,
    label,
    note,
    op,
    row,
    tensor,
)
from attention_src.figures.drawing.sentence import BANK, TOKENS, WEIGHTS

ALT = (
    "Five tokens are projected for two heads. “bank” attends to “river” in one and to "
    "“steep” in the other; each meets its own rows of the last matrix, which mixes them."
)
N, WIDTH, HEADS = len(TOKENS), 3, 2  # WIDTH: numbers of a token in each head
_SCORES = (0, 0, 1, 1, 3)  # of the query of "bank" in head 1
_EXPS = [math.exp(score) for score in _SCORES]
LOOKS = (WEIGHTS, [e / sum(_EXPS) for e in _EXPS])  # each head's weights for "bank"
FOUND = [looks.index(max(looks)) for looks in LOOKS]  # the token that each head finds
SMALL = 11.2  # the names' type, in pixels: as high as the rows
SECOND = 0.5  # the strength of what head 1 found, beside that of head 0


def multihead() -> Drawing:
    """A layer of two heads, with the row of one token lit all the way.

    Caption: Follow "bank". Its whole row is projected for each head, so it asks twice; each
    head finds another token.
    Side by side, both findings reach the last matrix, whose upper rows are head 0's, and which
    mixes them into one vector.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    size, wide = 14 if narrow else 12, HEADS * WIDTH
    x, y = (_table(f"${name}$", "ink", wide, size, f"{N} × {wide}") for name in "XY")
    joined = _table(note("join"), "o", wide, size)
    w_o = _mixer(wide, size)
    heads = [_head(h, size, narrow) for h in range(HEADS)]
    frames = [parts[0] for parts in heads]
    if narrow:
        last = row(joined, op("·"), w_o, gap=8)
        root = column(_named(x, size), row(*frames, gap=12, align="top"), last, y, gap=46)
    else:
        asked = row(_named(x, size), column(*frames, gap=16), gap=48)
        last = column(joined, w_o, gap=18)
        root = row(asked, last, y, gap=31)
    way = "v" if narrow else ""
    joins = [arrow(joined, y, "mix")]
    for h, (whole, asks, p, o) in enumerate(heads):
        joins += [
            arrow(x, whole, "project" if h == narrow else "", way=way),
            arrow(asks, p, "attend" if h == narrow else "", way=way),
            arrow(p, o, way=way),
            arrow(o, joined, way=way),
        ]
    return Scene(root, joins)


def _table(
    name: str | Part,
    hue: str,
    width: int,
    size: float,
    shape: str = "",
    lit: int = BANK,
    start: int = 0,
) -> Part:
    """The numbers of all tokens, those of one of them lit; `start`: its place in what is joined."""

    def shade(i: int, j: int) -> float:
        return PALE if i != lit else SECOND if hue == "o" and start + j >= WIDTH else LIT

    return tensor(name, cells(N, width, hue, size, shade=shade), shape, hue)


def _mixer(width: int, size: float) -> Part:
    """The last matrix: rows of head 0, then rows of head 1, each as strong as what they meet."""
    blocks = [bar(width * size - 2, "o", WIDTH * size - 2, strength) for strength in (LIT, SECOND)]
    return tensor("$W_O$", column(*blocks, gap=2), "", "o")


def _named(x: Part, size: float) -> Part:
    """Each token's name beside its row; the followed one stands out."""
    said = [
        label(token, SMALL, "ink" if i == BANK else "soft", bold=i == BANK, align="end")
        for i, token in enumerate(TOKENS)
    ]
    names = column(*said, gap=size - said[0].h, align="right")  # a line for each row
    return row(names, x, gap=6)


def _head(h: int, size: float, narrow: bool) -> tuple[Part, Part, Part, Part]:
    """A head in its frame, and in it what asks, the weights, and the output."""
    q = _table("$Q$", "q", WIDTH, size)
    k, v = (_table(f"${name.upper()}$", name, WIDTH, size, lit=FOUND[h]) for name in "kv")
    square = cells(N, N, "p", size, shade=lambda i, j: LOOKS[h][j] if i == BANK else PALE)
    p = tensor("$P$", square, hue="p")
    shape = "" if narrow else f"{N} × {WIDTH}"
    o = _table("$O$", "o", WIDTH, size, shape, start=h * WIDTH)
    three = row(q, k, v, gap=7 if narrow else 5)
    inner = column(three, p, o, gap=34) if narrow else row(row(three, p, gap=50), o, gap=22)
    title = ("\n" if narrow else " ").join((f"head {h}", f"finds “{TOKENS[FOUND[h]]}”"))
    return frame(inner, title, gap=10), k if narrow else v, p, o
