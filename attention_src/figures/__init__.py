"""The course's plotting style, and the few plots that chapters share.

Every figure is an SVG: the same bytes on each run, with a sentence for those who cannot see it, and
without a background, so that it fits light and dark pages.

    fig, ax = figure(4.5, 4.5)
    heatmap(ax, weights, rows=tokens, columns=tokens)
    show(fig, alt="Weights of head 3: each token looks at the one before it.")

Sizes are in inches. A page on a phone is about 3.6 inches wide, and a figure of up to 4.5 inches is
still legible there; stack panels instead of placing them side by side.
"""

from attention_src.figures.charts import bars, lines
from attention_src.figures.draw import draw
from attention_src.figures.heatmap import heatmap
from attention_src.figures.style import PALETTE, figure, show, three_digits

__all__ = ["PALETTE", "bars", "draw", "figure", "heatmap", "lines", "show", "three_digits"]
