"""A plugin of pytest: nbval compares stored outputs as a reader would, not byte by byte.

Processors round differently: the last digit of a printed number may turn, a point of a figure may
move by a hair. Neither changes what a reader sees, so neither may fail a notebook:

- a number in text may differ by one unit of its last printed digit, if it has a decimal point, an
  exponent, or a percent sign after it; any other whole number is a count, compared exactly;
- a coordinate of a figure may differ by 0.3 points, a colour by 2 of 255 levels; ids are compared
  by their order, because they are hashes of all coordinates;
- everything else is compared exactly: words, numbers that letters touch (1.7B is a name), how many
  digits a number has after its point, how many points a line has.

nbval does the rest: an output that equals the stored one as read is replaced by the stored one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

POINTS, LEVELS = 0.3, 2
# No part of a word (float16, L3H5, 1.7B) and no version (2.13.0). NumPy writes 1e-05 as 1.e-05.
NUMBER = re.compile(
    r"(?<![\w.])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+|\.(?=[eE]))?(?:[eE][-+]?\d+)?"
    r"(?!\w|\.\w)(?: ?%| to (?=\d+ ?%))?"  # in "99 to 100 %" both are percentages
)
_COORDINATE = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_HASH = re.compile(r"\bf[0-9a-f]{8}-(?=\d+\b)")
_MOVE = re.compile(r"(?<=translate\()[^)]*")
_PLACES = {"d", "x", "y", "width", "height", "points"}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Make a cell of nbval take outputs for equal that a reader would take for equal."""
    nbval: Any = sys.modules.get("nbval.plugin")
    if nbval is not None and isinstance(item, nbval.IPyNbCell):
        exactly: Callable[..., bool] = item.compare_outputs

        def compare(found: list, stored: list, **options: Any) -> bool:
            return exactly(as_stored(found, stored, item.sanitize), stored, **options)

        item.compare_outputs = compare  # type: ignore[method-assign]


def as_stored(found: list, stored: list, sanitize: Callable[[str], str]) -> list:
    """The outputs of a cell, each replaced by the stored one where both read the same.

    Args:
        found: what the cell gives now: dictionaries of the notebook format
        stored: what the notebook holds
        sanitize: removes from a text what is not compared, such as timings
    Returns: a list as long as found, which is not changed
    """
    if len(found) != len(stored):
        return found
    return [_one(new, old, sanitize) for new, old in zip(found, stored, strict=True)]


def _one(new: dict, old: dict, sanitize: Callable[[str], str]) -> dict:
    """One output, its texts replaced by the stored ones where both read the same."""
    texts = {
        key: old[key]
        if isinstance(value, str)
        and isinstance(old.get(key), str)
        and same(sanitize(old[key]), sanitize(value))
        else value
        for key, value in new.items()
    }
    if "data" in new and "data" in old:
        texts["data"] = _one(new["data"], old["data"], sanitize)
    return type(new)(texts)


def same(stored: str, found: str) -> bool:
    """Whether two outputs read the same: figures (SVG) by their shapes, anything else as text."""
    if stored.startswith("<svg") and found.startswith("<svg"):
        return same_figure(ElementTree.fromstring(stored), ElementTree.fromstring(found))
    return same_text(stored, found)


def same_text(stored: str, found: str) -> bool:
    """Whether two texts differ at most in the last digits of rounded numbers."""
    numbers = list(zip(NUMBER.findall(stored), NUMBER.findall(found), strict=False))
    words, new_words = NUMBER.split(stored), NUMBER.split(found)
    if len(words) != len(new_words) or not all(_same_number(*pair) for pair in numbers):
        return False
    # 9.99 beside 10.00 in a table: a number that grew takes a space from its column.
    grown = [False, *(len(old) != len(new) for old, new in numbers), False]
    loose = [before or after for before, after in pairwise(grown)]
    return all(
        old == new or (free and old.split() == new.split())
        for old, new, free in zip(words, new_words, loose, strict=True)
    )


def _same_number(stored: str, found: str) -> bool:
    """Whether two printed numbers differ by one unit of the last digit at most."""
    if stored == found:
        return True
    rounded = all(re.search(r"[.eE%]|to", text) for text in (stored, found))
    if not rounded or _form(stored) != _form(found):
        return False
    old, new = value(stored), value(found)
    unit = min(Decimal(1).scaleb(int(x.as_tuple().exponent)) for x in (old, new))
    return abs(old - new) <= unit


def value(number: str) -> Decimal:
    """What a printed number says."""
    return Decimal(re.sub("[, %to]", "", number).replace("−", "-"))


def _form(number: str) -> tuple[int, bool, bool]:
    """How a number is printed: digits after the point, with an exponent, with a percent sign."""
    mantissa, *exponent = re.split("[eE]", number.removesuffix("%").rstrip())
    return len(mantissa.partition(".")[2]), bool(exponent), number.endswith("%")


def same_figure(stored: ElementTree.Element, found: ElementTree.Element) -> bool:
    """Whether two parts of a figure have the same elements in nearly the same places."""
    return (
        stored.tag == found.tag
        and (stored.text or "").strip() == (found.text or "").strip()
        and (stored.tail or "").strip() == (found.tail or "").strip()
        and stored.attrib.keys() == found.attrib.keys()
        and all(_same_attribute(key, old, found.attrib[key]) for key, old in stored.items())
        and len(stored) == len(found)
        and all(same_figure(*pair) for pair in zip(stored, found, strict=True))
    )


def _same_attribute(name: str, stored: str, found: str) -> bool:
    if name == "aria-label":
        return same_text(stored, found)
    if name in _PLACES:
        return _near(_COORDINATE, POINTS, stored, found)
    if name == "transform":
        moves = zip(_MOVE.findall(stored), _MOVE.findall(found), strict=False)
        return _MOVE.sub("", stored) == _MOVE.sub("", found) and all(
            _near(_COORDINATE, POINTS, *pair) for pair in moves
        )
    old, new = _HASH.sub("", stored), _HASH.sub("", found)
    return _near(_COLOUR, LEVELS, old, new)


def _near(part: re.Pattern[str], most: float, stored: str, found: str) -> bool:
    """Whether two texts are close where they match a pattern, and equal elsewhere."""
    old, new = (
        [x for match in part.findall(text) for x in _numbers(match)] for text in (stored, found)
    )
    return part.split(stored) == part.split(found) and all(
        abs(a - b) <= most for a, b in zip(old, new, strict=True)
    )


def _numbers(text: str) -> list[float]:
    """Red, green and blue of #rrggbb, each 0 to 255, or the one number that it is."""
    return list(bytes.fromhex(text[1:])) if text.startswith("#") else [float(text)]
