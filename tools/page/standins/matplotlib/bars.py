"""Bars: upright, lying, and in pieces. Functions that are methods of Axes."""

from typing import Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import css, to_rgba
from matplotlib.looks import finish, long_names, one_of


def bar(ax: Any, x: Any, height: Any, *, width: float = 0.8, color: Any = None, **look: Any) -> Any:
    finish(look)
    x, height = ax.x.places(x), np.asarray(height, float)
    _add(ax, x - width / 2, x + width / 2, 0 * height, height, color or next(ax.fills))
    ax.y.at_edge = True


def barh(
    ax: Any,
    y: Any,
    width: Any,
    *,
    height: float = 0.8,
    left: Any = 0,
    color: Any = None,
    **look: Any,
) -> None:
    finish(look)
    y, left = ax.y.places(y), np.asarray(left, float) + np.zeros(len(y))
    _add(ax, left, left + width, y - height / 2, y + height / 2, color or next(ax.fills))
    ax.x.at_edge = True


def broken_barh(
    ax: Any, xranges: Any, yrange: Any, *, color: Any = None, alpha: float = 1, **look: Any
) -> None:
    """Pieces from x over a width, all of one height."""
    look = long_names(look)
    one_of("linewidth", look.pop("linewidth", 0), 0)
    finish(look)
    x, width = np.asarray(xranges, float).reshape(-1, 2).T
    y, height = yrange
    shade = to_rgba(color or next(ax.fills), alpha)
    _add(ax, x, x + width, y + 0 * x, y + height + 0 * x, [shade] * len(x))


def _add(ax: Any, x0: Any, x1: Any, y0: Any, y1: Any, color: Any) -> None:
    """Rectangles, in one colour or in a list of them."""
    corners = [
        np.array([[a, c], [b, c], [b, d], [a, d]])
        for a, b, c, d in zip(x0, x1, y0, y1, strict=True)
    ]
    colors = color if isinstance(color, list) else [css(color)] * len(corners)
    ax.add_collection(PolyCollection(corners, colors, clip_on=True))
    ax.x.show([x0, x1])
    ax.y.show([y0, y1])
