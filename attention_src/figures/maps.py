"""Weights as a map, with one cell for each query and key."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba

from attention_src.figures.style import PALETTE

Labels = Sequence[Any] | None


def heatmap(
    ax: Axes,
    matrix: Any,
    *,
    rows: Labels,
    columns: Labels,
    mask: Any = None,
    vmax: float | None = None,
    annotate: bool = False,
) -> float:
    """Draw weights as a map: the larger the weight, the stronger the colour.

    A weight of 0 has no colour at all. Hidden cells are hatched.

    Args:
        ax: from `figure`
        matrix: [n_q, n_k] weights, none negative
        rows: n_q labels of the queries, or None for no labels
        columns: n_k labels of the keys, or None for no labels
        mask: bool [n_q, n_k], True = may attend; None = all
        vmax: the weight drawn in full colour; None = the largest
        annotate: write each weight into its cell, with two decimals
    Returns: the weight drawn in full colour
    Raises:
        ValueError: matrix or mask has a wrong shape, a weight is negative or not finite, there are
            too few or too many labels, or vmax is not positive
    """
    p, visible = _check_map(matrix, rows, columns, mask)
    top = float(vmax) if vmax is not None else float(p[visible].max(initial=0.0)) or 1.0
    if not top > 0:
        raise ValueError(f"vmax={vmax!r}: it must be a positive weight")
    strongest = 0.4 if annotate else 1.0  # pale enough to read a number on it
    opacity = strongest * np.clip(p / top, 0, 1)

    drawn = np.argwhere(visible & (opacity >= 0.005))  # the others would round to 0
    shades = [round(float(opacity[i, j]), 2) for i, j in drawn]
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


def _check_map(
    matrix: Any, rows: Labels, columns: Labels, mask: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The matrix in float64, and which of its cells are visible."""
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


def _cells(indices: np.ndarray, **colors: Any) -> PolyCollection:
    """Unit squares centred on (column, row). Not an image, which would be blurred and opaque."""
    corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    squares = [corners + np.array([j, i]) for i, j in indices]
    return PolyCollection(squares, linewidths=0, clip_on=False, **colors)


def _map_axes(ax: Axes, shape: tuple[int, ...], rows: Labels, columns: Labels) -> None:
    """Queries downwards, keys to the right with their labels on top."""
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
