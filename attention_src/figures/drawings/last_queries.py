"""Two new queries and seven keys: the queries are the last two positions."""

from attention_src.figures.drawing import (
    BODY,
    Drawing,
    Part,
    Scene,
    both,
    cells,
    column,
    label,
    note,
    row,
)

ALT = (
    "Two queries and seven keys. As the last two positions they see keys 0 to 5 and 0 to 6. "
    "Counted from the first key they see key 0 alone, and keys 0 and 1."
)
N_Q, N_K = 2, 7


def last_queries() -> Drawing:
    """Two causal masks for two queries and seven keys, aligned at the end and at the start.

    Caption: Five tokens have been read and two are new.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    right = _table("j ≤ i + 5", "as the last two positions", N_K - N_Q)
    wrong = _table("j ≤ i", "counted from the first key", 0)
    if narrow:
        return Scene(column(right, wrong, gap=22))
    return Scene(row(right, wrong, gap=64))


def _table(rule: str, said: str, offset: int) -> Part:
    size = 30
    keys = cells(1, N_K, "k", size, shade=lambda i, j: 0.1, text=lambda i, j: str(j))
    table = cells(N_Q, N_K, "p", size, shade=lambda i, j: 0.9 if j <= i + offset else 0.1)
    queries = column(*(label(f"query {i}", BODY, "q") for i in range(N_Q)), gap=0, pitch=size)
    body = row(queries, table, gap=8)
    top = row(label("key", BODY, "k"), keys, gap=8)
    both_rows = column(top, body, gap=4, align="right")
    return column(label(said, bold=True), both_rows, note(rule), gap=7)
