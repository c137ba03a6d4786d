"""The tokenizer in plain Python gives what the package tokenizers gives."""

import pytest
from wordpiece_texts import original, texts

from attention_src.models.install import folder
from attention_src.models.minilm.wordpiece import WordPiece, read_vocabulary, tokenize


@pytest.fixture(scope="module")
def vocabulary():
    return read_vocabulary(folder("minilm") / "model" / "vocab.txt")


def test_500_texts_give_the_same_tokens_and_numbers(vocabulary):
    theirs = original()
    varied = texts()
    assert len(set(varied)) == 500
    for text in varied:
        wanted = theirs.encode(text)
        assert tokenize(text, vocabulary) == (wanted.tokens, wanted.ids), text


def test_words_are_cut_into_their_longest_pieces():
    small = {
        t: n for n, t in enumerate(("[CLS]", "[SEP]", "[UNK]", "un", "una", "##able", "##ble"))
    }
    assert tokenize("Unable unx ünable", small)[0] == [
        *("[CLS]", "una", "##ble", "[UNK]", "una", "##ble", "[SEP]")
    ]
    assert tokenize("", small) == (["[CLS]", "[SEP]"], [0, 1])


def test_what_chapters_ask_of_it_is_what_tokenizers_answers(vocabulary):
    ours, theirs = WordPiece(vocabulary), original()
    assert ours.get_vocab() == theirs.get_vocab()
    for token in ("cat", "[CLS]", "##ing", "no such token"):
        assert ours.token_to_id(token) == theirs.token_to_id(token)
    found, wanted = ours.encode("Crème brûlée!"), theirs.encode("Crème brûlée!")
    assert (found.tokens, found.ids) == (wanted.tokens, wanted.ids)
