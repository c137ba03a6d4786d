"""Whom a new token changes: nobody under a causal mask; without one, all old tokens."""

from xml.etree import ElementTree as ET

from attention_src.figures.drawing import (
    LIT,
    PALE,
    Drawing,
    Join,
    Part,
    Scene,
    arrow,
    both,
    cells,
    column,
    faded,
    grid,
    label,
    line,
    note,
    row,
    space,
)
from attention_src.figures.drawing.sentence import TOKENS

TEXT = (*TOKENS, "today")  # five old tokens and a new one
NEW = len(TEXT) - 1
ALT = (
    "Six tokens in two layers. Under a causal mask no arrow runs from the new token to an old one, "
    "and all old rows are kept; without a mask one runs to each, and their rows in layer 2 change."
)


def cache() -> Drawing:
    """Six tokens in two layers, with a causal mask and without one; the sixth has just come.

    Caption: Keys and values of six tokens in two layers, just after the sixth has come. Arrows run
    from a token that is looked at to the one that looks. Full colour has to be computed, pale is
    kept.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    panels, joins = [], []
    for causal, said in ((True, "causal mask"), (False, "no mask")):
        panel, lines = _panel(causal, said)
        panels.append(panel)
        joins += lines
    root = column(*panels, gap=26, align="left") if narrow else row(*panels, gap=44)
    return Scene(root, joins)


def _panel(causal: bool, said: str) -> tuple[Part, list[Join]]:
    """Both layers, and what of the first enters the second."""
    first, second = ([_pair(layer, i, causal) for i in range(len(TEXT))] for layer in (1, 2))
    lines: list[list[Part | None]] = [[None, note("layer 1"), space(72), note("layer 2"), None]]
    for i, word in enumerate(TEXT):
        name = label(word, bold=i == NEW, align="end")
        lines.append([name, first[i], None, second[i], _fate(i, causal)])
    table = grid(lines, gap=(10, 8))
    n = len(TEXT)
    old = [(j, i) for i in range(NEW) for j in range(i + 1 if causal else NEW)]
    looks = [(NEW, i) for i in range(NEW if causal else 0, n)]  # who looks at the new token
    joins = [
        faded(_lines(first, second, old), 0.3),
        _lines(first, second, [(j, NEW) for j in range(NEW)]),
        *(arrow(first[j], second[i], width=2, gap=3) for j, i in looks),
    ]
    return column(label(said, bold=True), table, gap=8), joins


def _lines(first: list[Part], second: list[Part], pairs: list[tuple[int, int]]) -> Join:
    """Lines from tokens of the first layer to tokens of the second, as one path: fewer bytes."""

    def marks() -> list[ET.Element]:
        each = [line(first[j], second[i], gap=3, way="h")()[0] for j, i in pairs]
        each[0].set("d", "".join(str(mark.get("d")) for mark in each))
        return each[:1]

    return marks


def _pair(layer: int, i: int, causal: bool) -> Part:
    """A token's key and value in a layer."""
    again = i == NEW or (layer == 2 and not causal)
    hues = ("k", "v")
    return cells(1, 2, lambda _, c: hues[c], 15, shade=lambda *_: LIT if again else PALE)


def _fate(i: int, causal: bool) -> Part:
    said = "new" if i == NEW else "kept" if causal else "changed"
    return note(said, "ink", bold=said != "kept", align="start")
