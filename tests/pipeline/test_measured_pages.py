"""A page says that a GPU has not measured something only where no file holds the measurement."""

import re

import pytest

from attention_src.costs.measured import FOLDER
from tools.book.chapters import Book
from tools.book.freshness import REPOSITORY

# What a page's "not measured" is about: the topic of its own name, but for
TOPICS = {"gpu": "softmax"}
UNMEASURED = re.compile(r"\b(?:not|never|nothing|no)\b(?: \w+){0,3} (?:measured|timed)\b", re.I)


def unmeasured(text):
    """The sentences that say of a GPU that it has not measured something."""
    sentences = re.split(r"(?<=[.?!])\s+|\n\n", text.replace("*", ""))
    return [x for x in sentences if UNMEASURED.search(x) and re.search(r"\bGPUs?\b", x)]


@pytest.mark.parametrize("chapter", Book(REPOSITORY).chapters, ids=lambda chapter: chapter.slug)
def test_what_has_a_file_is_not_called_unmeasured(chapter):
    topic = TOPICS.get(chapter.slug, chapter.slug)
    if list(FOLDER.glob(f"*-{topic}.json")):
        assert unmeasured(chapter.text) == []


def test_it_finds_such_sentences():
    """Those that stood in the pages before, and one that still does."""
    for said in (
        "Not measured yet: no run on a GPU has been recorded in this project so far.",
        "These are least times, worked out from bytes; no GPU was timed.",
    ):
        assert unmeasured(f"It is so. {said}\n\nSo is this.") == [said.replace("*", "")]
    linear = (REPOSITORY / "book" / "linear.md").read_text(encoding="utf-8")
    assert len(unmeasured(linear)) == 1 and not list(FOLDER.glob("*-linear.json"))
    assert unmeasured("No number was measured. On a GPU it is 3.") == []
