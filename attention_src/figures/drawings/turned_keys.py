"""The keys of four texts, turned by their last two axes, and by all axes."""

from collections.abc import Callable

from attention_src.figures.drawing import (
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
    row,
    tensor,
)

ALT = (
    "Turned by the last two axes, the first text's keys are its own. Turned by all axes, each of "
    "their columns is from another text."
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
    texts = [tensor(note(f"text {t}"), _table(size, lambda i, j, t=t: t), gap=2) for t in range(N)]
    given = grid([texts[:2], texts[2:]], (14, 10))
    k = column(label("k", bold=True), given, gap=6)
    # k.swapaxes(-1, -2)[0][i, j] is k[0, j, i]; k.T[0][i, j] is k[j, i, 0]
    own = _result("k.swapaxes(−1, −2)[0]", "all from text 0", size, lambda i, j: 0)
    mixed = _result("k.T[0]", "a column from each text", size, lambda i, j: j)
    if narrow:
        results = row(own, mixed, gap=18)
        return Scene(column(k, results, gap=44), [arrow(k, own, way="v"), arrow(k, mixed, way="v")])
    return Scene(row(k, column(own, mixed, gap=22), gap=96), [arrow(k, own), arrow(k, mixed)])


def _table(size: float, text: Callable[[int, int], int]) -> Part:
    """Numbers of keys; each says which text it is from."""
    shade = lambda i, j: STRENGTHS[text(i, j)]  # noqa: E731
    return cells(N, N, "k", size, shade=shade, text=lambda i, j: str(text(i, j)))


def _result(code: str, said: str, size: float, text: Callable[[int, int], int]) -> Part:
    return tensor(label(code, bold=True), _table(size, text), said)
