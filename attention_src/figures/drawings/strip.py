"""From words to the next word, for the head of a chapter: what the chapter is about is lit.

The stages stand in the order in which a model computes them. What is inside the frame happens in
every head; the line below is the memory that all of it runs in.
"""

from itertools import pairwise

from attention_src.figures.drawing import (
    Drawing,
    Part,
    Scene,
    arrow,
    bar,
    both,
    cells,
    column,
    dim,
    faded,
    frame,
    note,
    op,
    over,
    row,
    space,
    stack,
    stand,
)
from attention_src.figures.drawing.look import one_of

IN_HEADS = ("q, k, v", "positions", "scores", "scaling", "mask", "softmax", "weights", "output")
STAGES = ("words", "vectors", *IN_HEADS, "next word")
# What else can be lit: more than one stage, part of one, or what is no stage.
GROUPS = {
    "everything": (*STAGES, "heads", "memory"),
    "attention": IN_HEADS,
    "keys and values": (),
    "heads": (),
    "memory": (),
}
# A chapter, and the part that is its subject.
CHAPTERS = {
    "history": "everything",
    "retrieval": "output",  # a look-up that mixes all values
    "embeddings": "vectors",
    "scores": "scores",
    "softmax": "softmax",
    "scaling": "scaling",
    "equation": "attention",
    "projections": "q, k, v",
    "masking": "mask",
    "multihead": "heads",
    "gradients": "attention",  # from its end to its beginning
    "maps": "weights",
    "gpu": "memory",
    "flash": "memory",  # the same attention, with less of it moved
    "gqa": "keys and values",
    "rope": "positions",
    "linear": "attention",  # of another kind
    "ssm": "attention",
    "kvcache": "keys and values",
    "longcontext": "words",  # more of them
    "llm": "next word",
    "costs": "everything",
}
SIZE = 8  # pixels of a cell
WORDS = (18, 27, 22, 25)  # their lengths in pixels
P = ((1.0,), (0.7, 0.3), (0.1, 0.8, 0.1), (0.1, 0.6, 0.1, 0.2))  # some weights
FAINT = 0.3  # the opacity of what is not the subject


def strip(part: str) -> Drawing:
    """The way through a model, one part of it lit.

    Args:
        part: one of STAGES or GROUPS
    Returns: the drawing
    Raises:
        ValueError: there is no such part
    """
    one_of("part", part, (*STAGES, *GROUPS))
    alt = f"The way from words to the next word through a model. This chapter is about {part}."
    return both(lambda narrow: _arrange(narrow, part), alt)


def _arrange(narrow: bool, part: str) -> Scene:
    gap, pad, n = (5, 4, 3) if narrow else (12, 9, 4)
    icons = {name: _icon(name, part, n) for name in STAGES}
    # A phone has room for the name that matters alone.
    named = {x: icon if narrow else _named(x, icon, part) for x, icon in icons.items()}
    inner = row(*(named[name] for name in IN_HEADS), gap=gap)
    rims = 0.5 if _is_lit("heads", part) else 0.12
    heads = stack(stand(frame(inner, gap=pad), pad - 2 + inner.axis), 3, "ink", 4, rims)
    line = row(named["words"], named["vectors"], heads, named["next word"], gap=gap)
    memory = bar(line.w, "ink", 5)
    memory = memory if _is_lit("memory", part) else dim(memory, 0.15)
    above = {"heads": heads, "attention": heads, "keys and values": icons["q, k, v"], **icons}
    below = [memory]
    if part == "memory":
        below.append(note(part, "ink", bold=True))
    elif part in above if narrow else part in ("heads", "attention"):
        below.insert(0, _name_under(above[part], part, line))
    joins = [arrow(a, b, gap=6, width=1) for a, b in pairwise(icons.values())]
    strength = 1 if part == "everything" else 0.5
    return Scene(column(line, *below, gap=5), [] if narrow else [faded(j, strength) for j in joins])


def _is_lit(name: str, part: str) -> bool:
    return name in GROUPS.get(part, (part,)) or name == part


def _name_under(place: Part, name: str, line: Part) -> Part:
    """A name below its place on the line, and not beyond the line's ends."""
    line.place(0, 0)
    said = note(name, "ink", bold=True)
    x = place.x + (place.w - said.w) / 2
    return Part(line.w, said.h, inside=[(max(0, min(x, line.w - said.w)), 0, said)])


def _named(name: str, icon: Part, part: str) -> Part:
    """An icon with its name below."""
    some = part == "keys and values" and name == "q, k, v"
    named_ = some or name == part
    said = note("k, v" if some else name, "ink" if named_ else "soft", named_)
    named = column(icon, said, gap=5)
    named.body, named.axis = icon, icon.h / 2
    return named


def _icon(name: str, part: str, n: int) -> Part:
    """What stands for a stage: in its colours if it is lit, else faint and grey."""
    lit = _is_lit(name, part)
    if name == "q, k, v":
        pairs = lit or part == "keys and values"
        columns = [
            _light(_table(n, 1, hue, on), on)
            for hue, on in zip("qkv", (lit, pairs, pairs), strict=True)
        ]
        drawn = row(*columns, gap=4)
    else:
        drawn = _light(_drawn(name, lit, n), lit)
    return over(space(drawn.w, n * SIZE), drawn)


def _light(part: Part, lit: bool) -> Part:
    return part if lit else dim(part, FAINT)


def _drawn(name: str, lit: bool, n: int) -> Part:
    match name:
        case "words":
            return _bars([w * n / 4 for w in WORDS[:n]])
        case "next word":
            return _bars([WORDS[1] * n / 4])
        case "positions":
            return op("θ", r=9 + n / 2)
        case "scaling":
            return op("÷", r=9 + n / 2)
        case "softmax":
            return _bars([30 * p for p in P[n - 1]], "p" if lit else "ink")
        case "mask":
            return cells(n, n, "ink", SIZE, shade=lambda i, j: 1 if j <= i else "empty")
        case "weights":
            return cells(n, n, "p" if lit else "ink", SIZE, shade=_weight)
        case "output":
            return _table(n, 2, "o", lit)
        case _:
            return _table(n, {"vectors": 2, "scores": n}[name], "ink", lit)


def _weight(i: int, j: int) -> float | None:
    return P[i][j] if j <= i else None


def _bars(lengths: list[float], hue: str = "ink") -> Part:
    return column(*(bar(x, hue, 5) for x in lengths), gap=3, align="left")


def _table(n: int, cols: int, hue: str, lit: bool) -> Part:
    return cells(n, cols, hue if lit else "ink", SIZE, lit="all")
