"""From the words to one output: the query of one token, all keys, the weights, all values."""

from collections.abc import Sequence

from attention_src.figures.drawing import (
    NAME,
    Drawing,
    Part,
    Scene,
    arrow,
    bar,
    both,
    cells,
    column,
    label,
    line,
    note,
    op,
    row,
    space,
    stand,
    tensor,
)
from attention_src.figures.drawing.sentence import (
    BANK,
    OUTPUT,
    SCALED,
    SCORES,
    TOKENS,
    WEIGHTS,
    K,
    Q,
    V,
)

ALT = (
    "The query of “bank” is compared with the key of every word; the scores become weights, and "
    "the values, each times its weight, add up to the output. “river” has the largest weight."
)
X = ((2, 0, 1, 1), (1, 2, 0, 2), (0, 1, 2, 1), (1, 1, 0, 0), (2, 1, 1, 0))  # some vectors
LARGEST = 2  # of the numbers in a vector
PITCH = 34  # pixels from one token to the next


def spine() -> Drawing:
    """One query, all the way through.

    Caption: Every word has a vector, and from it a query, a key and a value. Follow "bank": its
    query is compared with every key, and the longest bar says whose value it takes most of.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    size, n = (10 if narrow else 11), len(TOKENS)
    x, k, v = _vectors(X, "ink", size), _vectors(K, "k", size), _vectors(V, "v", size)
    q, o = _vectors([Q], "q", size), _vectors([OUTPUT], "o", size)
    taken = _vectors(V, "v", size, WEIGHTS)
    x_, k_, v_ = _under("$x$", "vectors", x), _under("$k$", "keys", k), _under("$v$", "values", v)
    q_ = _under("$q$", "query", q)
    scores = _under("$q · k$", "scores", _words([f"{s}" for s in SCORES]))
    scaled = _under("$÷ √d_k$", "scaled", _words([f"{s:.1f}" for s in SCALED]))
    weights = _under("softmax", "weights $p$", _bars(44 if narrow else 50))
    weighted, output = _under("$p · v$", "weighted", taken), _under("$o$", "output", o)
    joins = [arrow(x.row(BANK), q, hue="q", gap=3)]
    joins += [line(q, k.row(i), "q", 1, 3, way="h") for i in range(n)]
    if narrow:
        above = row(_tokens(), x_, space(), q_, space(8), k_, v_, gap=12)
        rule = bar(weighted.w, "ink", 1.5)
        summed = stand(column(weighted, rule, tensor("", o, "output $o$"), gap=8), weighted.axis)
        below = row(_tokens(), scores, scaled, weights, summed, gap=12)
        root = column(above, below, gap=40, align="left")
        joins += [arrow(k_, scores, way="v"), arrow(v_, weighted, way="v")]
        return Scene(root, joins)
    total = op("+")
    asked = row(_tokens(), x_, space(), q_, space(12), k_, gap=10)
    table = row(asked, scores, scaled, weights, v_, weighted, gap=10)
    joins += [line(taken.row(i), total, "v", 1, 3, way="h") for i in range(n)]
    return Scene(row(table, total, output, gap=26), [*joins, arrow(total, o)])


def _under(name: str, said: str, body: Part) -> Part:
    """A column of the table: its name and what that means, above what is in it."""
    hue = "p" if name == "softmax" else name[1] if name[1:-1] in tuple("qkvo") else "ink"
    room = PITCH / 2 if body.h < PITCH else len(TOKENS) * PITCH / 2  # from the head to the middle
    return tensor(column(label(name, NAME, hue), note(said), gap=1), body, gap=room - body.axis)


def _words(said: Sequence[str]) -> Part:
    return column(*map(label, said), gap=0, pitch=PITCH)


def _tokens() -> Part:
    said = (label(t, bold=i == BANK, align="end") for i, t in enumerate(TOKENS))
    return column(*said, gap=0, pitch=PITCH, align="right")


def _vectors(
    rows: Sequence[Sequence[float]], hue: str, size: float, weights: Sequence[float] = ()
) -> Part:
    """Rows of cells, as strong as the numbers, or as the numbers times each row's weight."""

    def shade(i: int, j: int) -> float:
        return rows[i][j] / LARGEST * (weights[i] if weights else 1)

    return cells(len(rows), len(rows[0]), hue, size, shade=shade, pitch=PITCH)


def _bars(most: float) -> Part:
    """The weights as bars, and as numbers."""
    lines = (
        row(bar(most * p / max(WEIGHTS)), label(f"{p:.2f}", colour="p"), gap=6) for p in WEIGHTS
    )
    return column(*lines, gap=0, pitch=PITCH, align="left")
