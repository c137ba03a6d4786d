"""Three tokens, three matrices that read different numbers of them, and what comes out."""

from attention_src.figures.drawing import (
    NAME,
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
    stand,
    tensor,
)

ALT = (
    "X meets three matrices. W_Q lets through what a token beats, W_K what it is, W_V its letters; "
    "so the row of paper gives a query, a key and a value."
)
TOKENS = ("rock", "paper", "scissors")
BEATS, LETTERS = (2, 0, 1), (4, 5, 8)
GROUPS = (("is", 3), ("beats", 3), ("letters", 1))  # what a token's numbers say
X = [
    [*(int(j == i) for j in range(3)), *(int(j == BEATS[i]) for j in range(3)), LETTERS[i]]
    for i in range(3)
]
LIT = 1  # paper's row
# What each matrix reads: the first of its rows that is not 0, how many, and the number there.
READS = {"q": "what it beats", "k": "what it is", "v": "its letters"}
ROLES = {"q": (3, 3, 8), "k": (0, 3, 1), "v": (6, 1, 1)}


def projections() -> Drawing:
    """Rock, paper and scissors times W_Q, W_K and W_V.

    Caption: Each matrix lets some of a token's numbers through. Follow paper: it asks for rock, is
    found as paper, and hands over its five letters.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    size = 17 if narrow else 20
    x, asked = _tokens(size)
    matrices = {role: _matrix(role, 14) for role in ROLES}
    made = {role: _made(role, size) for role in ROLES}
    if narrow:
        below = grid([list(matrices.values()), list(made.values())], (34, 30))
        root = column(asked, below, gap=34)
        joins = [
            arrow(asked.spot(30 + 90 * i, asked.h, 0, 0), m, hue=role, way="v", gap=3)
            for i, (role, m) in enumerate(matrices.items())
        ]
        joins += [arrow(m, made[role], hue=role, way="v", gap=3) for role, m in matrices.items()]
        return Scene(root, joins)
    right = grid([[matrices[role], made[role]] for role in ROLES], (118, 10))
    root = row(asked, stand(right, right.middles[1]), gap=48)
    joins = [arrow(x, m, hue=role) for role, m in matrices.items()]
    said = {role: READS[role] for role in ROLES}
    joins += [arrow(m, made[role], said[role], hue=role) for role, m in matrices.items()]
    return Scene(root, joins)


def _tokens(size: float) -> tuple[Part, Part]:
    """X, its numbers in three groups, and with the tokens' names beside it."""
    groups, at = [], 0
    for name, wide in GROUPS:
        part = [line[at : at + wide] for line in X]
        groups.append(tensor(note(name), _numbers(part, "ink", size), gap=3))
        at += wide
    table = row(*groups, gap=14)
    x = column(_above("$X$", "3 × 7", "ink"), table, gap=3)
    stand(x, x.h - 1.5 * size)
    names = [note(t, "ink" if i == LIT else "soft", i == LIT) for i, t in enumerate(TOKENS)]
    beside = column(*names, gap=0, pitch=size, align="right")
    x.body = table
    return x, row(beside, x, gap=8)


def _above(name: str, shape: str, hue: str) -> Part:
    return row(label(name, NAME, hue), note(shape), gap=7)


def _numbers(numbers: list[list[int]], hue: str, size: float) -> Part:
    """A table of numbers, strong where they are not 0, and strongest in paper's row."""

    def shade(i: int, j: int) -> float:
        return (0.8 if i == LIT else 0.3) if numbers[i][j] else 0.1

    return cells(3, len(numbers[0]), hue, size, shade=shade, text=lambda i, j: str(numbers[i][j]))


def _matrix(role: str, size: float) -> Part:
    first, n, number = ROLES[role]

    def text(i: int, j: int) -> str:
        return str(number) if i - first == j else ""

    def shade(i: int, j: int) -> float | str:
        return 0.8 if text(i, j) else "empty"

    table = cells(7, n, role, size, shade=shade, text=text)
    return tensor(_above(f"$W_{role.upper()}$", f"7 × {n}", role), table, gap=4)


def _made(role: str, size: float) -> Part:
    first, n, number = ROLES[role]
    numbers = [[number * value for value in line[first : first + n]] for line in X]
    table = _numbers(numbers, role, size)
    return tensor(_above(f"${role.upper()}$", f"3 × {n}", role), table, gap=4)
