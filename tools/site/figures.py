"""Sphinx extension: drawings are part of the page.

An SVG in the page costs no request and follows the theme: the grey #767676 of attention_src.figures
becomes the colour of the text around it, and the palette's colours become variables that course.css
sets for light and for dark. The shape of a letter is written once per page, however many figures
use it. What attention_src.figures.drawing draws needs none of this: see drawings.py.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tools.book import macros
from tools.book.chapters import Book
from tools.site import drawings
from tools.site.outputs import with_outputs

HUES = {hue.lower(): f"var(--figure-{name.lower()})" for name, hue in macros.COLOURS.items()}
INK = re.compile("#767676", re.IGNORECASE)
_XLINK = ' xmlns:xlink="http://www.w3.org/1999/xlink"'


class Page:
    """The drawings of one page, rewritten so that they can be part of it."""

    def __init__(self) -> None:
        self.drawings = 0
        self.shapes: set[str] = set()  # ids of the shapes that the page already has

    def inline(self, svg: str) -> str:
        """An SVG that a cell shows as an element of the page."""
        self.drawings += 1
        svg = svg.replace("xlink:href", "href").replace(_XLINK, "")
        svg = self._share_shapes(self._own_ids(svg))
        svg = re.sub(r'(?<= d=")[^"]*', lambda match: shorten(match[0]), svg)
        svg = re.sub(r'(?<= style=")[^"]*', lambda match: use_hues(match[0]), svg)
        return INK.sub("currentColor", svg)

    def _own_ids(self, svg: str) -> str:
        """Two drawings on a page must not share an id."""
        svg = re.sub(r'(?<=\sid=")([^"]+)(?=")', rf"d{self.drawings}-\1", svg)
        return re.sub(r'((?:href="|url\()#)', rf"\g<1>d{self.drawings}-", svg)

    def _share_shapes(self, svg: str) -> str:
        """Name each shape of <defs> by its hash; leave out those that the page already has."""
        names: dict[str, str] = {}

        def share(match: re.Match[str]) -> str:
            old, shape = match[1], match[0].replace(f' id="{match[1]}"', "")
            names[old] = "s" + hashlib.sha256(shape.encode()).hexdigest()[:8]
            if names[old] in self.shapes:
                return ""
            self.shapes.add(names[old])
            return match[0].replace(old, names[old])

        def definitions(match: re.Match[str]) -> str:
            return re.sub(r'<path id="([^"]+)"[^>]*/>', share, match[0])

        # Not in <clipPath> or <pattern>: a browser looks for those in visible drawings only.
        svg = re.sub(r"<defs>(?:\s*<path [^>]*/>)+\s*</defs>", definitions, svg)
        return re.sub(r'(?<=href="#)[^"]+', lambda match: names.get(match[0], match[0]), svg)


def use_hues(style: str) -> str:
    """ "fill: #0072b2" becomes "fill: var(--figure-q)"."""
    return re.sub(r"#\w{6}", lambda match: HUES.get(match[0].lower(), match[0]), style)


def shorten(path: str) -> str:
    """The same path with H and V for horizontal and vertical lines: "M 1 2 L 5 2" is "M1 2H5"."""
    out, here = [], ("", "")
    for command, x, y in re.findall(r"([A-Za-z])\s*([^\sA-Za-z]*)\s*([^\sA-Za-z]*)\s*", path):
        if command not in "MLz" or (command == "z") != (x == ""):
            return re.sub(r"\s*([A-Za-z])\s*", r"\1", path).strip()  # a curve, or another form
        if command == "L" and y == here[1]:
            out.append(f"H{x}")
        elif command == "L" and x == here[0]:
            out.append(f"V{y}")
        else:
            out.append(f"{command}{x} {y}".strip())
        here = (x, y)
    return "".join(out)


def draw_in_page(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Replace each SVG image by the drawing itself."""
    if app.builder.format != "html":
        return
    page = Page()
    images = [n for n in doctree.findall(nodes.image) if n["uri"].endswith(".svg")]
    chapters = [c for c in Book(Path(app.srcdir)).chapters if c.docname == docname and images]
    narrow = {k: v for c in chapters for k, v in drawings.arrangements(with_outputs(c)).items()}
    for node in images:
        text = Path(app.srcdir, node["uri"]).read_text("utf-8")
        if text in narrow:
            html = drawings.both(text, narrow[text])
        else:
            html = f'<div class="drawing">{page.inline(text)}</div>'
        node.replace_self(nodes.raw("", html, format="html"))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", draw_in_page)
    return {"version": "2", "parallel_read_safe": True, "parallel_write_safe": True}
