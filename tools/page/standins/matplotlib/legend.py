"""A legend inside the axes: a sample of each line that has a label, and the label."""

from copy import copy
from typing import Any

import numpy as np
from matplotlib import letters
from matplotlib.artists import Box, Line, Text, as_they_are
from matplotlib.looks import finish, one_of

# Where it may stand, in the order in which matplotlib tries.
PLACES = ("upper right", "upper left", "lower left", "lower right", "center right")
PLACES += ("center left", "lower center", "upper center", "center center")
ROW = letters.ASCENT + letters.DESCENT  # a line's height, in font sizes like what follows
PAD, AROUND, BETWEEN, AFTER_SAMPLE, COLUMNS = 0.4, 0.5, 0.5, 0.8, 2.0


class Legend:
    """As matplotlib's, without a frame."""

    def __init__(
        self,
        lines: list[Line],
        *,
        loc: str = "best",
        ncols: int = 1,
        frameon: bool = False,
        handlelength: float = 2.0,
        size: float = 10.0,
        **other: Any,
    ) -> None:
        finish(other)
        one_of("frameon", frameon, False)
        one_of("loc", loc, "best", *PLACES)
        self.lines = [line for line in lines if line.label]
        self.places = PLACES if loc == "best" else (loc,)
        self.rows = -(-len(self.lines) // ncols)
        self.sample, self.size = handlelength * size, size

    def draw(self, everything: list[Line], to: Any) -> str:
        """The legend where it hides the fewest points of all lines; `to` as for any artist."""
        if not self.lines:
            return ""
        size, rows = self.size, self.rows
        wide = [letters.width(str(line.label), size) for line in self.lines]
        groups = [wide[i : i + rows] for i in range(0, len(wide), rows)]
        widths = [self.sample + AFTER_SAMPLE * size + max(group) for group in groups]
        total = sum(widths) + COLUMNS * size * (len(widths) - 1) + 2 * PAD * size
        high = (rows * ROW + BETWEEN * (rows - 1) + 2 * PAD) * size
        points = [_along(*to(line.x, line.y)) for line in everything]
        left, top = self._place(to.box, total, high, points)
        made = []
        for number, line in enumerate(self.lines):
            column, row = divmod(number, rows)
            x = left + PAD * size + sum(widths[:column]) + COLUMNS * size * column
            base = top + (PAD + row * (ROW + BETWEEN) + letters.ASCENT) * size
            text = Text(x + self.sample + AFTER_SAMPLE * size, base, str(line.label), size=size)
            made += [_sample(line, x, x + self.sample, base - 0.35 * size), text.draw(as_they_are)]
        return "".join(made)

    def _place(self, box: Box, wide: float, high: float, points: list[np.ndarray]) -> Any:
        """The upper left corner."""
        x0, y0, x1, y1 = box
        pad = AROUND * self.size
        xs = {"left": x0 + pad, "center": (x0 + x1 - wide) / 2, "right": x1 - pad - wide}
        ys = {"upper": y0 + pad, "center": (y0 + y1 - high) / 2, "lower": y1 - pad - high}
        x, y = np.concatenate([*points, np.empty((2, 0))], axis=1)

        def hidden(corner: tuple[float, float]) -> int:
            left, top = corner
            return int(((x > left) & (x < left + wide) & (y > top) & (y < top + high)).sum())

        corners = [(xs[name.split()[-1]], ys[name.split()[0]]) for name in self.places]
        return min(corners, key=hidden)


def _along(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """200 points along a line."""
    at, of = np.linspace(0, 1, 200), np.linspace(0, 1, len(x))
    return np.stack([np.interp(at, of, x), np.interp(at, of, y)])


def _sample(line: Line, left: float, right: float, y: float) -> str:
    """A short piece of a line, with its marker in the middle."""
    piece, mark = copy(line), copy(line)
    piece.marker, mark.style = None, "none"
    middle = (left + right) / 2
    return piece.drawn(np.array([left, right]), np.array([y, y])) + mark.drawn(
        np.array([middle]), np.array([y])
    )
