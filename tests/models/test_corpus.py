"""The texts that models are measured on."""

import re

import pytest
import smollm2_support

from attention_src.models.corpus import FOLDER, TEXTS, load_text


def test_every_text_is_there_and_named():
    files = {path.stem for path in FOLDER.glob("*.txt")} - {"LICENSE"}
    assert files == set(TEXTS)
    assert "CC BY 4.0" in (FOLDER / "LICENSE.txt").read_text()


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_plain_connected_prose(name):
    text = load_text(name)
    assert len(text.split()) > 1100
    assert text.isascii() and not re.search(r"[\t\r]|  |\n\n\n|\n$", text)
    paragraphs = text.split("\n\n")
    assert len(paragraphs) > 5 and not any("\n" in paragraph for paragraph in paragraphs)
    # Each paragraph ends a sentence, and no sentence comes twice, which a model could copy.
    assert all(re.search(r'[.?!]["\')]*$', paragraph) for paragraph in paragraphs)
    sentences = [s for s in re.split(r"(?<=[.?!])\s+", text) if len(s) > 30]
    assert len(sentences) == len(set(sentences))


@pytest.mark.slow
def test_they_are_long_enough_for_every_experiment():
    tokenizer = smollm2_support.tokenizer()
    lengths = [len(tokenizer.encode(load_text(name))) for name in TEXTS]
    assert min(lengths) >= 1500 and sum(lengths) >= 6000


def test_unknown_text(untyped):
    with pytest.raises(ValueError, match=r"name is 'wolves'; it should be one of .*'rivers'"):
        load_text("wolves")
