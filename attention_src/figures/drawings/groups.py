"""Who shares a spacing when keys are rounded: three ways to cut a table of tokens and channels."""

from collections.abc import Callable

from attention_src.figures.drawing import (
    BODY,
    LIT,
    PALE,
    Drawing,
    Part,
    Scene,
    both,
    cells,
    column,
    label,
    row,
)

ALT = (
    "Three copies of a table with a row for each token and a column for each channel. A group is a "
    "whole row, a quarter of a row, or as many cells of a column."
)
TOKENS, CHANNELS = 4, 16
QUARTER = range(4, 8)  # of the channels
CHANNEL = 5
SIZE = 12  # pixels of a cell


def groups() -> Drawing:
    """The same table three times, one group of each lit.

    Caption: A row is a token, a column a channel; the numbers in full colour share one spacing. The
    last two groups are of the same size.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    ways = (
        ("all numbers of a token", lambda i, j: i == 1),
        ("a quarter of them", lambda i, j: i == 1 and j in QUARTER),
        ("one channel of four tokens", lambda i, j: j == CHANNEL),
    )
    tables = [_table(said, lit) for said, lit in ways]
    return Scene(column(*tables, gap=18) if narrow else row(*tables, gap=20, align="top"))


def _table(said: str, lit: Callable[[int, int], bool]) -> Part:
    """The table under its title."""
    table = cells(
        TOKENS,
        CHANNELS,
        lambda i, j: "k" if lit(i, j) else "ink",
        SIZE,
        shade=lambda i, j: LIT if lit(i, j) else PALE,
    )
    return column(label(said, BODY, bold=True), table, gap=8)
