"""The arrays of the equation as neighbours: each size is an edge that two of them share."""

from attention_src.figures.drawing import (
    NAME,
    Drawing,
    Part,
    Scene,
    both,
    cells,
    column,
    grid,
    label,
    line,
    note,
    stand,
)

ALT = (
    "Q above K, both four wide; V beside K, both five high; the output beside Q, both three high, "
    "and above V, both two wide."
)
N_Q, N_K, D_K, D_V = 3, 5, 4, 2  # four different sizes, as drawn


def sizes() -> Drawing:
    """Queries, keys, values and output in a square, with each size between the two that share it.

    Caption: Four arrays, four sizes. A K one column wider would no longer fit below Q; with a row
    less, V would stand out.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    size = 18 if narrow else 22
    q, o = _above("$Q$", N_Q, D_K, "q", size), _above("$O$", N_Q, D_V, "o", size)
    k, v = _below("$K$", N_K, D_K, "k", size), _below("$V$", N_K, D_V, "v", size)
    n_q, n_k = _size("$n_q$", "queries"), _size("$n_k$", "keys")
    d_k, d_v = _size("$d_k$", "wide"), _size("$d_v$", "wide")
    root = grid([[q, n_q, o], [d_k, None, d_v], [k, n_k, v]], (22 if narrow else 34, 14))
    pairs = [(q, n_q), (n_q, o), (k, n_k), (n_k, v), (q, d_k), (d_k, k), (o, d_v), (d_v, v)]
    return Scene(root, [line(a, b, gap=4) for a, b in pairs])


def _size(letter: str, what: str) -> Part:
    return column(label(letter, NAME), note(what), gap=0)


def _above(name: str, rows: int, cols: int, hue: str, size: float) -> Part:
    """An array with its name above."""
    table = cells(rows, cols, hue, size, lit="all")
    part = column(label(name, NAME, hue), table, gap=6)
    return _lines_up(part, table)


def _below(name: str, rows: int, cols: int, hue: str, size: float) -> Part:
    """An array with its name below."""
    table = cells(rows, cols, hue, size, lit="all")
    part = column(table, label(name, NAME, hue), gap=6)
    return _lines_up(part, table, above=False)


def _lines_up(part: Part, table: Part, above: bool = True) -> Part:
    part.body = table
    return stand(part, part.h - table.h / 2 if above else table.h / 2)
