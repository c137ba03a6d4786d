"""The tokenizer in plain Python gives what the package tokenizers gives."""

import pytest
from wordpiece_texts import texts

from attention_src.models.install import folder
from attention_src.models.minilm import MiniLM
from attention_src.models.minilm.wordpiece import read_vocabulary, tokenize


@pytest.fixture(scope="module")
def vocabulary():
    return read_vocabulary(folder("minilm") / "model" / "vocab.txt")


def test_500_texts_give_the_same_tokens_and_numbers(vocabulary):
    original = MiniLM.load().tokenizer
    varied = texts()
    assert len(set(varied)) == 500
    for text in varied:
        wanted = original.encode(text)
        assert tokenize(text, vocabulary) == (wanted.tokens, wanted.ids), text


def test_words_are_cut_into_their_longest_pieces():
    small = {
        t: n for n, t in enumerate(("[CLS]", "[SEP]", "[UNK]", "un", "una", "##able", "##ble"))
    }
    assert tokenize("Unable unx ünable", small)[0] == [
        *("[CLS]", "una", "##ble", "[UNK]", "una", "##ble", "[SEP]")
    ]
    assert tokenize("", small) == (["[CLS]", "[SEP]"], [0, 1])
