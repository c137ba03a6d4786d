"""The course's figures: drawings of what it is about, and plots of what it measures.

All are SVGs: the same bytes on each run, with a sentence for those who cannot see them, and without
a background, so that they fit light and dark pages.

    draw("equation")                      a drawing, one of attention_src/figures/drawings/

    fig, ax = figure(4.5, 4.5)            a plot
    heatmap(ax, weights, rows=tokens, columns=tokens)
    show(fig, alt="Weights of head 3: each token looks at the one before it.")

Sizes of plots are in inches. A page on a phone is about 3.6 inches wide, and a plot of up to 4.5
inches is still legible there; stack panels instead of placing them side by side.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention_src.figures.charts import bars, lines
    from attention_src.figures.display import draw
    from attention_src.figures.maps import heatmap
    from attention_src.figures.style import PALETTE, figure, show, three_digits

__all__ = ["PALETTE", "bars", "draw", "figure", "heatmap", "lines", "show", "three_digits"]

# A drawing needs no matplotlib, and the site, which is built without it, draws, too: a name is
# imported when it is asked for.
_HOMES = {"bars": "charts", "draw": "display", "heatmap": "maps", "lines": "charts"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOMES.get(name, 'style')}")
    return getattr(home, name)
