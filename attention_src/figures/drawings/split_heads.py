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
    label,
    lean,
    note,
    path,
    row,
    space,
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
    n, size = len(TOKENS), 13 if narrow else 14
    whole = _table(n, D, size, lambda i, j: i * D + j)
    x = tensor("", row(_names(range(n), size), whole, gap=6), f"{n} × {D}")
    halves = (_table(n, WIDTH, size, partial(_split_place, h)) for h in range(HEADS))
    split = tensor("", row(*halves, gap=12), f"{n} × {HEADS} × {WIDTH}")
    right, wrong = label("right", bold=True), label("wrong", bold=True)
    good, bad = _heads(right, size, _split_place), _heads(wrong, size, _reshaped_place)
    said, roof = note("reshape at once"), space()
    joins = [arrow(x, split, "split"), arrow(split, right if narrow else good, "transpose")]
    if narrow:
        steps = column(x, split, gap=36)
        above = row(steps, said, gap=54)
        root = column(above, row(good, bad, gap=24, align="top"), gap=40, align="left")
        return Scene(root, [*joins, path((x, "right"), (wrong, x), (wrong, "top"))])
    root = row(row(x, split, gap=56), row(good, bad, gap=44), gap=84)
    around = path((x, "top"), (x, roof), (wrong, roof), (wrong, "top"))
    return Scene(column(said, roof, space(h=6), root, gap=6), [*joins, around])


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


def _heads(title: Part, size: float, place: Callable[[int, int, int], int]) -> Part:
    """The heads below each other, as they lie in memory."""
    n, parts = len(TOKENS), []
    for h in range(HEADS):
        table = _table(n, WIDTH, size, partial(place, h))
        whose = _names([place(h, i, 0) // D for i in range(n)], size)
        head = row(whose, tensor(note(f"head {h}"), table, gap=2), gap=6)
        parts.append(lean(head, whose.w + 6 + table.w / 2))
    shape = note(f"{HEADS} × {n} × {WIDTH}")
    return column(title, *parts, shape, gap=8)
