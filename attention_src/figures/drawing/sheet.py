"""The drawing itself: the parts on a sheet, and the sheet as an SVG, wide and narrow."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from attention_src.figures.drawing.joins import Join
from attention_src.figures.drawing.look import SANS, element, num
from attention_src.figures.drawing.parts import Part

MARGIN = 4  # pixels on each side


@dataclass(frozen=True)
class Drawing:
    """A drawing in two arrangements of the same parts.

    Args:
        wide: SVG for a page or a notebook
        narrow: SVG for a phone
        alt: the point in one sentence, without colours, for those who cannot see it
    """

    wide: str
    narrow: str
    alt: str


@dataclass(frozen=True)
class Scene:
    """What one arrangement holds.

    Args:
        root: the part that holds all others
        joins: what joins them, drawn on top of them
        behind: what is drawn below them
    """

    root: Part
    joins: Sequence[Join] = ()
    behind: Sequence[Join] = ()


def both(arrange: Callable[[bool], Scene], alt: str) -> Drawing:
    """A drawing from its two arrangements.

    Args:
        arrange: takes whether it is for a phone
        alt: what the drawing shows, in one sentence
    Returns: the drawing
    Raises:
        ValueError: alt is empty
    """
    return Drawing(svg(arrange(False), alt), svg(arrange(True), alt), alt)


def svg(scene: Scene, alt: str) -> str:
    """An arrangement as an SVG: the same bytes on each run, on every processor and Python.

    It holds presentation attributes alone, no style, id, marker, gradient or link: what shows
    notebooks takes those out.

    Args:
        scene: from a function of drawings/
        alt: what the drawing shows, in one sentence
    Returns: a string that begins with "<svg"
    Raises:
        ValueError: alt is empty
    """
    if not isinstance(alt, str) or not alt.strip():
        raise ValueError(f"alt={alt!r}: say in a sentence what the drawing shows")
    root = scene.root
    root.place(MARGIN, MARGIN)
    w, h = num(math.ceil(root.w + 2 * MARGIN)), num(math.ceil(root.h + 2 * MARGIN))
    top = element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        aria_label=alt,
        viewBox=f"0 0 {w} {h}",
        width=w,
        height=h,
        overflow="visible",
        font_family=SANS,
        text_anchor="middle",
        stroke_width="3",
        stroke_linejoin="round",
    )
    for join in scene.behind:
        top.extend(join())
    root.draw(top)
    for join in scene.joins:
        top.extend(join())
    return ET.tostring(top, encoding="unicode")
