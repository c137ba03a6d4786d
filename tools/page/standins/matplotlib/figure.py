"""A figure: rows and columns of axes, laid out so that nothing overlaps, and written as SVG."""

from typing import Any

import numpy as np
from matplotlib.artists import Box, as_they_are
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import HATCH
from matplotlib.looks import Refuses, finish, one_of

PAD, SPACE = 3.0, 0.02  # around each pair of axes: points; at least this share between them


class To:
    """From data, or from shares of the axes, to points of the figure."""

    def __init__(self, ax: Axes, box: Box) -> None:
        self.ax, self.box = ax, box

    def __call__(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        return self.of_axes(self.ax.x.share(x), self.ax.y.share(y))

    def of_axes(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        x0, y0, x1, y1 = self.box
        return x0 + np.asarray(x) * (x1 - x0), y1 - np.asarray(y) * (y1 - y0)


class Figure(Refuses):
    """As matplotlib's, with layout="constrained"."""

    called = "fig"

    def __init__(self, figsize: tuple[float, float], layout: str) -> None:
        self.width, self.height = 72 * figsize[0], 72 * figsize[1]
        self.axes = np.empty((0, 0), dtype=object)

    def subplots(
        self,
        nrows: int = 1,
        ncols: int = 1,
        *,
        sharex: bool = False,
        sharey: bool = False,
        **other: Any,
    ) -> Any:
        finish(other)
        one_of("sharex", sharex, False, True)
        one_of("sharey", sharey, False, True)
        shared_x, shared_y = Axis(), Axis()
        self.axes = np.empty((nrows, ncols), dtype=object)
        for i, j in np.ndindex(nrows, ncols):
            ax = Axes(shared_x if sharex else Axis(), shared_y if sharey else Axis())
            ax.look.shown["x"] = not sharex or i == nrows - 1
            ax.look.shown["y"] = not sharey or j == 0
            self.axes[i, j] = ax
        return self.axes.item() if self.axes.size == 1 else self.axes.squeeze()

    def clear(self) -> None:
        self.axes = np.empty((0, 0), dtype=object)

    def savefig(self, buffer: Any, **settings: Any) -> None:
        boxes = self.boxes()
        drawn = zip(range(len(boxes)), self.axes.flat, boxes, strict=True)
        body = "".join(self._drawn(number, ax, box) for number, ax, box in drawn)
        body = HATCH * ("#hatch" in body) + body
        size = f"{self.width:g} {self.height:g}"
        buffer.write(f'<svg viewBox="0 0 {size}">\n{body}\n</svg>')

    def _drawn(self, number: int, ax: Axes, box: Box) -> str:
        to = To(ax, box)
        x0, y0, x1, y1 = box
        frame = f'<rect x="{x0:.2f}" y="{y0:.2f}" width="{x1 - x0:.2f}" height="{y1 - y0:.2f}"/>'
        made = [f'<defs><clipPath id="axes-{number}">{frame}</clipPath></defs>']
        made.append(ax.look.draw(box))
        for artist in sorted(ax.artists, key=lambda artist: artist.zorder):
            drawn = _across(artist, to) if getattr(artist, "across", "") else artist.draw(to)
            made.append(f'<g clip-path="url(#axes-{number})">{drawn}</g>' if artist.clip else drawn)
        if ax.made_legend:
            made.append(ax.made_legend.draw(ax.lines, to))
        return "".join(made)

    def boxes(self) -> list[Box]:
        """Where each pair of axes is, in points."""
        rows, columns = self.axes.shape
        sides = np.zeros((4, rows, columns))  # room for words: left, top, right, bottom
        for _ in range(3):  # the words' room depends on the axes' size, and the other way round
            cells = self._cells(sides)
            sides = np.array(
                [[_room(self.axes[i, j], cells[i][j]) for j in range(columns)] for i in range(rows)]
            ).transpose(2, 0, 1)
        cells = self._cells(sides)
        return [_shaped(self.axes[i, j], cells[i][j]) for i, j in np.ndindex(rows, columns)]

    def _cells(self, sides: np.ndarray) -> list[list[Box]]:
        """A cell for each pair of axes: all as wide and as high, with this room around them."""
        rows, columns = sides.shape[1:]
        left, right = sides[0].max(axis=0) + PAD, sides[2].max(axis=0) + PAD
        top, bottom = sides[1].max(axis=1) + PAD, sides[3].max(axis=1) + PAD
        between_x, between_y = SPACE * self.width / columns - PAD, SPACE * self.height / rows - PAD
        left[1:] += max(between_x, 0)
        right[:-1] += max(between_x, 0)
        top[1:] += max(between_y, 0)
        bottom[:-1] += max(between_y, 0)
        wide = (self.width - left.sum() - right.sum()) / columns
        high = (self.height - top.sum() - bottom.sum()) / rows
        x = np.cumsum(left) + np.cumsum([0, *right[:-1]]) + wide * np.arange(columns)
        y = np.cumsum(top) + np.cumsum([0, *bottom[:-1]]) + high * np.arange(rows)
        return [
            [(x[j], y[i], x[j] + wide, y[i] + high) for j in range(columns)] for i in range(rows)
        ]


def _shaped(ax: Axes, cell: Box) -> Box:
    """The axes' box in their cell: all of it, or with one scale for both directions."""
    if not ax.equal:
        return cell
    x0, y0, x1, y1 = cell
    (a, b), (c, d) = ax.x.limits(), ax.y.limits()
    scale = min((x1 - x0) / abs(b - a), (y1 - y0) / abs(d - c))
    wide, high = scale * abs(b - a), scale * abs(d - c)
    left, top = (x0 + x1 - wide) / 2, (y0 + y1 - high) / 2
    return left, top, left + wide, top + high


def _room(ax: Axes, cell: Box) -> list[float]:
    """How far the words of these axes stand out of their cell on each side."""
    box = _shaped(ax, cell)
    to = To(ax, box)
    around = [text.place(as_they_are)[2] for text in ax.look.words(box)]
    inside = [artist.box(to) for artist in ax.artists]
    long = ax.look.reach(box)
    marks = [(box[0] - long["y"], box[1], box[2], box[3] + long["x"])]
    everything = np.array([box, *around, *filter(None, inside), *marks])
    x0, y0 = everything[:, :2].min(axis=0)
    x1, y1 = everything[:, 2:].max(axis=0)
    return [max(0.0, float(n)) for n in (cell[0] - x0, cell[1] - y0, x1 - cell[2], y1 - cell[3])]


def _across(line: Any, to: To) -> str:
    """A line over the whole width or height of the axes."""
    x, y = to(line.x, line.y)
    x0, y0, x1, y1 = to.box
    if line.across == "x":
        return line.drawn(np.array([x0, x1]), np.repeat(y, 2))
    return line.drawn(np.repeat(x, 2), np.array([y1, y0]))
