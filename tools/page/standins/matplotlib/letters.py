"""Words in DejaVu Sans, as outlines: the same on every device, and with known widths."""

import json
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

# In ems: a line's height above and below its baseline, and the widths and outlines of letters.
ASCENT, DESCENT, UNITS = 0.76, 0.236, 2048
FORMULA = re.compile(r"\$\d+\^(\{-?\d+\}|\d)\$")


@cache
def _outlines() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("letters.json").read_text("utf-8"))


def pieces(text: str, size: float) -> list[tuple[str, float, float]]:
    """Each letter with its place and its size. "$10^{-2}$" has a raised part."""
    if not FORMULA.fullmatch(text):
        if text.count("$") > 1:
            raise ValueError(f"{text!r} is a formula: figures in the page know powers of ten alone")
        parts = [(text, size)]
    else:
        base, _, raised = text.strip("$").partition("^")
        parts = [(base, size), (raised.strip("{}").replace("-", "−"), 0.7 * size)]
    placed, x = [], 0.0
    for part, high in parts:
        for letter in part:
            placed.append((letter, x, high))
            x += advance(letter) * high
    return [*placed, ("", x, size)]  # the end


def advance(letter: str) -> float:
    """The width of a letter in ems."""
    return _outlines().get(letter, [0.6 * UNITS])[0] / UNITS


def width(text: str, size: float) -> float:
    return pieces(text, size)[-1][1]


def outlines(text: str, size: float) -> str:
    """The words as SVG, their baseline beginning at (0, 0)."""
    made = []
    for letter, x, high in pieces(text, size)[:-1]:
        lift = 0.38 * size if high < size else 0
        scale = high / UNITS
        if letter not in _outlines():
            made.append(
                f'<text x="{x:.2f}" y="{-lift:.2f}" font-size="{high:g}">{escape(letter)}</text>'
            )
        elif path := _outlines()[letter][1]:
            at = f"translate({x:.2f} {-lift:.2f}) scale({scale:.5f} {-scale:.5f})"
            made.append(f'<path d="{path}" transform="{at}"/>')
    return "".join(made)
