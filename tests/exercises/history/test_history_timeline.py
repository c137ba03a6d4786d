"""The dates of the chapter's timeline belong to the papers that its table cites."""

import re

from worked import BOOK

PAGE = (BOOK / "history.md").read_text(encoding="utf-8")
NUMBERS = dict(re.findall(r'^    "([^"]+)": "(\d{4}\.\d{4,5})",$', PAGE, re.MULTILINE))
ROWS = re.findall(r"^\| (\d{4}) \| ([^:|]+): .*\{cite:p\}`(\w+)` \|$", PAGE, re.MULTILINE)
ENTRIES = (BOOK / "references.bib").read_text(encoding="utf-8").split("\n@")


def entry(key):
    (found,) = (text for text in ENTRIES if f"{{{key}," in text)
    return found


def test_each_row_of_the_table_is_dated_by_its_own_paper():
    assert len(NUMBERS) == len(ROWS) == 21
    for (name, number), (year, _, key) in zip(NUMBERS.items(), ROWS, strict=True):
        assert number in entry(key), (name, key)
        assert year == f"20{number[:2]}", (name, year)


def test_they_stand_in_order():
    months = [number[:4] for number in NUMBERS.values()]
    assert months == sorted(months)
