"""Cut KaTeX's fonts down to the characters that the book's pages hold.

Uncut, the fonts of a single equation weigh more than the page around it.
"""

from __future__ import annotations

import hashlib
import html
import logging
import re
from collections.abc import Iterable
from pathlib import Path

from fontTools import subset

logging.getLogger("fontTools").setLevel(logging.WARNING)  # it logs every table that it drops
OPTIONS = subset.Options(flavor="woff2", layout_features=["*"], hinting=False, name_IDs=[])
# In KaTeX's HTML the characters stand in innermost spans, whose classes choose the font.
_LEAF = re.compile(r'<span class="([^"]*)"[^>]*>([^<]+)')
_IN_DRAWING = re.compile(r'<tspan[^>]* font-family="KaTeX_[^>]*>([^<]+)')
# Classes that choose neither the upright nor the italic font of ordinary mathematics.
_SPECIAL = re.compile(r"\b(?:ams\w+|boldsymbol|math(?!normal|rm)\w+|text(?!rm)\w+)\b")
_ORDINARY = re.compile(r"KaTeX_(Main-Regular|Math-Italic|Size\d-Regular)")


def characters(pages: Iterable[str]) -> tuple[str, str]:
    """The characters of these pages' equations and drawings: all, and those in special fonts."""
    everything, special = set(" "), set[str]()
    for page in pages:
        for classes, text in _LEAF.findall(page):
            chars = set(html.unescape(text))
            everything |= chars
            if _SPECIAL.search(classes):
                special |= chars
        everything |= set(html.unescape("".join(_IN_DRAWING.findall(page))))
    return "".join(sorted(everything)), "".join(sorted(special))


def cut(source: Path, target: Path, everything: str, special: str) -> None:
    """Write a subset of each font of folder `source` into `target`, unless it is there already.

    A font that has none of the characters is left out: no page asks for it.
    """
    mark = target / "of.txt"
    state = hashlib.sha256(f"{everything}\0{special}".encode() + _bytes(source)).hexdigest()
    if mark.is_file() and mark.read_text("utf-8") == state:
        return
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("*.woff2")):
        chars = everything if _ORDINARY.match(path.name) else special
        font = subset.load_font(str(path), OPTIONS)
        if set(map(ord, chars)) & set(font.getBestCmap()):
            cutter = subset.Subsetter(OPTIONS)
            cutter.populate(text=chars)
            cutter.subset(font)
            subset.save_font(font, str(target / path.name), OPTIONS)
    mark.write_text(state, "utf-8")


def _bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.woff2")))
