"""Bars and lines, labelled directly instead of with a legend."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from attention_src.figures.style import PALETTE, three_digits


def bars(
    ax: Axes,
    values: Any,
    labels: Sequence[Any],
    *,
    color: str | Sequence[str] = "weights",
    decimals: int | None = 2,
) -> None:
    """Draw one bar per value, with the value written at its end.

    Args:
        ax: from `figure`
        values: [n] finite numbers
        labels: n labels, under the bars
        color: a name in PALETTE, or any colour; or a list of n
        decimals: digits after the decimal point; None = write no values
    Raises:
        ValueError: values is not [n] finite numbers, or there are not n labels
    """
    heights = np.asarray(values, dtype=float)
    if heights.ndim != 1 or not np.isfinite(heights).all():
        raise ValueError(f"values has shape {heights.shape}: it must be [n] finite numbers")
    if len(labels) != len(heights):
        raise ValueError(f"labels has {len(labels)} entries, but there are {len(heights)} values")
    colors = [color] * len(heights) if isinstance(color, str) else list(color)
    x = np.arange(len(heights))
    rounded = three_digits(heights)
    ax.bar(x, rounded, width=0.7, color=[PALETTE.get(c, c) for c in colors])
    ax.set_xticks(x, [str(label) for label in labels])
    ax.tick_params(axis="x", length=0)
    if decimals is not None:
        for i, height in enumerate(heights):
            ax.annotate(
                f"{height:.{decimals}f}",
                (i, rounded[i]),
                xytext=(0, 3 if height >= 0 else -3),
                textcoords="offset points",
                ha="center",
                va="bottom" if height >= 0 else "top",
                size=9,
            )
    ax.margins(y=0.12)


def lines(
    ax: Axes, x: Any, series: Mapping[str, Any], *, colors: Mapping[str, str] | None = None
) -> None:
    """Draw several lines over one x, each with its name at its right end instead of a legend.

    Set the axes' scale and limits first, because they decide where the names go.

    Args:
        ax: from `figure`
        x: [n] positions
        series: maps a line's name to its [n] values
        colors: maps it to a name in PALETTE or any colour; None = PALETTE's order
    Raises:
        ValueError: a series is not as long as x
    """
    positions = np.asarray(x, dtype=float)
    ends = []
    for name, values in series.items():
        y = three_digits(values)
        if y.shape != positions.shape:
            raise ValueError(f"series[{name!r}] has shape {y.shape}, but x has {positions.shape}")
        chosen = colors[name] if colors is not None else None
        (line,) = ax.plot(positions, y, color=PALETTE.get(str(chosen), chosen))
        ends.append((y[-1], name, line.get_color()))
    _label_ends(ax, positions[-1], ends)


def _label_ends(ax: Axes, x: float, ends: list[tuple[float, str, Any]], gap: float = 0.07) -> None:
    """Write names at the ends of lines, at least `gap` of the axes' height apart.

    Args:
        ax: where the lines are
        x: where they end
        ends: (y, name, color) of each
        gap: in axes' heights
    """
    ax.autoscale_view()  # compute the limits now; matplotlib would wait until it draws
    to_axes = ax.transData + ax.transAxes.inverted()
    heights = {name: to_axes.transform((x, y))[1] for y, name, _ in ends}
    below = -math.inf
    for _, name, color in sorted(ends, key=lambda end: heights[end[1]]):
        below = max(heights[name], below + gap)
        ax.annotate(
            name,
            (1.0, below),
            xycoords="axes fraction",
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            color=color,
            annotation_clip=False,
        )
    ax.set_xlim(right=x)
