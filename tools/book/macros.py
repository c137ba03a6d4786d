r"""The course's TeX macros: \Q \K \V \O \P, coloured as in the figures.

On the site KaTeX gives each a class, and the style sheet chooses the colour for light and for dark.
Notebooks have no macros: there they are expanded, with a fixed colour.
"""

from __future__ import annotations

import re

# The letters and their colours: queries, keys, values, output, weights.
COLOURS = {"Q": "#0072B2", "K": "#D55E00", "V": "#009E73", "O": "#CC79A7", "P": "#7A5FC7"}

# For KaTeX's option `macros`. The classes are math-q, math-k, math-v, math-o, math-p.
KATEX = {rf"\{name}": rf"\htmlClass{{math-{name.lower()}}}{{{name}}}" for name in COLOURS}

_MACRO = re.compile(r"\\([QKVOP])(?![A-Za-z])")


def expand(tex: str) -> str:
    r"""Write the macros out: \Q becomes {\color{#0072B2}Q}."""
    return _MACRO.sub(lambda m: rf"{{\color{{{COLOURS[m[1]]}}}{m[1]}}}", tex)
