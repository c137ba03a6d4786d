"""Cut the fonts of text and equations down to the characters that the book's pages hold.

Uncut, the fonts of a single equation weigh more than the page around it.
"""

from __future__ import annotations

import hashlib
import html
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fontTools import subset

logging.getLogger("fontTools").setLevel(logging.WARNING)  # it logs every table that it drops
# Names 0, 13 and 14 are the notices of copyright and licence, which the licence asks to keep.
NOTICES = [0, 13, 14]
OPTIONS = subset.Options(
    flavor="woff2", layout_features=["*"], hinting=False, name_IDs=NOTICES, name_languages=["*"]
)
_TAG = re.compile(r"<[^>]*>")
_SPAN = re.compile(r"<(/?)span\b[^>]*>")
# A character that is not upright stands in an innermost span, whose classes choose the font.
_LEAF = re.compile(r'<span class="([^"]*)"[^>]*>([^<]+)')
_IN_DRAWING = re.compile(r'<tspan[^>]* font-family="KaTeX_[^>]*>([^<]+)')
# Classes that choose neither the upright nor the italic font of ordinary mathematics.
_SPECIAL = re.compile(r"\b(?:ams\w+|boldsymbol|math(?!normal|rm)\w+|text(?!rm)\w+)\b")
_ORDINARY = re.compile(r"KaTeX_(Main-Regular|Math-Italic|Size\d-Regular)")


def formulas(page: str) -> Iterator[str]:
    """The HTML of each equation, as far as it is to be seen."""
    for start in re.finditer('<span class="katex-html', page):
        depth = 0
        for tag in _SPAN.finditer(page, start.start()):
            depth += -1 if tag[1] else 1
            if not depth:
                yield page[start.start() : tag.end()]
                break


def characters(pages: Iterable[str]) -> tuple[str, str]:
    """The characters of these pages' equations and drawings: all, and those in special fonts."""
    everything, special = set(" "), set[str]()
    for page in pages:
        everything |= set(html.unescape(_TAG.sub("", "".join(formulas(page)))))
        for classes, text in _LEAF.findall(page):
            chars = set(html.unescape(text))
            everything |= chars
            if _SPECIAL.search(classes):
                special |= chars
        everything |= set(html.unescape("".join(_IN_DRAWING.findall(page))))
    return "".join(sorted(everything)), "".join(sorted(special))


def in_text(pages: Iterable[str]) -> str:
    """The characters of these pages."""
    return "".join(sorted({c for page in pages for c in html.unescape(_TAG.sub("", page))}))


def of_katex(everything: str, special: str) -> Callable[[str], str]:
    """Which of the characters a font of KaTeX has to hold."""
    return lambda name: everything if _ORDINARY.match(name) else special


def cut(source: Path, target: Path, wanted: Callable[[str], str]) -> None:
    """Write a subset of each font of folder `source` into `target`, unless it is there already.

    A font that has none of the characters is left out: no page asks for it.

    Args:
        source: holds .woff2 files
        target: is made where it does not exist
        wanted: the characters for a font, by the name of its file
    """
    fonts = sorted(source.glob("*.woff2"))
    mark = target / "of.txt"
    state = hashlib.sha256(b"".join(wanted(p.name).encode() + p.read_bytes() for p in fonts))
    if mark.is_file() and mark.read_text("utf-8") == state.hexdigest():
        return
    target.mkdir(parents=True, exist_ok=True)
    for path in fonts:
        chars = wanted(path.name)
        font = subset.load_font(str(path), OPTIONS)
        if set(map(ord, chars)) & set(font.getBestCmap()):
            cutter = subset.Subsetter(OPTIONS)
            cutter.populate(text=chars)
            cutter.subset(font)
            subset.save_font(font, str(target / path.name), OPTIONS)
    mark.write_text(state.hexdigest(), "utf-8")
