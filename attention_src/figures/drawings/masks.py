"""Six rules of who may look at whom, as tables of eight queries and eight keys."""

from collections.abc import Callable

from attention_src.figures.drawing import (
    BODY,
    Drawing,
    Part,
    Scene,
    both,
    cells,
    column,
    grid,
    label,
    note,
    row,
)

ALT = (
    "Six tables of eight queries and eight keys. Padding hides columns, causal and window end at "
    "the diagonal, prefix opens a block, packed documents leave three triangles."
)
N = 8
DOCUMENT = (0, 0, 0, 1, 1, 1, 2, 2)
Rule = Callable[[int, int], bool]
# Whether query i may look at key j; and what is said below the table.
RULES: dict[str, tuple[Rule, str]] = {
    "all": (lambda i, j: True, "nothing is hidden"),
    "padding": (lambda i, j: j < 5, "three are filler"),
    "causal": (lambda i, j: j <= i, "nobody looks ahead"),
    "prefix": (lambda i, j: j <= i or j < 3, "three are open to all"),
    "window of 3": (lambda i, j: i - 3 < j <= i, "not too far back"),
    "packed": (lambda i, j: j <= i and DOCUMENT[i] == DOCUMENT[j], "three texts in a row"),
}


def masks() -> Drawing:
    """Six masks, visible cells dark.

    Caption: A row is a query, a column is a key, and what may be looked at is dark.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    size, across = (15, 2) if narrow else (17, 3)
    tables = [_table(name, size) for name in RULES]
    lines = [tables[k : k + across] for k in range(0, len(tables), across)]
    body = grid(lines, (30 if narrow else 56, 18))
    legend = row(label("query ↓", BODY, "q"), label("key →", BODY, "k"), gap=14)
    return Scene(column(legend, body, gap=12, align="left"))


def _table(name: str, size: float) -> Part:
    rule, said = RULES[name]
    table = cells(N, N, "p", size, shade=lambda i, j: 0.9 if rule(i, j) else 0.1)
    return column(label(name, bold=True), table, note(said), gap=5)
