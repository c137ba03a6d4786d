"""The keys of four texts, turned by their last two axes, and by all axes."""

from collections.abc import Sequence

from attention_src.figures.drawing import (
    Drawing,
    Part,
    Scene,
    arrow,
    both,
    brace,
    cells,
    column,
    grid,
    label,
    note,
    row,
    tensor,
)

ALT = (
    "Turned by the last two axes, the first text's keys are its own. Turned by all axes, each "
    "column is from a different text."
)
N = 4  # texts, tokens of each, and numbers of a key
STRENGTHS = (1.0, 0.4, 0.2, 0.1)  # a text's colour


def turned_keys() -> Drawing:
    """What the first text meets as its keys: with swapaxes, and with .T.

    Caption: The keys that the first text meets. Turned by the last two axes, they are its own.
    Turned by all axes, they are one number from every key of every text, and the shape is the same.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    size = 16 if narrow else 18
    texts = [tensor(note(f"text {t}"), _table(size, [t] * N), gap=2) for t in range(N)]
    given = grid([texts[:2], texts[2:]], (14, 10))
    k = column(label("k", bold=True), given, gap=6)
    # k.swapaxes(-1, -2)[0][i, j] is k[0, j, i]; k.T[0][i, j] is k[j, i, 0]
    own = _result("k.swapaxes(−1, −2)[0]", "all from text 0", size, [0] * N)
    mixed = _result("k.T[0]", "a column of each text", size, range(N))
    if narrow:
        tip, side, way = given.spot(given.w / 2, given.h + 12, 0, 0), "bottom", "v"
        root = column(k, row(own, mixed, gap=6), gap=64)
    else:
        tip, side, way = given.spot(given.w + 12, given.h / 2, 0, 0), "right", ""
        root = row(k, column(own, mixed, gap=22), gap=96)
    both_from_all = [arrow(tip, own, way=way), arrow(tip, mixed, way=way)]
    return Scene(root, [brace(given, side=side), *both_from_all])


def _table(size: float, texts: Sequence[int]) -> Part:
    """Numbers of keys; each says which text it is from, the same in all of a column."""

    def shade(i: int, j: int) -> float:
        return STRENGTHS[texts[j]]

    return cells(N, N, "k", size, shade=shade, text=lambda i, j: str(texts[j]))


def _result(code: str, said: str, size: float, texts: Sequence[int]) -> Part:
    return tensor(label(code, bold=True), _table(size, texts), said)
