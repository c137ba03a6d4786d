"""Parts, and how they are set beside each other.

A drawing is said from the inside out: cells, words and boxes are parts; `row`, `column` and `grid`
set parts beside each other. Nobody types a coordinate. Parts line up by their bodies (the cells),
not by the words around them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

from attention_src.figures.drawing.look import num, one_of

_PLACES = {"circle": ("cx", "cy")}  # the attributes that say where a mark is; a path is moved


class Part:
    """A rectangle of the drawing: marks of its own, and other parts at places within it.

    Args:
        w, h: width and height in pixels
        marks: SVG elements, placed from the part's upper left corner
        inside: (x, y, part), other parts and where they stand in this one
        axis: the height in pixels that a row lines up; without one, the middle
        mid: the place in pixels that a column lines up; without one, the middle
        body: the part that arrows point at; without one, the part itself
    """

    def __init__(
        self,
        w: float,
        h: float,
        marks: Iterable[ET.Element] = (),
        inside: Iterable[tuple[float, float, Part]] = (),
        axis: float | None = None,
        mid: float | None = None,
        body: Part | None = None,
    ) -> None:
        self.w, self.h, self.marks, self.inside = w, h, list(marks), list(inside)
        self.axis = h / 2 if axis is None else axis
        self.mid = w / 2 if mid is None else mid
        self.body = body or self
        self.x = self.y = 0.0
        self.group: dict[str, str] = {}

    def place(self, x: float, y: float) -> None:
        """Say where the part is on the drawing, and with it all parts inside.

        Args:
            x, y: pixels, of the upper left corner
        """
        self.x, self.y = x, y
        for dx, dy, part in self.inside:
            part.place(x + dx, y + dy)

    def draw(self, parent: ET.Element) -> None:
        """Append the part's marks and those of the parts inside.

        Args:
            parent: the element to append to
        """
        if self.group:
            parent = ET.SubElement(parent, "g", self.group)
        for mark in map(copy.deepcopy, self.marks):
            if mark.tag == "path":
                mark.set("transform", f"translate({num(self.x)} {num(self.y)})")
            else:
                for key, by in zip(
                    _PLACES.get(mark.tag, ("x", "y")), (self.x, self.y), strict=True
                ):
                    mark.set(key, num(float(mark.get(key, 0)) + by))
            parent.append(mark)
        for _, _, part in self.inside:
            part.draw(parent)

    def spot(self, x: float, y: float, w: float, h: float) -> Part:
        """A rectangle of this part, for arrows and bands to name.

        Args:
            x, y: of its upper left corner, in pixels from the part's
            w, h: its size in pixels
        Returns: a part without marks
        """
        spot = Part(w, h)
        self.inside.append((x, y, spot))
        return spot

    def row(self, i: int) -> Part:
        """A row of the cells that this part shows, for arrows and bands to name.

        Args:
            i: which row, from 0
        Returns: a part without marks
        Raises:
            ValueError: the part shows no cells, or has no such row
        """
        if self.body is self:
            raise ValueError("this part shows no cells, so it has no rows")
        return self.body.row(i)

    def cell(self, i: int, j: int) -> Part:
        """One of the cells that this part shows, for arrows and bands to name.

        Args:
            i, j: row and column, from 0
        Returns: a part without marks
        Raises:
            ValueError: the part shows no cells, or has no such cell
        """
        if self.body is self:
            raise ValueError("this part shows no cells")
        return self.body.cell(i, j)


class Grid(Part):
    """Parts in rows and columns; `middles` are the heights of the rows' bodies, for `stand`."""

    middles: list[float]


def row(*parts: Part, gap: float = 20, align: str = "axis") -> Part:
    """Parts from left to right.

    Args:
        *parts: at least one
        gap: pixels between them
        align: "axis", their bodies on one line, or "top"
    Returns: a part
    Raises:
        ValueError: there is no part, or no such align
    """
    one_of("align", align, ("axis", "top"))
    _some(parts)
    above = max(p.axis for p in parts) if align == "axis" else 0.0
    inside, x = [], 0.0
    for p in parts:
        inside.append((x, above - p.axis if above else 0.0, p))
        x += p.w + gap
    height = max(dy + p.h for _, dy, p in inside)
    return Part(x - gap, height, inside=inside, axis=above or None)


def column(*parts: Part, gap: float = 12, align: str = "mid", pitch: float = 0) -> Part:
    """Parts from top to bottom.

    Args:
        *parts: at least one
        gap: pixels between them
        align: "mid", their bodies centred, or "left" or "right"
        pitch: pixels; each part takes at least this height
    Returns: a part
    Raises:
        ValueError: there is no part, or no such align
    """
    one_of("align", align, ("mid", "left", "right"))
    _some(parts)
    before = max(p.mid for p in parts)
    widest = max(p.w for p in parts)
    width = before + max(p.w - p.mid for p in parts) if align == "mid" else widest
    inside, y = [], 0.0
    for p in parts:
        room = max(p.h, pitch)
        x = {"mid": before - p.mid, "left": 0.0, "right": width - p.w}[align]
        inside.append((x, y + (room - p.h) / 2, p))
        y += room + gap
    return Part(width, y - gap, inside=inside, mid=before if align == "mid" else None)


def grid(
    lines: Sequence[Sequence[Part | None]], gap: tuple[float, float] = (16, 12), pitch: float = 0
) -> Grid:
    """Rows of parts, lined up both ways.

    Args:
        lines: the rows, each as long as the others; None is an empty place
        gap: pixels between columns, and between rows
        pitch: pixels; each row takes at least this height
    Returns: a part whose `middles` are the heights of its rows' bodies
    Raises:
        ValueError: there is no row, or one is shorter than another
    """
    if not lines or len({len(line) for line in lines}) != 1:
        raise ValueError("lines: there should be one row at least, and all as long as the first")
    columns = [[p for p in c if p] for c in zip(*lines, strict=True)]
    before = [max((p.mid for p in c), default=0.0) for c in columns]
    after = [max((p.w - p.mid for p in c), default=0.0) for c in columns]
    inside: list[tuple[float, float, Part]] = []
    y, middles = 0.0, []
    for line in lines:
        here = [p for p in line if p]
        above = max([pitch / 2, *(p.axis for p in here)])
        x = 0.0
        for p, b, a in zip(line, before, after, strict=True):
            if p:
                inside.append((x + b - p.mid, y + above - p.axis, p))
            x += b + a + gap[0]
        middles.append(y + above)
        y += above + max([pitch / 2, *(p.h - p.axis for p in here)]) + gap[1]
    width = sum(before) + sum(after) + gap[0] * (len(columns) - 1)
    part = Grid(width, y - gap[1], inside=inside)
    part.middles = middles
    return part


def stand(part: Part, axis: float | None = None) -> Part:
    """A part that a row lines up by another height than its middle.

    Args:
        part: changed in place
        axis: pixels from its top; without one, its foot
    Returns: the part
    """
    part.axis = part.h if axis is None else axis
    return part


def lean(part: Part, mid: float = 0.0) -> Part:
    """A part that a column lines up by another place than its middle.

    Args:
        part: changed in place
        mid: pixels from its left edge
    Returns: the part
    """
    part.mid = mid
    return part


def over(part: Part, top: Part, dx: float = 0, dy: float = 0) -> Part:
    """A part on the middle of another one, which keeps its size.

    Args:
        part: below; changed in place
        top: above
        dx, dy: pixels to the right and down from the middle
    Returns: the part below
    """
    part.inside.append(((part.w - top.w) / 2 + dx, (part.h - top.h) / 2 + dy, top))
    return part


def dim(part: Part, opacity: float = 0.4) -> Part:
    """A part that recedes, so that another one is seen first.

    Args:
        part: changed in place
        opacity: above 0, up to 1
    Returns: the part
    Raises:
        ValueError: opacity is not such a number
    """
    if not 0 < opacity <= 1:
        raise ValueError(f"opacity={opacity!r}: it should be above 0 and at most 1")
    part.group["opacity"] = f"{opacity:g}"
    return part


def named(part: Part, name: str) -> Part:
    """A part that a script can find and change: <g data-part="name">.

    Args:
        part: changed in place
        name: unique in the drawing
    Returns: the part
    """
    part.group["data-part"] = name
    return part


def space(w: float = 0, h: float = 0) -> Part:
    """Nothing, of a size.

    Args:
        w, h: pixels
    Returns: a part without marks
    """
    return Part(w, h)


def _some(parts: Sequence[Part]) -> None:
    if not parts:
        raise ValueError("parts: there should be one at least")
