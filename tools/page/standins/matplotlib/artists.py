"""One thing that is drawn. `to` turns data into points, from the figure's upper left corner."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib import letters
from matplotlib.colors import css
from matplotlib.looks import Refuses, one_of

To = Callable[[Any, Any], tuple[np.ndarray, np.ndarray]]
Box = tuple[float, float, float, float]
DASHES = {"--": (3.7, 1.6), "-.": (6.4, 1.6, 1, 1.6), ":": (1, 1.65)}
NAMES = {"dashed": "--", "dotted": ":", "dashdot": "-.", "solid": "-", "": "none", "None": "none"}
MARKERS = (None, "", ".", "o", "s", "^", "*")
INK = "#767676"


def as_they_are(x: Any, y: Any) -> tuple[Any, Any]:
    """Points that are points already."""
    return x, y


def points(x: Any, y: Any) -> str:
    """Coordinates of a path, to a hundredth of a point."""
    return " ".join(f"{a:.2f},{b:.2f}" for a, b in zip(np.ravel(x), np.ravel(y), strict=True))


class Line(Refuses):
    """A line, its markers, or both."""

    called = "line"
    zorder = 2.0
    clip = True

    def __init__(self, x: Any, y: Any, style: str, **look: Any) -> None:
        self.x, self.y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
        self.color, self.width = css(look["color"]), look["width"]
        self.marker, self.size, self.edge = look["marker"], look["size"], look["edge"]
        self.alpha, self.label = look["alpha"], look["label"]
        one_of("marker", self.marker, *MARKERS)
        if np.ndim(self.label):
            raise ValueError(f"label={self.label!r} should be one text")
        self.across = look.get("across", "")  # "x": over the whole width, "y": the whole height
        self.set_linestyle(style)

    def get_color(self) -> str:
        return self.color

    def set_linestyle(self, style: str) -> None:
        self.style = NAMES.get(str(style), style)
        one_of("linestyle", self.style, "-", *DASHES, "none")

    def stroke(self) -> str:
        dashes = " ".join(f"{d * self.width:g}" for d in DASHES.get(self.style, ()))
        ends = f"stroke-dasharray:{dashes}" if dashes else "stroke-linecap:square"
        return f"fill:none;stroke:{self.color};stroke-width:{self.width:g};{ends}"

    def draw(self, to: To) -> str:
        return self.drawn(*to(self.x, self.y))

    def drawn(self, x: np.ndarray, y: np.ndarray) -> str:
        made = ""
        if self.style != "none":
            runs = np.split(np.stack([x, y]), np.flatnonzero(~np.isfinite(x + y)), axis=1)
            runs = [run[:, np.isfinite(run.sum(axis=0))] for run in runs]
            path = "".join("M" + points(*run).replace(" ", "L") for run in runs if run.size)
            made += f'<path d="{path}" style="{self.stroke()}"/>'
        made += "".join(self._mark(a, b) for a, b in zip(x, y, strict=True) if self.marker)
        return made if self.alpha is None else f'<g style="opacity:{self.alpha:g}">{made}</g>'

    def _mark(self, x: float, y: float) -> str:
        r = self.size / 2
        look = f"fill:{self.color};stroke:{self.color};stroke-width:{self.edge:g}"
        if self.marker in "o.":
            r = r if self.marker == "o" else r / 2
            return f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{r:g}" style="{look}"/>'
        turns, long = np.arange(10) * np.pi / 5, np.where(np.arange(10) % 2, 0.382 * r, r)
        dx, dy = {
            "s": ([-r, r, r, -r], [-r, -r, r, r]),
            "^": ([0, r, -r], [-r, r, r]),
            "*": (long * np.sin(turns), -long * np.cos(turns)),
        }[self.marker]
        path = points(x + np.asarray(dx), y + np.asarray(dy)).replace(" ", "L")
        return f'<path d="M{path}Z" style="{look}"/>'

    def box(self, to: To) -> None:
        return None


class Text(Refuses):
    """Words at a place of the data, or of the axes, moved by some points."""

    called = "text"
    zorder = 3.0
    clip = False

    def __init__(self, x: float, y: float, text: str, **look: Any) -> None:
        self.x, self.y, self.text = float(x), float(y), str(text)
        self.ha, self.va = look.get("ha", "left"), look.get("va", "baseline")
        self.size, self.color = look.get("size", 10.0), css(look.get("color") or INK)
        self.rotation, self.shift = look.get("rotation", 0), look.get("shift", (0, 0))
        self.of_axes = look.get("of_axes", False)

    def place(self, to: To) -> tuple[float, float, Box]:
        """Where the baseline begins, and the box of the words."""
        x, y = (float(a) for a in (to.of_axes if self.of_axes else to)(self.x, self.y))
        x, y = x + self.shift[0], y - self.shift[1]
        rows = self.text.split("\n")
        wide = max(letters.width(row, self.size) for row in rows)
        up, down = letters.ASCENT * self.size, letters.DESCENT * self.size
        if any("^" in row and row.startswith("$") for row in rows):
            up += 0.16 * self.size
        high = up + down + (len(rows) - 1) * 1.2 * self.size
        if self.rotation == 90:
            wide, high = high, wide
        left = x - {"left": 0, "center": wide / 2, "right": wide}[self.ha]
        first = up if self.rotation != 90 else high
        top = (
            y
            - {
                "top": 0,
                "bottom": high,
                "center": high / 2,
                "baseline": first,
                "center_baseline": first - up / 2,
            }[self.va]
        )
        return left, top, (left, top, left + wide, top + high)

    def draw(self, to: To) -> str:
        if not self.text:
            return ""
        left, top, (_, _, right, bottom) = self.place(to)
        up = (bottom - top if self.rotation != 90 else right - left) - letters.DESCENT * self.size
        rows = self.text.split("\n")
        up -= (len(rows) - 1) * 1.2 * self.size
        made = []
        for number, row in enumerate(rows):
            fall = up + number * 1.2 * self.size
            at = f"translate({left:.2f} {top + fall:.2f})"
            if self.rotation == 90:
                at = f"translate({left + fall:.2f} {bottom:.2f}) rotate(-90)"
            made.append(f'<g transform="{at}">{letters.outlines(row, self.size)}</g>')
        return f'<g style="fill:{self.color}">{"".join(made)}</g>'

    def box(self, to: To) -> Box | None:
        return self.place(to)[2] if self.text else None


class Arrow:
    """A straight arrow between two places of the data."""

    zorder = 3.0
    clip = False

    def __init__(self, start: Any, end: Any, color: str, width: float) -> None:
        self.start, self.end, self.color, self.width = start, end, css(color), width

    def draw(self, to: To) -> str:
        a, b = (np.array([float(x) for x in to(*at)]) for at in (self.start, self.end))
        length = float(np.hypot(*(b - a)))
        if not length:
            return ""
        along = (b - a) / length
        across = np.array([-along[1], along[0]])
        # matplotlib keeps 2 points away from both ends where there is room, and half a line's width
        # at the point of the head, whose sides are 4 long and 2 wide.
        a = a + 2 * along * (length > 2)
        b = b - 2 * along * (length > 4) - 0.5 * self.width * 20**0.5 / 2 * along
        head = [b - 4 * along + 2 * across, b, b - 4 * along - 2 * across]
        path = f"M{points(*np.array([a, b]).T)}M{points(*np.array(head).T)}".replace(" ", "L")
        look = f"fill:none;stroke:{self.color};stroke-width:{self.width:g};stroke-linecap:round"
        return f'<path d="{path}" style="{look}"/>'

    def box(self, to: To) -> None:
        return None
