"""Split, then transpose; and the reshape that mixes tokens."""

from collections.abc import Callable
from functools import partial

from attention_src.figures.drawing import (
    LIT,
    PALE,
    Drawing,
    Part,
    Scene,
    arrow,
    both,
    cells,
    column,
    grid,
    label,
    note,
    path,
    row,
    tensor,
)
from attention_src.figures.drawing.sentence import TOKENS

ALT = (
    "Split and then transposed, each of two heads has one row of “river”. Reshaped at once, one "
    "head has both halves of “river” as two rows, and the other has none."
)
FOLLOWED = TOKENS.index("river")
HEADS, WIDTH = 2, 4  # heads, and numbers of a token in each
D = HEADS * WIDTH


def split_heads() -> Drawing:
    """One token's row through the split, and through the reshape that goes wrong.

    Caption: Follow "river". Split and transposed, each head has one row of it. Reshaped at once,
    the shape is the same, but head 0 holds two halves of "river" and head 1 has never seen it.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    n, size = len(TOKENS), 14
    whole = _table(n, D, size, lambda i, j: i * D + j)
    x = tensor("", row(_names(range(n), size), whole, gap=6), f"{n} × {D}")
    x.body = whole
    cut = row(*(_table(n, WIDTH, size, partial(_split_place, h)) for h in range(HEADS)), gap=12)
    split = tensor("", cut, f"{n} × {HEADS} × {WIDTH}")
    good = _heads("right", size, _split_place)
    bad = _heads("wrong", size, _reshaped_place)
    if narrow:
        top = column(x, split, gap=40)
        root = column(top, row(good, bad, gap=24, align="top"), gap=46)
        joins = [arrow(x, split, "split"), arrow(split, good, "transpose", way="v")]
        return Scene(root, [*joins, path((x, "right"), (bad, x), (bad, "top"))])
    root = row(grid([[x, split]], gap=(56, 0)), row(good, bad, gap=40), gap=84)
    joins = [arrow(x, split, "split"), arrow(split, good, "transpose")]
    return Scene(root, joins)


def _split_place(h: int, i: int, j: int) -> int:
    """Where number j of token i in head h stood: in the token's own row."""
    return i * D + h * WIDTH + j


def _reshaped_place(h: int, i: int, j: int) -> int:
    """Where it stood if the numbers are only counted through: head by head, row by row."""
    return (h * len(TOKENS) + i) * WIDTH + j


def _table(rows: int, cols: int, size: float, place: Callable[[int, int], int]) -> Part:
    """Numbers of Q; `place` says where each stood in memory. One token's are lit, half and half."""

    def shade(i: int, j: int) -> float:
        token, at = divmod(place(i, j), D)
        return PALE if token != FOLLOWED else LIT if at < WIDTH else 0.6

    return cells(rows, cols, "q", size, shade=shade)


def _names(tokens: range | list[int], size: float) -> Part:
    """Beside each row, whose it is."""
    said = (note(TOKENS[t], "ink" if t == FOLLOWED else "soft", align="end") for t in tokens)
    return column(*said, gap=0, pitch=size, align="right")


def _heads(title: str, size: float, place: Callable[[int, int, int], int]) -> Part:
    """The heads below each other, as they lie in memory."""
    n, parts = len(TOKENS), []
    for h in range(HEADS):
        table = _table(n, WIDTH, size, partial(place, h))
        whose = _names([place(h, i, 0) // D for i in range(n)], size)
        parts.append(row(whose, tensor(note(f"head {h}"), table, gap=2), gap=6))
    return column(label(title, bold=True), *parts, gap=8, align="right")
