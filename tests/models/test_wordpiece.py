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


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "a token a line"),
        (b"[CLS]\n[SEP]\n[UNK]\ncat", None),
        (b"[CLS]\n[SEP]\n[UNK]\ncat\n", None),
        (b"[CLS]\n[SEP]\n\n[UNK]\ncat\n", "a token a line"),  # or cat would have another number
        (b"[CLS]\n[SEP]\n[UNK]\ncat\ncat\n", "each once"),
        (b"[CLS]\n[UNK]\ncat\n", r"with \[CLS\], \[SEP\] and \[UNK\] among them"),
        (b"[CLS]\n[SEP]\n[UNK]\nc\xff", "not UTF-8"),
        ("[CLS]\n[SEP]\n[UNK]\n".encode("utf-16"), "not UTF-8"),
    ],
)
def test_a_vocabulary_that_was_altered(tmp_path, raw, message):
    path = tmp_path / "vocab.txt"
    path.write_bytes(raw)
    if message is None:
        assert read_vocabulary(path) == {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "cat": 3}
        return
    with pytest.raises(ValueError, match=rf"vocab\.txt: .*{message}"):
        read_vocabulary(path)
