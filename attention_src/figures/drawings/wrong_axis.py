"""A mask with a row for each of three sentences, used as it is and with its axes written out."""

from collections.abc import Callable

from attention_src.figures.drawing import (
    Drawing,
    Part,
    Scene,
    both,
    cells,
    column,
    grid,
    label,
    note,
)

ALT = (
    "Scores of three sentences of 3, 2 and 1 tokens. A mask with two axes has its rows taken for "
    "queries, in every sentence; with four, each sentence loses the columns of its padding."
)
LENGTHS = (3, 2, 1)
N = 3
See = Callable[[int, int, int], bool]


def as_it_is(b: int, i: int, j: int) -> bool:
    """Whether sentence b shows key j to query i if the mask's rows are taken for queries.

    Args:
        b: the sentence
        i: the query
        j: the key
    Returns: whether it may look
    """
    return j < LENGTHS[i]


def written_out(b: int, i: int, j: int) -> bool:
    """Whether sentence b shows key j to query i if the mask's rows are sentences.

    Args:
        b: the sentence
        i: the query
        j: the key
    Returns: whether it may look
    """
    return j < LENGTHS[b]


def wrong_axis() -> Drawing:
    """What three sentences may look at, under one mask in two shapes.

    Caption: Crosses mark what is shown or hidden wrongly.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    size = 26 if narrow else 28
    flat, full = (
        [_table(see, b, size) for b in range(len(LENGTHS))] for see in (as_it_is, written_out)
    )
    one, two = "mask (B, n_k)", "mask (B, 1, 1, n_k)"
    if narrow:
        return Scene(column(_lines(one, flat), _lines(two, full), gap=20))
    said = {one: "its rows become queries", two: "its rows are sentences"}
    names = [
        column(label(name, bold=True), note(words), gap=3, align="left")
        for name, words in said.items()
    ]
    return Scene(grid([[None, *_heads()], [names[0], *flat], [names[1], *full]], (34, 14)))


def _heads() -> list[Part]:
    return [note(f"{length} token{'s' * (length > 1)}") for length in LENGTHS]


def _lines(name: str, tables: list[Part]) -> Part:
    return column(label(name, bold=True), grid([_heads(), tables], (18, 5)), gap=6)


def _table(see: See, b: int, size: float) -> Part:
    def text(i: int, j: int) -> str:
        return "" if see(b, i, j) == written_out(b, i, j) else "×"

    return cells(N, N, "p", size, shade=lambda i, j: 0.6 if see(b, i, j) else 0.1, text=text)
