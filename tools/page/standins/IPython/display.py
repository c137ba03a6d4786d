"""Show a figure in the page: worker.js sends it on."""

import re
import sys
from collections.abc import Mapping
from typing import Any

from page import figure  # of worker.js; takes one SVG, or a wide one and a narrow one

from attention_src.figures.drawing.look import FILL, TEXT
from attention_src.figures.style import PALETTE

# As tools/site/figures.py and drawings.py do, so that both themes have their own colours.
_HUES = {"q": "q", "k": "k", "v": "v", "output": "o", "weights": "p"}
PLOT = {PALETTE[name].lower(): f"var(--figure-{hue})" for name, hue in _HUES.items()}
PLOT[PALETTE["ink"]] = "currentColor"
DRAWING = {
    **{FILL[hue]: f"var(--figure-{hue})" for hue in "qkvpo"},
    **{TEXT[hue]: f"var(--course-{hue})" for hue in "qkvpo"},
    FILL["ink"]: "currentColor",
    TEXT["ink"]: "var(--pst-color-text-base)",
    TEXT["soft"]: "var(--pst-color-text-muted)",
    TEXT["paper"]: "var(--pst-color-background)",
}


def display(bundle: Mapping[str, str], metadata: Any = None, raw: bool = True) -> None:
    """Show what attention_src.figures makes: a bundle with an SVG."""
    narrow = (metadata or {}).get("image/svg+xml", {}).get("narrow")
    svgs = [bundle["image/svg+xml"], *([narrow] if narrow else [])]
    colours = DRAWING if narrow else PLOT
    sys.stdout.flush()
    figure(*(re.sub(r"#[0-9a-fA-F]{6}", lambda m: _on_page(m[0], colours), s) for s in svgs))


def _on_page(colour: str, colours: dict[str, str]) -> str:
    return colours.get(colour.lower(), colour)
