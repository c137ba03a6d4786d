"""Queries as rows, keys as columns, and their scores where the two meet."""

from attention_src.figures.drawing import (
    NAME,
    Drawing,
    Part,
    Scene,
    band,
    both,
    cells,
    column,
    grid,
    label,
    note,
    row,
    stand,
    tensor,
)

Q = [[2, 0], [1, 2], [0, 1]]
K = [[1, 0], [0, 2], [2, 2], [3, 1]]
AT = (1, 3)  # the query and the key whose score is told
S = [[sum(a * b for a, b in zip(q, k, strict=True)) for k in K] for q in Q]
ALT = (
    "Queries lie as rows, keys stand as columns. Where the row (1, 2) and the column (3, 1) meet, "
    "the table holds their dot product, 5."
)


def score_table() -> Drawing:
    """Three queries, four keys, and the table of their scores.

    Caption: Each query is a row of Q, each key a column of Kᵀ. Where a row and a column meet, S
    holds the dot product of the two: 1 · 3 + 2 · 1 = 5.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    size = 30 if narrow else 36
    i, j = AT
    q = tensor("$Q$", _numbers(Q, "q", size, lambda a, _: a == i), "$n_q × d_k$", "q")
    turned = [list(each) for each in zip(*K, strict=True)]
    name = row(label("$K^⊤$", NAME, "k"), note("$d_k × n_k$"), gap=20)
    k = tensor(name, _numbers(turned, "k", size, lambda _, b: b == j), gap=4)
    s = tensor("", _numbers(S, "ink", size, lambda a, b: (a, b) == (i, j)), "$S = QK^⊤$")
    said = column(label("1 · 3 + 2 · 1 = 5", bold=True), note("one row, one column"), gap=4)
    root = grid([[None, stand(k)], [q, s]], (28 if narrow else 44, 10))
    whole = column(root, said, gap=14) if narrow else row(root, said, gap=40)
    return Scene(whole, [], [band(q.row(i), s.row(i))])


def _numbers(table: list[list[int]], hue: str, size: float, lit) -> Part:
    """A table of numbers, strong where `lit` is true."""
    return cells(
        len(table),
        len(table[0]),
        hue,
        size,
        shade=lambda a, b: 0.9 if lit(a, b) else 0.2,
        text=lambda a, b: str(table[a][b]),
    )
