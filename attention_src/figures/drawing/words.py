"""Words of a drawing: names, notes, mathematics, and how wide they are."""

import math
import re
from xml.etree import ElementTree as ET

from attention_src.figures.drawing.look import (
    BODY,
    NOTE,
    SERIF,
    TEXT,
    UPRIGHT,
    element,
    one_of,
    positive,
)
from attention_src.figures.drawing.parts import Part

# In hundredths of the type's size, in the wider of the usual fonts.
_WIDTHS = (("ijl.,:;'|!", 27), ("frtI()[]-/ ", 36), ("scvxyzkJ", 54), ("mw%", 88), ("MW@→", 100))
_MATHS = re.compile(r"([_^])(?:\{([^}]*)\}|(.))|([^\W\d_]+|[\W\d]+?(?=[^\W\d]|[_^]|$))")
_SMALL = 0.8  # what is raised or lowered


def runs(said: str) -> list[tuple[str, str | None, int]]:
    """Words cut into pieces of one font.

    Args:
        said: $...$ in it is mathematics, where _ and ^ lower and raise the letter or {...} after
    Returns: (text, font or None, level), where level is 1 for lowered and -1 for raised
    Raises:
        ValueError: said opens $ and does not close it
    """
    if said.count("$") % 2:
        raise ValueError(f"{said!r}: a $ that opens mathematics has none that closes it")
    out: list[tuple[str, str | None, int]] = []
    for i, piece in enumerate(said.split("$")):
        if i % 2 == 0:
            out += [(piece, None, 0)] if piece else []
            continue
        for sign, braced, one, plain in _MATHS.findall(piece):
            text = braced or one or plain
            italic = any(c.isalpha() for c in text) and len(text) < 4
            out.append((text, SERIF if italic else UPRIGHT, {"_": 1, "^": -1}.get(sign, 0)))
    return out


def measure(said: str, size: float) -> int:
    """About how wide words are, in the wider of the usual fonts.

    Args:
        said: one line; $...$ is mathematics
        size: of the type, in pixels
    Returns: whole pixels, so that no rounding can differ between machines
    """

    def letter(c: str) -> int:
        return next((w for group, w in _WIDTHS if c in group), 70 if c.isupper() else 63)

    quarters = sum(sum(map(letter, text)) * (3 if level else 4) for text, _, level in runs(said))
    return math.ceil(quarters * size * 2 / 800) + 1


def words(
    x: float,
    y: float,
    said: str,
    size: float = NOTE,
    colour: str = "ink",
    anchor: str = "middle",
    bold: bool = False,
) -> ET.Element:
    """One line of words as a mark.

    Args:
        x, y: pixels; y is the baseline
        said: $...$ is mathematics
        size: of the type, in pixels
        colour: a name of look.TEXT
        anchor: "start", "middle" or "end" of the words is at x
        bold: for titles and for the one word that matters
    Returns: a <text>
    Raises:
        ValueError: colour or anchor is not one of these
    """
    one_of("colour", colour, TEXT)
    one_of("anchor", anchor, ("start", "middle", "end"))
    text = element(
        "text",
        x=x,
        y=y,
        fill=TEXT[colour],
        font_size=size,
        text_anchor=None if anchor == "middle" else anchor,  # the drawing's default
        font_weight="600" if bold else None,
    )
    pieces, before = runs(said), 0.0
    if not any(font or level for _, font, level in pieces):
        text.text = "".join(piece[0] for piece in pieces)
        return text
    for piece, font, level in pieces:
        # KaTeX's letters are smaller than those of the usual sans of the same size.
        shift, big = level * size * 0.27, size * (1.12 if font else 1) * (_SMALL if level else 1)
        span = element(
            "tspan",
            dy=shift - before if shift != before else None,
            font_size=big if big != size else None,
            font_family=font,
            font_style="italic" if font == SERIF else None,
        )
        span.text, before = piece, shift
        text.append(span)
    return text


def label(
    said: str, size: float = BODY, colour: str = "ink", bold: bool = False, align: str = "middle"
) -> Part:
    """Words of one or more lines.

    Args:
        said: "\\n" breaks lines; $...$ is mathematics
        size: of the type, in pixels: NAME, BODY or NOTE of look.py
        colour: a name of look.TEXT
        bold: for titles and for the one word that matters
        align: "start", "middle" or "end"
    Returns: a part
    Raises:
        ValueError: an argument is not as described
    """
    one_of("align", align, ("start", "middle", "end"))
    lines, step = said.split("\n"), positive("size", size) * 1.3
    w = max(measure(line, size) for line in lines)
    w += w // 8 if bold else 0
    x = {"start": 0.0, "middle": w / 2, "end": float(w)}[align]
    marks = [
        words(x, size * 0.95 + i * step, line, size, colour, align, bold)
        for i, line in enumerate(lines)
    ]
    return Part(w, size * 1.2 + (len(lines) - 1) * step, marks)


def note(said: str, colour: str = "soft", bold: bool = False, align: str = "middle") -> Part:
    """Words that explain: small and quiet.

    Args:
        said, colour, bold, align: as for `label`
    Returns: a part
    """
    return label(said, NOTE, colour, bold, align)
