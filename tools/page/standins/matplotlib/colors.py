"""Colours: those of matplotlib that SVG knows by the same name, or that are easily said in it."""

import re
from typing import Any

import matplotlib

LETTERS = {"b": "#0000ff", "g": "#008000", "r": "#ff0000", "c": "#00bfbf", "m": "#bf00bf"}
LETTERS |= {"y": "#bfbf00", "k": "#000000", "w": "#ffffff"}
NAMES = "black gray grey silver white red maroon orange gold yellow olive green lime teal cyan "
NAMES += "blue navy skyblue steelblue purple magenta violet pink salmon tomato brown none"


def css(color: Any) -> str:
    """A colour as SVG has it. From "#0072B2", "red", "r", "C0" of the figure's cycle, "0.5" a grey.

    Raises:
        ValueError: it is none of these; it would be drawn as nothing
    """
    if isinstance(color, str):
        if re.fullmatch(r"#[0-9a-fA-F]{6}", color) or color in NAMES.split():
            return color
        if color in LETTERS:
            return LETTERS[color]
        if re.fullmatch(r"C\d+", color):
            cycle = matplotlib.rcParams["axes.prop_cycle"]["color"]
            return str(cycle[int(color[1:]) % len(cycle)])
        if re.fullmatch(r"0?\.\d+|[01](\.0*)?", color):
            return "#" + 3 * f"{round(255 * float(color)):02x}"
    raise ValueError(
        f"color={color!r} should be #rrggbb, C0 to C9, a grey like '0.5', or of {NAMES}"
    )


def to_rgba(color: str, alpha: float) -> tuple[str, float]:
    """A colour with an opacity."""
    return css(color), alpha
