"""The words of the judge: titles of bugs are the book's, and every word is used."""

import re
from pathlib import Path

from attention_src.judge.report import HAPPENED, WORDS

ROOT = Path(__file__).parents[2]


def test_what_happened_is_a_box_of_the_book():
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "book").rglob("*.md"))
    boxes = re.findall(r"\{happened-start\} (.+)\n:date: .+\n:source: (.+)", text)
    titles = {f"{title} ({source})" for title, source in boxes}
    assert len(titles) > 15
    assert {title for _, title in HAPPENED} <= titles


def test_every_word_is_said_somewhere():
    files = (ROOT / "attention_src/judge").rglob("*.py")
    source = "".join(path.read_text(encoding="utf-8") for path in files)
    unsaid = {key for key in WORDS if key not in source and not key.startswith(("differs", "#"))}
    assert not unsaid


def test_every_chapter_is_in_the_book():
    chapters = {chapter for _, chapter, _ in WORDS.values()}
    assert all((ROOT / f"book/{name}.md").is_file() for name in chapters - {"chapter"})
