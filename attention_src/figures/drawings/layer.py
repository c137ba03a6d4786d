"""A transformer layer: a path that runs through, and two steps that read it and add to it."""

from itertools import pairwise

from attention_src.figures.drawing import (
    Drawing,
    Part,
    Scene,
    arrow,
    both,
    box,
    cells,
    dot,
    grid,
    lean,
    line,
    note,
    op,
    over,
    path,
    row,
    stand,
    tensor,
)

ALT = (
    "The residual path of one token runs straight through a layer; attention, which sees the other "
    "tokens, and the MLP, which does not, each read it and add to it."
)
BEFORE, AFTER = (0.9, 0.3, 0.6, 0.4), (0.7, 0.8, 0.4, 0.9)  # some vector, and what it becomes
RESIDUAL = 5  # pixels: the thickest line of the course


def layer() -> Drawing:
    """A layer of a transformer, for one token.

    Caption: The thick line is the token's vector. Attention and the MLP read a copy of it and add
    what they found; only in attention do other tokens come in.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    x, y = tensor("", _vector(BEFORE), "“bank”"), tensor("", _vector(AFTER))
    attention, mlp = box("attention", w=116, h=56), box("MLP", w=116, h=56)
    norms, adds, forks = [box("norm"), box("norm")], [op("+"), op("+")], [dot(), dot()]
    pairs = row(cells(1, 4, "k", 12, lit="all"), cells(1, 4, "v", 12, lit="all"), gap=8)
    others = tensor(note("keys and values\nof the other tokens"), pairs)
    alone = note("each token\nby itself")
    name = note("residual path", "ink", bold=True)
    if narrow:
        over(adds[0], name, name.w / 2 + 12, 21)
        lean(alone, alone.w / 2 + 22)
    lines: list[list[Part | None]] = [
        [None, None, others, None, None, alone, None, None],
        [None, norms[0], attention, None, norms[1], mlp, None, None],
        [x, forks[0], None if narrow else stand(name, -9), adds[0], forks[1], None, adds[1], y],
    ]
    turned = list(zip(*lines[::-1], strict=True))  # on a phone, the path runs down
    root = grid(turned, gap=(22, 24)) if narrow else grid(lines, gap=(29, 26))
    through = [x, forks[0], adds[0], forks[1], adds[1]]
    joins = [
        line(a, b, width=RESIDUAL, gap=5 if a is x else 0, end=0) for a, b in pairwise(through)
    ]
    joins += [arrow(adds[1], y, width=RESIDUAL, gap=4), arrow(others, attention)]
    for fork, norm, step, add in zip(forks, norms, (attention, mlp), adds, strict=True):
        leaves, corner, enters = (
            ("bottom", (step, add), "right") if narrow else ("right", (add, step), "top")
        )
        joins += [
            arrow(fork, norm, gap=4),
            arrow(norm, step),
            path((step, leaves), corner, (add, enters)),
        ]
    return Scene(root, joins)


def _vector(numbers: tuple[float, ...]) -> Part:
    return cells(len(numbers), 1, "ink", 15, shade=lambda i, j: numbers[i])
