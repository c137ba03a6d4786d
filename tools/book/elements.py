"""A docutils node for an HTML element with attributes of its own."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


class element(nodes.General, nodes.Element):
    """<tag …>children</tag>. node["tag"] names it; node["html"] holds its further attributes."""


def make(tag: str, *children: nodes.Node, classes: str = "", **html: str) -> element:
    """An element; `data_label="x"` becomes data-label="x"."""
    names = {key.replace("_", "-"): value for key, value in html.items()}
    return element("", *children, tag=tag, html=names, classes=classes.split())


def is_kind(node: nodes.Node, kind: str) -> bool:
    """Whether it is such an element, of this class."""
    return isinstance(node, element) and kind in node["classes"]


def visit(self: Any, node: element) -> None:
    self.body.append(self.starttag(node, node["tag"], "", **node["html"]))


def depart(self: Any, node: element) -> None:
    self.body.append(f"</{node['tag']}>")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(element, html=(visit, depart))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
