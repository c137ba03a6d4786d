"""Many polygons, as a map of weights has."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artists import points
from matplotlib.colors import css

# What "url(#hatch)" is: thin lines, a figure holds it once.
HATCH = (
    '<defs><pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse">'
    '<path d="M-1 1L1 -1M0 8L8 0M7 9L9 7" style="stroke:#767676;stroke-width:0.5"/>'
    "</pattern></defs>"
)


class PolyCollection:
    """Polygons in data coordinates, each with its colour and opacity, or all hatched."""

    zorder = 1.0
    clip = False

    def __init__(
        self,
        corners: Sequence[np.ndarray],
        facecolors: Any = "none",
        edgecolors: str = "none",  # of hatches, which are in the colour of text
        linewidths: float = 0,
        clip_on: bool = False,
    ) -> None:
        self.corners, self.clip = corners, clip_on
        colors = facecolors if isinstance(facecolors, list) else [facecolors] * len(corners)
        self.colors = [color if isinstance(color, tuple) else css(color) for color in colors]
        self.hatch = False

    def set_hatch(self, pattern: str) -> None:
        self.hatch = bool(pattern)

    def draw(self, to: Any) -> str:
        shapes: dict[Any, list[str]] = {}
        for corner, color in zip(self.corners, self.colors, strict=True):
            shapes.setdefault(color, []).append(f"M{points(*to(*corner.T))}Z".replace(" ", "L"))
        return "".join(self._path(color, "".join(paths)) for color, paths in shapes.items())

    def _path(self, color: Any, path: str) -> str:
        if self.hatch:
            return f'<path d="{path}" style="fill:url(#hatch)"/>'
        if color == "none":
            return ""
        name, opacity = color if isinstance(color, tuple) else (color, 1)
        return f'<path d="{path}" style="fill:{name};fill-opacity:{opacity:g}"/>'

    def box(self, to: Any) -> None:
        return None
