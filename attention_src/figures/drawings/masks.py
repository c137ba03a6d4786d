"""Who may look at whom: six rules, two new queries among seven keys, a mask on the wrong axis."""

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

ALT = {
    "rules": "Six tables of eight queries and eight keys. Padding hides columns, causal and window "
    "end at the diagonal, prefix opens a block, packed documents leave three triangles.",
    "last": "Two queries and seven keys. As the last two positions they see keys 0 to 5 and 0 to "
    "6. Counted from the first key they see key 0 alone, and keys 0 and 1.",
    "axis": "Scores of three sentences of 3, 2 and 1 tokens. A mask with two axes has its rows "
    "taken for queries, in every sentence; with four, each loses the columns of its padding.",
}
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
N_Q, N_K = 2, 7
LENGTHS = (3, 2, 1)
# Whether sentence b shows key j to query i: the mask's rows taken for queries, and for sentences.
AXES: dict[str, tuple[Callable[[int, int, int], bool], str]] = {
    "mask (B, n_k)": (lambda b, i, j: j < LENGTHS[i], "its rows become queries"),
    "mask (B, 1, 1, n_k)": (lambda b, i, j: j < LENGTHS[b], "its rows are sentences"),
}


def masks(show: str = "rules") -> Drawing:
    """Masks, visible cells strong.

    Caption: A row is a query, a column is a key, and a strong cell may be looked at.

    Args:
        show: "rules", six of them; "last", two new queries and seven keys; or "axis", one mask in
            two shapes, and what three sentences then see
    Returns: the drawing
    Raises:
        ValueError: there is no such drawing
    """
    if show not in ALT:
        raise ValueError(f"show={show!r}: it should be one of {', '.join(ALT)}")
    return both({"rules": _rules, "last": _last, "axis": _axis}[show], ALT[show])


def _rules(narrow: bool) -> Scene:
    size, across = (15, 2) if narrow else (17, 3)
    tables = [_rule(name, size) for name in RULES]
    lines = [tables[k : k + across] for k in range(0, len(tables), across)]
    body = grid(lines, (30 if narrow else 56, 18))
    legend = row(label("query ↓", BODY, "q"), label("key →", BODY, "k"), gap=14)
    return Scene(column(legend, body, gap=12, align="left"))


def _rule(name: str, size: float) -> Part:
    rule, said = RULES[name]
    table = cells(N, N, "p", size, shade=lambda i, j: 0.9 if rule(i, j) else 0.1)
    return column(label(name, bold=True), table, note(said), gap=5)


def _last(narrow: bool) -> Scene:
    right = _queries("j ≤ i + 5", "as the last two positions", N_K - N_Q)
    wrong = _queries("j ≤ i", "counted from the first key", 0)
    return Scene(column(right, wrong, gap=22) if narrow else row(right, wrong, gap=64))


def _queries(rule: str, said: str, offset: int) -> Part:
    size = 30
    keys = cells(1, N_K, "k", size, shade=lambda i, j: 0.1, text=lambda i, j: str(j))
    table = cells(N_Q, N_K, "p", size, shade=lambda i, j: 0.9 if j <= i + offset else 0.1)
    queries = column(*(label(f"query {i}", BODY, "q") for i in range(N_Q)), gap=0, pitch=size)
    lines = [row(label("key", BODY, "k"), keys, gap=8), row(queries, table, gap=8)]
    return column(label(said, bold=True), column(*lines, gap=4, align="right"), note(rule), gap=7)


def _axis(narrow: bool) -> Scene:
    tables = {name: [_sentence(name, b) for b in range(len(LENGTHS))] for name in AXES}
    if narrow:
        parts = [
            column(label(name, bold=True), grid([_heads(), three], (18, 5)), gap=6)
            for name, three in tables.items()
        ]
        return Scene(column(*parts, gap=20))
    lines = [[_name(name), *three] for name, three in tables.items()]
    return Scene(grid([[None, *_heads()], *lines], (34, 14)))


def _heads() -> list[Part]:
    return [note(f"{length} token{'s' * (length > 1)}") for length in LENGTHS]


def _name(name: str) -> Part:
    return column(label(name, bold=True), note(AXES[name][1]), gap=3, align="left")


def _sentence(name: str, b: int) -> Part:
    see, right = AXES[name][0], AXES["mask (B, 1, 1, n_k)"][0]

    def text(i: int, j: int) -> str:
        return "" if see(b, i, j) == right(b, i, j) else "×"

    n = len(LENGTHS)
    return cells(n, n, "p", 27, shade=lambda i, j: 0.6 if see(b, i, j) else 0.1, text=text)
