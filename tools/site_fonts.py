"""Cut KaTeX's fonts down to the characters that the book's pages hold.

Whole, the fonts that one equation needs weigh more than the page around it.
"""

from __future__ import annotations

import hashlib
import html
import re
from pathlib import Path

from fontTools import subset

OPTIONS = subset.Options(flavor="woff2", layout_features=["*"], hinting=False, name_IDs=[])


def characters(pages):
    """Every character of these pages (HTML texts), as a sorted string."""
    text = (html.unescape(re.sub(r"<[^>]*>", "", page)) for page in pages)
    return "".join(sorted(set("".join(text)) | set(" 0123456789")))


def cut(source, target, chars):
    """Write a subset of each font of folder `source` into `target`, unless they are there already.

    A font that has none of the characters is left out: no page can ask for it.
    """
    mark = target / "of.txt"
    state = hashlib.sha256(chars.encode() + _bytes(source)).hexdigest()
    if mark.is_file() and mark.read_text("utf-8") == state:
        return
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(Path(source).glob("*.woff2")):
        font = subset.load_font(str(path), OPTIONS)
        if set(map(ord, chars)) & set(font.getBestCmap()):
            cutter = subset.Subsetter(OPTIONS)
            cutter.populate(text=chars)
            cutter.subset(font)
            subset.save_font(font, str(target / path.name), OPTIONS)
    mark.write_text(state, "utf-8")


def _bytes(folder):
    return b"".join(path.read_bytes() for path in sorted(Path(folder).glob("*.woff2")))
