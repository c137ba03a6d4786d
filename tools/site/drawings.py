"""A drawing of attention_src.figures.drawing on a page: in its colours, and in both arrangements.

The page holds the wide arrangement and the narrow one; drawings.css shows the one that fits.
"""

from __future__ import annotations

import re

import nbformat

from attention_src.figures.drawing.look import FILL, TEXT

# Fills and text have hues of their own, because a page gives them different colours.
COLOURS = {
    **{FILL[hue]: f"var(--figure-{hue})" for hue in "qkvpo"},
    **{TEXT[hue]: f"var(--course-{hue})" for hue in "qkvpo"},
    FILL["ink"]: "currentColor",
    TEXT["ink"]: "var(--pst-color-text-base)",
    TEXT["soft"]: "var(--pst-color-text-muted)",
    TEXT["paper"]: "var(--pst-color-background)",
}


def on_page(svg: str) -> str:
    """The drawing in the page's colours, light or dark; nothing else of it changes."""
    return re.sub(r"#[0-9a-f]{6}", lambda match: COLOURS.get(match[0], match[0]), svg)


def both(wide: str, narrow: str, *classes: str) -> str:
    """The HTML of a drawing, with further classes of its box."""
    return (
        f'<div class="{" ".join(("drawing", *classes))}">'
        f'<div class="drawing-wide">{on_page(wide)}</div>'
        f'<div class="drawing-narrow">{on_page(narrow)}</div></div>'
    )


def arrangements(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """The drawings in a notebook's outputs: wide arrangement to narrow one."""
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", []) if "data" in out]
    shown = [(out.data, out.metadata.get("image/svg+xml", {})) for out in outputs]
    return {data["image/svg+xml"]: info["narrow"] for data, info in shown if "narrow" in info}
