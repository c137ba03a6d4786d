"""The equation as rectangles, with one row lit all the way through."""

from attention_src.figures.drawing import (
    NAME,
    Drawing,
    Part,
    Scene,
    arrow,
    band,
    both,
    cells,
    column,
    grid,
    label,
    lean,
    named,
    note,
    row,
    stand,
    tensor,
)
from attention_src.figures.drawing.sentence import BANK, SCALED, TOKENS, WEIGHTS

ALT = (
    "One row of Q, the query of “bank”, gives one row of scores, one of weights and one of O. No "
    "other row of Q is needed for it. The rows of V are as strong as their weights, and that of "
    "“river” is the strongest."
)
RIVER = TOKENS.index("river")  # the key that "bank" finds
D_K, D_V = 3, 2  # numbers in a key, and in a value, as drawn


def equation() -> Drawing:
    """Five rectangles and the scores between them, the row of "bank" lit.

    Caption: One query, one row. Follow "bank" from Q to O: its largest score is with "river", and
    no other row of Q is needed.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    n, size = len(TOKENS), 18 if narrow else 22
    names = _beside_rows(BANK, size)
    heads = column(_above("$K^⊤$", "$d_k × n$", "k"), _over_columns(size), gap=2)
    q = tensor("$Q$", cells(n, D_K, "q", size, lit=BANK), "$n × d_k$", "q")
    k = tensor(heads, cells(D_K, n, "k", size, shade=_whole), gap=2)
    s = tensor("$S = QK^⊤ / √d_k$", _one_row(SCALED, "ink", size), "$n × n$")
    p = tensor("$P$", _one_row(WEIGHTS, "p", size), "$n × n$", "p")
    v = tensor(_above("$V$", "$n × d_v$", "v"), _values(size))
    o = tensor("$O$", cells(n, D_V, "o", size, lit=BANK), "$n × d_v$", "o")
    for part, name in ((q, "q"), (k, "k"), (s, "s"), (p, "p"), (v, "v"), (o, "o")):
        named(part, name)
    asked = row(names, q, gap=8)
    asked.body = q.body
    stripes = [band(q.row(BANK), s.row(BANK)), band(p.row(BANK), o.row(BANK))]
    if narrow:
        lines = [[None, stand(k), None], [asked, s, None], [None, None, stand(v)]]
        root = grid([*lines, [None, p, o]], gap=(13, 6))
        return Scene(root, [arrow(s, p, "softmax")], stripes)
    root = grid([[None, stand(k), None, stand(v)], [asked, s, p, o]], (76, 6))
    steps = [
        arrow(s.row(BANK), p.row(BANK), "softmax", gap=8, lift=12),
        arrow(p.row(BANK), o.row(BANK), "× $V$", gap=8, lift=12),
    ]
    return Scene(root, steps, [band(q.row(BANK), o.row(BANK))])


def _values(size: float) -> Part:
    """A row for each word, as strong as its weight."""
    values = cells(len(TOKENS), D_V, "v", size, shade=lambda i, j: WEIGHTS[i] / max(WEIGHTS))
    part = row(_beside_rows(RIVER, size), values, gap=8)
    part.body = values
    return lean(part, part.w - values.w / 2)


def _beside_rows(told: int, size: float) -> Part:
    """A word for each row, one of them bold."""
    return column(*(_name(i, told) for i in range(len(TOKENS))), gap=0, pitch=size, align="right")


def _name(i: int, told: int, align: str = "end") -> Part:
    return note(TOKENS[i], "ink" if i == told else "soft", bold=i == told, align=align)


def _over_columns(size: float) -> Part:
    """A word over each column, in two lines by turns, because words are wider than columns."""
    names = [_name(j, RIVER, "middle") for j in range(len(TOKENS))]
    places = [((j + 0.5) * size - p.w / 2, 12.0 * (1 - j % 2), p) for j, p in enumerate(names)]
    return Part(len(names) * size, 12.0 + names[0].h, inside=places)


def _above(name: str, shape: str, hue: str) -> Part:
    """A name with its shape beside it: below stands the next rectangle."""
    return row(label(name, NAME, hue), note(shape), gap=8)


def _whole(i: int, j: int) -> float:
    """All of it is needed, but the row is to be seen first."""
    return 0.6


def _one_row(numbers: list[float], hue: str, size: float) -> Part:
    """A square of numbers, of which one row is known, as strong as its numbers."""
    n, most = len(numbers), max(numbers)
    return cells(n, n, hue, size, shade=lambda i, j: numbers[j] / most if i == BANK else 0.1)
