"""What the course draws: cells, tensors, boxes, frames, bars, stacks."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

from attention_src.figures.drawing.look import (
    BODY,
    FILL,
    LIT,
    NAME,
    NOTE,
    PALE,
    STROKE,
    THIN,
    element,
    num,
    one_of,
    positive,
)
from attention_src.figures.drawing.parts import Part, column, over
from attention_src.figures.drawing.words import label, note, words

# A number from 0 to 1, "ghost" (dashed: gone), "empty" (outlined: room), or None (nothing there).
Strength = float | str | None
_SOFT = 2.5  # a cell's inset; a round-joined stroke of 3 brings half of it back and softens corners


class Cells(Part):
    """Squares in rows and columns."""

    def __init__(
        self, rows: int, cols: int, size: float, pitch: float, marks: list[ET.Element]
    ) -> None:
        super().__init__(cols * size, (rows - 1) * pitch + size, marks)
        self.rows, self.cols, self.size, self.pitch = rows, cols, size, pitch

    def row(self, i: int) -> Part:
        """As `Part.row`."""
        return self._block(i, 0, self.cols)

    def cell(self, i: int, j: int) -> Part:
        """As `Part.cell`."""
        return self._block(i, j, 1)

    def _block(self, i: int, j: int, n: int) -> Part:
        if not (0 <= i < self.rows and 0 <= j < self.cols):
            raise ValueError(f"there is no cell {i}, {j} among {self.rows} × {self.cols}")
        return self.spot(j * self.size, i * self.pitch, n * self.size, self.size)


def cells(
    rows: int,
    cols: int,
    hue: str | Callable[[int, int], str] = "ink",
    size: float = 18,
    lit: int | str | None = None,
    shade: Callable[[int, int], Strength] | None = None,
    text: Callable[[int, int], str] | None = None,
    pitch: float = 0,
) -> Cells:
    """Numbers as coloured squares: pale, or lit, or as strong as the numbers are large.

    Args:
        rows, cols: how many; at least one of each
        hue: a name of look.FILL, or a function (row, column) -> name
        size: pixels of a square, at least 8
        lit: a row, which has the full colour, or "all"; the rest is pale
        shade: (row, column) -> strength: 0 to 1, drawn in steps of 0.1 and at least 0.1;
            "ghost", dashed: it is gone; "empty", outlined: room; None: nothing
        text: (row, column) -> a short number in the square
        pitch: pixels from one row to the next, where rows stand apart; without it, size
    Returns: a part with `row(i)` and `cell(i, j)`
    Raises:
        ValueError: a size, hue, row or strength is not as described
    """
    if rows < 1 or cols < 1:
        raise ValueError(f"cells({rows}, {cols}): there should be one row and one column at least")
    if positive("size", size) < 8:
        raise ValueError(f"size={size}: cells below 8 pixels cannot be told from each other")
    if lit not in (None, "all", *range(rows)):
        raise ValueError(f'lit={lit!r}: it should be a row below {rows}, or "all"')
    pitch = pitch or size
    groups: dict[tuple[str, Strength], list[tuple[int, int]]] = {}
    numbers = []
    for i in range(rows):
        for j in range(cols):
            strength = _strength(shade(i, j) if shade else LIT if lit in ("all", i) else PALE)
            name = one_of("hue", hue(i, j) if callable(hue) else hue, FILL)
            groups.setdefault((name, strength), []).append((i, j))
            if text:
                dark = isinstance(strength, float) and strength >= 0.8
                x, y = (j + 0.5) * size, i * pitch + size / 2 + 4.6
                numbers.append(words(x, y, text(i, j), NOTE, "paper" if dark else "ink"))
    squares = [
        _squares(*key, places, size, pitch) for key, places in groups.items() if key[1] is not None
    ]
    return Cells(rows, cols, size, pitch, [*squares, *numbers])


def _strength(given: Strength) -> Strength:
    """A strength in steps of 0.1: few different ones, so few paths; below 0.1 nothing is seen."""
    if given is None or given in ("ghost", "empty"):
        return given
    if isinstance(given, str) or not 0 <= given <= 1:
        raise ValueError(f'strength {given!r}: it should be 0 to 1, "ghost", "empty" or None')
    return max(0.1, round(round(float(given), 6), 1))


def _squares(
    hue: str, strength: Strength, places: list[tuple[int, int]], size: float, pitch: float
) -> ET.Element:
    """All cells of one colour and strength, as one path."""
    colour = FILL[hue]
    if isinstance(strength, float):
        d = "".join(_square(i, j, 1, size, pitch, _SOFT) for i, j in places)
        opacity = strength if strength < 1 else None
        return element("path", d=d, fill=colour, stroke=colour, opacity=opacity)
    if strength == "empty":
        d, dashes = "".join(_square(i, j, 1, size, pitch, 2) for i, j in places), None
    else:  # neighbours in a row share one outline
        firsts = [(i, j) for i, j in places if (i, j - 1) not in places]
        d, dashes = (
            "".join(_square(i, j, _run(i, j, places), size, pitch, 2) for i, j in firsts),
            "3 2",
        )
    return element(
        "path", d=d, fill="none", stroke=colour, stroke_width=THIN, stroke_dasharray=dashes
    )


def _run(i: int, j: int, places: list[tuple[int, int]]) -> int:
    """How many of these places follow each other in row i from column j on."""
    n = 1
    while (i, j + n) in places:
        n += 1
    return n


def _square(i: int, j: int, n: int, size: float, pitch: float, inset: float) -> str:
    """The outline of n cells in a row, as a piece of a path."""
    w, h = n * size - 2 * inset, size - 2 * inset
    return f"M{num(j * size + inset)} {num(i * pitch + inset)}h{num(w)}v{num(h)}h{num(-w)}z"


def tensor(name: str | Part, body: Part, shape: str = "", hue: str = "ink", gap: float = 6) -> Part:
    """Cells, or any body, with a name above and a shape below; it lines up by the body.

    Args:
        name: words, "" or a part
        body: what is named
        shape: words, or ""
        hue: of the name, a name of look.TEXT
        gap: pixels between name, body and shape
    Returns: a part whose `row` and `cell` are the body's
    """
    above = label(name, NAME, hue) if isinstance(name, str) and name else name or None
    part = column(*(x for x in (above, body, note(shape) if shape else None) if x), gap=gap)
    part.body = body.body
    part.axis = (above.h + gap if above else 0) + body.axis
    return part


def box(said: str, hue: str = "ink", w: float = 0, h: float = 30, bold: bool = False) -> Part:
    """A step: words in a rounded rectangle.

    Args:
        said: words
        hue: a name of look.FILL
        w, h: pixels, at least; it grows with its words
        bold: for the one step that matters
    Returns: a part
    Raises:
        ValueError: there is no such hue
    """
    inner = label(said, BODY, one_of("hue", hue, FILL), bold)
    w, h = max(w, inner.w + 20), max(h, inner.h + 10)
    return over(Part(w, h, [_plate(w, h, hue, 0.12)]), inner)


def frame(part: Part, title: str = "", hue: str = "ink", gap: float = 14) -> Part:
    """A place that holds parts: a chip, a memory, a device.

    Args:
        part: what it holds
        title: words, or ""
        hue: a name of look.FILL
        gap: pixels around what it holds
    Returns: a part
    Raises:
        ValueError: there is no such hue
    """
    one_of("hue", hue, FILL)
    inner = column(label(title, BODY, hue, bold=True), part, gap=9) if title else part
    w, h = inner.w + 2 * gap, inner.h + 2 * gap - 2
    rim = _plate(w, h, hue, 0.06, THIN, 0.55, 9)
    return Part(w, h, [rim], [(gap, gap - 2, inner)])


def _plate(
    w: float,
    h: float,
    hue: str,
    fill: float,
    stroke: float = STROKE,
    edge: float | None = None,
    r: float = 6,
) -> ET.Element:
    """A rounded rectangle; `fill` and `edge` are opacities."""
    return element(
        "rect",
        width=w,
        height=h,
        rx=r,
        stroke_width=stroke,
        fill=FILL[hue],
        fill_opacity=fill,
        stroke=FILL[hue],
        stroke_opacity=edge,
    )


def op(sign: str, hue: str = "ink", r: float = 10) -> Part:
    """A small operation: a sign in a circle.

    Args:
        sign: such as "+"
        hue: a name of look.FILL
        r: of the circle, in pixels
    Returns: a part
    Raises:
        ValueError: there is no such hue
    """
    one_of("hue", hue, FILL)
    ring = element(
        "circle", cx=r, cy=r, r=r - 0.8, fill="none", stroke=FILL[hue], stroke_width=STROKE
    )
    return Part(2 * r, 2 * r, [ring, words(r, r + 5, sign, 15)])


def bar(length: float, hue: str = "p", h: float = 14, strength: float = LIT) -> Part:
    """A number as a length.

    Args:
        length: pixels; less than one is drawn as one
        hue: a name of look.FILL
        h: pixels
        strength: of the colour, 0 to 1
    Returns: a part
    Raises:
        ValueError: there is no such hue, or length is negative or not finite
    """
    one_of("hue", hue, FILL)
    if length:
        positive("length", length)
    w, opacity = max(length, 1), strength if strength < 1 else None
    mark = element("rect", width=w, height=h, rx=2, fill=FILL[hue], opacity=opacity)
    return Part(w, h, [mark])


def stack(
    part: Part, n: int = 3, hue: str = "ink", step: float = 5, strength: float = 0.55
) -> Part:
    """A part in front of others of its kind (heads, layers), whose rims look out behind it.

    Args:
        part: the first
        n: how many there are
        hue: of the rims, a name of look.FILL
        step: pixels from one to the next
        strength: of the first rim, 0 to 1; those behind it are weaker
    Returns: a part
    Raises:
        ValueError: there is no such hue, or n is less than 1
    """
    one_of("hue", hue, FILL)
    w, h, d = part.w, part.h, (positive("n", n) - 1) * step
    rim = f"h{num(w)}v{num(h)}h{num(-step)}v{num(step - h)}h{num(step - w)}z"
    rims = []
    for i in range(1, n):
        d_ = f"M{num(i * step)} {num(d - i * step)}{rim}"
        rims.append(element("path", d=d_, fill=FILL[hue], opacity=strength / i))
    return Part(w + d, h + d, rims, [(0, d, part)], d + part.axis, part.mid, part.body)
