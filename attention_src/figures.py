"""The course's plotting style, and the few plots that chapters share.

Every figure is an SVG that is the same, byte for byte, on each run; that has no background, so that
it sits on a white or a dark page; and that carries a sentence for those who cannot see it.

    fig, ax = figure(4.5, 4.5)
    heatmap(ax, weights, rows=tokens, columns=tokens)
    show(fig, alt="Weights of head 3: each token looks at the one before it.")

Sizes are inches. A page on a phone is about 3.6 inches wide, so a figure of 4.5 inches keeps its
text legible there; stack panels instead of placing them side by side.
"""

import math
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from attention_src.svg import to_svg

PALETTE = {
    "q": "#0072B2",  # blue
    "k": "#D55E00",  # vermilion
    "v": "#009E73",  # green
    "output": "#CC79A7",  # reddish purple
    "weights": "#7A5FC7",  # violet, the one hue of every map of weights
    "ink": "#767676",  # text and axes: the grey that is as readable on white as on dark
}

STYLE: Any = {
    "font.family": "DejaVu Sans",  # ships with matplotlib, so letters are the same everywhere
    "font.size": 10.0,
    "axes.titlesize": 10.0,
    "text.color": PALETTE["ink"],
    "axes.labelcolor": PALETTE["ink"],
    "axes.titlecolor": PALETTE["ink"],
    "axes.edgecolor": PALETTE["ink"],
    "xtick.color": PALETTE["ink"],
    "ytick.color": PALETTE["ink"],
    "hatch.color": PALETTE["ink"],
    "hatch.linewidth": 0.5,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "axes.prop_cycle": cycler(
        color=[PALETTE[name] for name in ("q", "k", "v", "output", "weights")]
    ),
}


def figure(width, height, **subplots):
    """Make an empty figure in the course's style, and its axes.

    Args:
        width, height: inches; at most 4.5 wide to stay legible on a phone
        **subplots: what matplotlib's Figure.subplots takes, e.g. nrows=2, sharex=True
    Returns:
        (fig, axes): one Axes, or an array of them if there are several
    Raises:
        ValueError: width or height is not a positive number
    """
    for name, value in (("width", width), ("height", height)):
        if not (isinstance(value, (int, float)) and math.isfinite(value) and value > 0):
            raise ValueError(f"{name}={value!r}: it must be a positive number of inches")
    matplotlib.rcParams.update(STYLE)
    # A Figure of its own, not one of pyplot's: notebooks show those a second time, as PNG.
    fig = Figure(figsize=(width, height), layout="constrained")
    return fig, fig.subplots(**subplots)


def show(fig, alt):
    """Display a figure in the notebook, once, as SVG with its description.

    Args:
        fig: from `figure`
        alt: what the figure shows, in words, for those who cannot see it
    Raises:
        ValueError: alt is empty
    """
    from IPython.display import display

    bundle = {"image/svg+xml": to_svg(fig, alt), "text/plain": alt}
    fig.clear()
    display(bundle, raw=True)


def steady(values):
    """Round data to what can be seen, so that another processor's last bits draw the same figure.

    Args:
        values: array of finite numbers
    Returns:
        the same array with three digits of its largest entry
    """
    x = np.asarray(values, dtype=float)
    largest = float(np.abs(x).max(initial=0.0))
    return x if largest == 0 else np.round(x, 2 - math.floor(math.log10(largest)))


def heatmap(ax, matrix, *, rows, columns, mask=None, vmax=None, annotate=False):
    """Draw weights as a map: the stronger the colour, the larger the weight.

    A weight of 0 is the page itself. Hidden cells are hatched.

    Args:
        ax: from `figure`
        matrix: [n_q, n_k] weights, none negative
        rows: n_q labels of the queries, or None for no labels
        columns: n_k labels of the keys, or None for no labels
        mask: bool [n_q, n_k], True = may attend; None = all
        vmax: the weight drawn in full colour; None = the largest
        annotate: write each weight into its cell, with two decimals
    Returns:
        the weight drawn in full colour
    Raises:
        ValueError: a shape, a label list or a weight that does not fit
    """
    p, visible = _check_map(matrix, rows, columns, mask)
    top = float(vmax) if vmax is not None else float(p[visible].max(initial=0.0)) or 1.0
    if not top > 0:
        raise ValueError(f"vmax={vmax!r}: it must be a positive weight")
    # Under a number the colour stays pale, so that the number can be read.
    strongest = 0.4 if annotate else 1.0
    alpha = strongest * np.clip(p / top, 0, 1)

    # What would round to 0 cannot be seen: leave it out.
    drawn = np.argwhere(visible & (alpha >= 0.005))
    shades = [round(float(alpha[i, j]), 2) for i, j in drawn]
    colors = [to_rgba(PALETTE["weights"], shade) for shade in shades]
    ax.add_collection(_cells(drawn, facecolors=colors or "none"))
    if not visible.all():
        hatched = _cells(np.argwhere(~visible), facecolors="none", edgecolors=PALETTE["ink"])
        hatched.set_hatch("///")
        ax.add_collection(hatched)
    if annotate:
        for i, j in np.argwhere(visible):
            ax.text(j, i, f"{p[i, j]:.2f}", ha="center", va="center", size=9)
    _map_axes(ax, p.shape, rows, columns)
    return top


def _check_map(matrix, rows, columns, mask):
    p = np.asarray(matrix, dtype=float)
    if p.ndim != 2 or 0 in p.shape:
        raise ValueError(f"matrix has shape {p.shape}: it must be [n_q, n_k], neither of them 0")
    visible = np.ones(p.shape, dtype=bool) if mask is None else np.asarray(mask)
    if visible.dtype != bool or visible.shape != p.shape:
        raise ValueError(
            f"mask has dtype {visible.dtype} and shape {visible.shape}: it must be bool and "
            f"{p.shape} as matrix, True = may attend"
        )
    if not (np.isfinite(p[visible]).all() and (p[visible] >= 0).all()):
        raise ValueError("matrix holds a negative, infinite or NaN weight: a map needs none")
    for name, labels, size in (("rows", rows, p.shape[0]), ("columns", columns, p.shape[1])):
        if labels is not None and len(labels) != size:
            raise ValueError(f"{name} has {len(labels)} labels, but matrix needs {size}")
    return p, visible


def _cells(indices, **colors):
    """Unit squares around (column, row), as shapes: a raster would blur and break dark mode."""
    corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    squares = [corners + np.array([j, i]) for i, j in indices]
    return PolyCollection(squares, linewidths=0, clip_on=False, **colors)


def _map_axes(ax, shape, rows, columns):
    n_q, n_k = shape
    ax.set(xlim=(-0.5, n_k - 0.5), ylim=(n_q - 0.5, -0.5), aspect="equal")
    ax.spines[:].set(visible=True, linewidth=0.6)
    ax.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    ax.set_xticks([])
    ax.set_yticks([])
    if columns is not None:
        slanted = n_k > 4 and max(map(len, map(str, columns))) > 2
        ax.set_xticks(range(n_k), [str(c) for c in columns], rotation=90 if slanted else 0)
        ax.xaxis.set_label_position("top")
        ax.set_xlabel("key", color=PALETTE["k"])
    if rows is not None:
        ax.set_yticks(range(n_q), [str(r) for r in rows])
        ax.set_ylabel("query", color=PALETTE["q"])


def bars(ax, values, labels, *, color="weights", decimals=2):
    """Draw one bar per value, with the value written at its end.

    Args:
        ax: from `figure`
        values: [n] finite numbers
        labels: n strings, under the bars
        color: a name in PALETTE, or any colour; or a list of n
        decimals: digits written after the point; None writes nothing
    Raises:
        ValueError: values are not a row of finite numbers, or labels are not as many
    """
    heights = np.asarray(values, dtype=float)
    if heights.ndim != 1 or not np.isfinite(heights).all():
        raise ValueError(f"values has shape {heights.shape}: it must be [n] finite numbers")
    if len(labels) != len(heights):
        raise ValueError(f"labels has {len(labels)} entries, but there are {len(heights)} values")
    colors = [color] * len(heights) if isinstance(color, str) else list(color)
    x = np.arange(len(heights))
    ax.bar(x, steady(heights), width=0.7, color=[PALETTE.get(c, c) for c in colors])
    ax.set_xticks(x, [str(label) for label in labels])
    ax.tick_params(axis="x", length=0)
    if decimals is not None:
        for i, height in enumerate(heights):
            ax.annotate(
                f"{height:.{decimals}f}",
                (i, steady(heights)[i]),
                xytext=(0, 3 if height >= 0 else -3),
                textcoords="offset points",
                ha="center",
                va="bottom" if height >= 0 else "top",
                size=9,
            )
    ax.margins(y=0.12)


def lines(ax, x, series, *, colors=None):
    """Draw several lines over one x, each with its name at its right end instead of a legend.

    Set the axes' scale and limits before the call: the names are spread by where lines end.

    Args:
        ax: from `figure`
        x: [n] positions
        series: dict from name to [n] values
        colors: dict from name to a name in PALETTE or any colour; None = the course's order
    Raises:
        ValueError: a series is not as long as x
    """
    positions = np.asarray(x, dtype=float)
    ends = []
    for name, values in series.items():
        y = steady(values)
        if y.shape != positions.shape:
            raise ValueError(f"series[{name!r}] has shape {y.shape}, but x has {positions.shape}")
        chosen = colors[name] if colors is not None else None
        (line,) = ax.plot(positions, y, color=PALETTE.get(str(chosen), chosen))
        ends.append((y[-1], name, line.get_color()))
    _label_ends(ax, positions[-1], ends)


def _label_ends(ax, x, ends, gap=0.07):
    """Write names at the ends of lines, pushed apart to at least `gap` of the axes' height."""
    ax.autoscale_view()  # matplotlib puts this off until it draws, but we need the limits now
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
