"""What joins parts: arrows, lines, paths, stripes, braces.

Each names the parts that it joins and is drawn when all parts have their places.
"""

import math
from collections.abc import Callable
from xml.etree import ElementTree as ET

from attention_src.figures.drawing.look import FILL, NOTE, STROKE, THIN, element, num, one_of
from attention_src.figures.drawing.parts import Part
from attention_src.figures.drawing.words import words

Join = Callable[[], list[ET.Element]]  # the marks, once the parts have their places
Point = tuple[float, float]
SIDES = ("left", "right", "top", "bottom")


def arrow(
    a: Part,
    b: Part,
    said: str = "",
    hue: str = "ink",
    width: float = STROKE,
    gap: float = 5,
    way: str = "",
    lift: float = 6,
) -> Join:
    """An arrow: straight where the parts face each other, else a smooth S.

    It runs level where b is beside a, upright where it is not. Words stand above or beside it.

    Args:
        a, b: from and to
        said: words, or ""
        hue: a name of look.FILL
        width: of the line, in pixels
        gap: pixels between its ends and the parts
        way: "v" makes it run upright in any case
        lift: pixels between the words and a level line
    Returns: a join
    Raises:
        ValueError: hue or way is not one of these
    """
    one_of("hue", hue, FILL)
    one_of("way", way, ("", "v"))

    def marks() -> list[ET.Element]:
        p, q, colour = a.body, b.body, "soft" if hue == "ink" else hue
        lines = said.split("\n")
        if way != "v" and (b.x >= a.x + a.w or a.x >= b.x + b.w):
            x0, x1 = (p.x + p.w + gap, q.x - gap) if b.x > a.x else (p.x - gap, q.x + q.w + gap)
            y0, y1 = _facing(p.y, p.y + p.h, q.y, q.y + q.h)
            middle, high = (x0 + x1) / 2, (y0 + y1) / 2 - lift - width / 2
            text = [
                words(middle, high - (len(lines) - 1 - i) * NOTE * 1.3, line, NOTE, colour)
                for i, line in enumerate(lines)
            ]
            bend = "" if y0 == y1 else "h"
        else:
            down = b.y > a.y
            y0, y1 = (a.y + a.h + gap, b.y - gap) if down else (a.y - gap, b.y + b.h + gap)
            x0, x1 = _facing(p.x, p.x + p.w, q.x, q.x + q.w)
            beside, high = (x0 + x1) / 2 + 8 + width / 2, (y0 + y1) / 2 + 2
            first = high - (len(lines) - 1) * NOTE * 0.65
            text = [
                words(beside, first + i * NOTE * 1.3, line, NOTE, colour, "start")
                for i, line in enumerate(lines)
            ]
            bend = "" if x0 == x1 else "v"
        return pointer([(x0, y0), (x1, y1)], hue, width, bend) + (text if said else [])

    return marks


def line(
    a: Part,
    b: Part,
    hue: str = "ink",
    width: float = THIN,
    gap: float = 2,
    end: float | None = None,
    way: str = "",
) -> Join:
    """A plain line from part a to part b, to its right or below it: it needs no head.

    It joins their sides if they stand beside each other, and a's foot to b's top if they do not.

    Args:
        a, b: from and to
        hue: a name of look.FILL
        width: in pixels
        gap: pixels between a and the line
        end: pixels between the line and b; without one, gap
        way: "h" joins their sides in any case
    Returns: a join
    Raises:
        ValueError: hue or way is not one of these
    """
    one_of("hue", hue, FILL)
    one_of("way", way, ("", "h"))

    def marks() -> list[ET.Element]:
        p, q, near = a.body, b.body, gap if end is None else end
        if way == "h" or b.y < a.y + a.h:
            ends = [(a.x + a.w + gap, p.y + p.h / 2), (b.x - near, q.y + q.h / 2)]
        else:
            ends = [(p.x + p.w / 2, a.y + a.h + gap), (q.x + q.w / 2, b.y - near)]
        return [_stroke(f"M{_points(ends)}", hue, width)]

    return marks


def band(*parts: Part, hue: str = "ink", room: float = 5, opacity: float = 0.13) -> Join:
    """A soft stripe behind several parts: look along here.

    Args:
        *parts: at least one
        hue: a name of look.FILL
        room: pixels around the parts
        opacity: 0 to 1
    Returns: a join, for `behind`
    Raises:
        ValueError: there is no part, or no such hue
    """
    one_of("hue", hue, FILL)
    if not parts:
        raise ValueError("parts: there should be one at least")

    def marks() -> list[ET.Element]:
        b = [p.body for p in parts]
        x, y = min(p.x for p in b) - room, min(p.y for p in b) - room + 2
        w, h = max(p.x + p.w for p in b) + room - x, max(p.y + p.h for p in b) + room - 2 - y
        return [element("rect", x=x, y=y, width=w, height=h, rx=6, fill=FILL[hue], opacity=opacity)]

    return marks


def brace(part: Part, said: str = "", side: str = "right", hue: str = "ink") -> Join:
    """A brace along a part, with words at its tip.

    Args:
        part: what it embraces
        said: words, or ""
        side: "left", "right", "top" or "bottom"
        hue: a name of look.FILL
    Returns: a join
    Raises:
        ValueError: there is no such side or hue
    """
    one_of("side", side, SIDES)
    one_of("hue", hue, FILL)

    def marks() -> list[ET.Element]:
        b, sign = part.body, 1 if side in ("right", "bottom") else -1
        if side in ("left", "right"):
            x, y, n = (part.x + part.w + 5 if sign > 0 else part.x - 5), b.y, b.h
            turned, anchor = f"{sign} 0 0 1", "start" if sign > 0 else "end"
            tip = x + sign * 14, y + n / 2 + 4
        else:
            x, y, n = b.x, (part.y + part.h + 4 if sign > 0 else part.y - 4), b.w
            turned, anchor = f"0 {sign} 1 0", "middle"
            tip = x + n / 2, y + (24 if sign > 0 else -15)
        half = f"q0 4 4 4 q-4 0 -4 4 V{num(n - 4)} q0 4 -4 4"
        drawn = _stroke(f"M0 0 q4 0 4 4 V{num(n / 2 - 4)} {half}", hue, STROKE)
        drawn.set("transform", f"matrix({turned} {num(x)} {num(y)})")
        return [drawn] + ([words(*tip, said, NOTE, "soft", anchor)] if said else [])

    return marks


def faded(join: Join, opacity: float) -> Join:
    """A join that recedes, so that something else is seen first.

    Args:
        join: an arrow, a line, ...
        opacity: above 0, up to 1
    Returns: a join
    Raises:
        ValueError: opacity is not such a number
    """
    if not 0 < opacity <= 1:
        raise ValueError(f"opacity={opacity!r}: it should be above 0 and at most 1")

    def marks() -> list[ET.Element]:
        drawn = join()
        for mark in drawn:
            mark.set("opacity", f"{opacity:g}")
        return drawn

    return marks


def pointer(
    points: list[Point], hue: str = "ink", width: float = STROKE, bend: str = ""
) -> list[ET.Element]:
    """A line with a head.

    Args:
        points: from the first to the last, in pixels
        hue: a name of look.FILL
        width: of the line, in pixels
        bend: "" straight; "h" a smooth S that leaves and arrives level; "v" upright
    Returns: the line and its head
    """
    (x0, y0), (x1, y1) = points[0], points[-1]
    a, b = {"h": (x0, y1), "v": (x1, y0)}.get(bend, points[-2])
    length = max(math.hypot(x1 - a, y1 - b), 0.1)
    ux, uy, size = (x1 - a) / length, (y1 - b) / length, 4.4 + width * 1.6
    bx, by, wing = x1 - ux * size, y1 - uy * size, size * 0.5
    mx, my = (x0 + bx) / 2, (y0 + by) / 2
    curve = {"h": [(mx, y0), (mx, by)], "v": [(x0, my), (bx, my)]}.get(bend, points[1:-1])
    rest = [*curve, (bx, by)]
    run = f" C{_points(rest, ',')}" if bend else f" L{_points(rest)}"
    wings = [(x1, y1), (bx - uy * wing, by + ux * wing), (bx + uy * wing, by - ux * wing)]
    head = element("path", d=f"M{_points(wings)}z", fill=FILL[hue])
    return [_stroke(f"M{_points(points[:1])}{run}", hue, width), head]


def _points(points: list[Point], join: str = " L") -> str:
    return join.join(f"{num(x)} {num(y)}" for x, y in points)


def _stroke(d: str, hue: str, width: float) -> ET.Element:
    return element("path", d=d, fill="none", stroke=FILL[hue], stroke_width=width)


def _facing(low0: float, high0: float, low1: float, high1: float) -> Point:
    """The middle of what two intervals share, twice; if they share nothing, their two middles."""
    low, high = max(low0, low1), min(high0, high1)
    if high - low > 1:
        return (low + high) / 2, (low + high) / 2
    return (low0 + high0) / 2, (low1 + high1) / 2
