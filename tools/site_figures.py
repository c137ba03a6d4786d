"""Sphinx extension: drawings are part of the page.

An SVG in the page costs no request and takes the theme's colours: its ink, the grey #767676 of
attention_src.figures, becomes the colour of the text around it. This covers the figures that cells
show and the .svg files of {figure} and {image}.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

INK = re.compile("#767676", re.IGNORECASE)
_log = logging.getLogger(__name__)


def inline(svg, *, prefix, alt=None):
    """An SVG file's text, ready to stand in a page.

    Args:
        svg: the text of the file
        prefix: put before each id, so that two drawings on a page never share one
        alt: what the drawing shows; needed if the SVG has no aria-label of its own
    Raises:
        ValueError: neither the SVG nor `alt` says what it shows
    """
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<!--.*?-->|<metadata.*?</metadata>", "", svg, flags=re.DOTALL)
    if "aria-label=" not in svg[: svg.index(">")]:
        if not alt:
            raise ValueError("the drawing has no alt text: say in a sentence what it shows")
        label = html.escape(alt, quote=True)
        svg = svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
    svg = re.sub(r'(?<=\sid=")([^"]+)(?=")', rf"{prefix}-\1", svg)
    svg = re.sub(r'((?:href="|url\()#)', rf"\g<1>{prefix}-", svg)
    svg = svg.replace("xlink:href", "href").replace(
        ' xmlns:xlink="http://www.w3.org/1999/xlink"', ""
    )
    return INK.sub("currentColor", svg)


def draw_in_page(app, doctree, docname):
    """Replace each image that is an SVG by the drawing itself."""
    if app.builder.format != "html":
        return
    svgs = [n for n in doctree.findall(nodes.image) if n["uri"].endswith(".svg")]
    for number, node in enumerate(svgs, 1):
        path = Path(app.srcdir, node["uri"])
        if not path.is_file():
            continue  # an address; Sphinx has warned about missing files
        try:
            svg = inline(path.read_text("utf-8"), prefix=f"d{number}", alt=node.get("alt"))
        except ValueError as error:
            _log.warning("%s: %s", node["uri"], error, location=node, type="figure")
            continue
        width = f' style="width:{node["width"]}"' if node.get("width") else ""
        box = f'<div class="drawing scroll-x"{width}>{svg}</div>'
        node.replace_self(nodes.raw("", box, format="html"))


def setup(app):
    app.connect("doctree-resolved", draw_in_page)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
