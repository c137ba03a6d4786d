"""The course's colours and style: make a figure, show it with its description."""

import math
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.figure import Figure

from attention_src.figures.svg import to_svg
from attention_src.shapes import is_number

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


def figure(width: float, height: float, **subplots: Any) -> tuple[Figure, Any]:
    """Make an empty figure in the course's style, and its axes.

    Args:
        width, height: inches; at most 4.5 wide to stay legible on a phone
        **subplots: what matplotlib's Figure.subplots takes, e.g. nrows=2, sharex=True
    Returns:
        fig: the figure, for `show`
        axes: one Axes, or an array of them if there are several
    Raises:
        ValueError: width or height is not a positive number
    """
    for name, value in (("width", width), ("height", height)):
        if not is_number(value) or value <= 0:
            raise ValueError(f"{name}={value!r}: it must be a positive number of inches")
    matplotlib.rcParams.update(STYLE)
    # Not made by pyplot: a notebook would show it a second time, as PNG.
    fig = Figure(figsize=(float(width), float(height)), layout="constrained")
    return fig, fig.subplots(**subplots)


def show(fig: Figure, alt: str) -> None:
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


def three_digits(values: Any) -> np.ndarray:
    """Round data to what can be seen, so that a figure is the same on every processor.

    Args:
        values: array of finite numbers
    Returns: float64, of the same shape, rounded to the third digit of the largest entry
    """
    x = np.asarray(values, dtype=float)
    largest = float(np.abs(x).max(initial=0.0))
    return x if largest == 0 else np.round(x, 2 - math.floor(math.log10(largest)))
