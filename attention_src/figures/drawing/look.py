"""How every drawing looks: colours, sizes of type, strokes; how elements are written."""

import math
import numbers
from collections.abc import Collection
from xml.etree import ElementTree as ET

# Readable on white and on black. Text has hues of its own: a page gives text and fills different
# colours (tools/site/figures.py), and must know which is which.
FILL = {
    "q": "#0072b2",
    "k": "#d55e00",
    "v": "#009e73",
    "p": "#7a5fc7",
    "o": "#cc79a7",
    "ink": "#767676",
}
TEXT = {
    "q": "#1a7cba",
    "k": "#c25500",
    "v": "#00875f",
    "p": "#7e66ca",
    "o": "#b7538b",
    "ink": "#757575",
    "soft": "#767677",
    "paper": "#ffffff",
}

NAME, BODY, NOTE = 17.0, 14.0, 12.5  # the three sizes of type, in pixels
PALE, LIT = 0.2, 1.0  # the two strengths of a colour; between them lie numbers
STROKE, THIN = 1.5, 1.0  # arrows and boxes; frames and what is not there
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
SERIF = "KaTeX_Math, Cambria, serif"  # the letters of mathematics
UPRIGHT = "KaTeX_Main, Cambria, serif"  # its digits and signs


def num(x: float) -> str:
    """A number as a drawing writes it, with one decimal at most.

    Args:
        x: pixels, or another number
    Returns: such as "12" or "0.5"
    """
    # Rounded twice, so that sums that differ in their last bit are written alike.
    return f"{round(round(x, 6), 1) + 0:g}"


def element(tag: str, **attributes: str | float | None) -> ET.Element:
    """An SVG element.

    Args:
        tag: "path", "rect", ...
        **attributes: stroke_width=1.0 becomes stroke-width="1"; None is left out
    Returns: the element
    """
    made = ET.Element(tag)
    for key, value in attributes.items():
        if value is None:
            continue
        if not isinstance(value, str):
            value = f"{value:.2g}" if "opacity" in key else num(value)
        made.set(key.replace("_", "-"), value)
    return made


def one_of(name: str, value: str, allowed: Collection[str]) -> str:
    """Let only known words through.

    Args:
        name: of the argument, for the message
        value: what was given
        allowed: what may be given
    Returns: value
    Raises:
        ValueError: value is none of these
    """
    if value not in allowed:
        raise ValueError(f"{name}={value!r}: it should be one of {', '.join(map(repr, allowed))}")
    return value


def positive(name: str, value: float) -> float:
    """Let only positive, finite numbers through.

    Args:
        name: of the argument, for the message
        value: what was given
    Returns: value
    Raises:
        ValueError: value is not a finite number above 0
    """
    if not (isinstance(value, numbers.Real) and 0 < value < math.inf):
        raise ValueError(f"{name}={value!r}: it should be a positive number")
    return value
