"""What an explorable consists of, and the SVG shapes of its static picture."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

STILLS = Path(__file__).parent / "stills"
# Words; or several, one for each view that a script can show: it sets data-view to 0, 1, …
Line = str | tuple[str, ...]

# Readable on white and on black, because the picture does not know the page's theme.
INK, WEIGHTS, KEYS, QUERIES = "#767676", "#7a5fc7", "#d55e00", "#0072b2"


@dataclass(frozen=True)
class Explorable:
    """The first state of an explorable.

    Args:
        given: the data that its script starts from
        alt: what the picture shows
        sentence: what the reader can do with it
        question: what it answers, above the picture; or nothing
        tries: what to try, a line each, below the picture
            (both: words, or several where the script has several views)
        picture: SVG, shown where no script runs; "" where stills/ has it
        size: width and height of the picture, in pixels
    """

    given: dict
    alt: str
    sentence: str
    question: Line = ""
    tries: tuple[Line, ...] = ()
    picture: str = ""
    size: tuple[int, int] = (0, 0)


def still(name: str) -> tuple[str, tuple[int, int]]:
    """The still of an explorable that is a picture of marks.

    Args:
        name: of the explorable
    Returns:
        picture: SVG
        size: width and height of the picture, in pixels
    """
    picture = (STILLS / f"{name}.svg").read_text(encoding="utf-8")
    width, height = re.findall(r' (?:width|height)="(\d+)"', picture)[:2]
    return picture, (int(width), int(height))


def check_words(words: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse words with which an explorable could not say everything.

    Args:
        words: those given to its maker
        wanted: its own, WORDS
    Raises:
        ValueError: words lacks some of wanted
    """
    if missing := sorted(set(wanted) - set(words)):
        raise ValueError(f"words lacks {', '.join(missing)}; it should have what WORDS has")


def text(x: float, y: float, words: str, fill: str = INK, anchor: str = "start") -> str:
    """Words at a point.

    Args:
        x, y: pixels; y is the baseline
        words: plain text, escaped here
        fill: colour
        anchor: "start", "middle" or "end" of the words is at x
    Returns: an SVG element
    """
    return f'<text x="{x:g}" y="{y:g}" fill="{fill}" text-anchor="{anchor}">{escape(words)}</text>'


def rect(x: float, y: float, width: float, height: float, fill: str, extra: str = "") -> str:
    """A rectangle.

    Args:
        x, y: its upper left corner, in pixels
        width, height: pixels
        fill: colour, or "none"
        extra: more attributes, as SVG, with a space before each
    Returns: an SVG element
    """
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}"{extra}/>'


def svg(size: tuple[int, int], parts: list[str]) -> str:
    """The whole picture.

    Args:
        size: width and height, in pixels
        parts: SVG elements, from back to front
    Returns: an <svg>
    """
    width, height = size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="15">{"".join(parts)}</svg>'
    )
