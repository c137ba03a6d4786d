"""The few parts of matplotlib that the course's figures use, for Python in the page.

They write the SVG that matplotlib would write, as nearly as a reader can see, in a hundredth of its
size: matplotlib for Pyodide is in no registry that a build can reach.

Frozen: it draws what the course draws. When PyPI has wheels of NumPy and of matplotlib for the
page's Python (of contourpy, which matplotlib needs, it has them), this folder goes, and so does
NumPy in tools/page/vendor. Until then it is mended, and learns nothing that a plot can do without.

    figure   a figure, its layout, its SVG
    axes     what is drawn in it
    axis     scale, limits and ticks of one direction
    bars     bars, upright and lying
    artists  one thing that is drawn, in points; collections: many polygons; legend
    decorations  frame, ticks, labels, title
    looks    colours, widths and formats, as they are asked for
    letters  DejaVu Sans as outlines

What is not here raises an error that says so.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

rcParams: dict[str, Any] = {}


@contextmanager
def rc_context(settings: dict[str, Any]) -> Iterator[None]:
    yield
