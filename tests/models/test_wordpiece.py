"""The tokenizer in plain Python gives what the package tokenizers gives."""

import re
import unicodedata
from pathlib import Path

import pytest
from tokenizers import normalizers, pre_tokenizers
from wordpiece_texts import original, texts

from attention_src.models.install import folder
from attention_src.models.minilm import characters, wordpiece
from attention_src.models.minilm.wordpiece import (
    DROP,
    HAN_CHARACTER,
    MARK,
    SIGN,
    WordPiece,
    read_vocabulary,
    tokenize,
)

ROOT = Path(__file__).parents[2]


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


# Of the planes that are empty or private as a whole, the ends.
CODES = (*range(0xD800), *range(0xE000, 0x32000), *range(0xDFFF0, 0xE1000), 0xEFFFF)
EVERY = [chr(i) for i in (*CODES, *range(0xF0000, 0xF0010), *range(0x10FFF0, 0x110000))]
LATER = "\U0001fae8\U0001f7e7\u0378\uffff\U000e0fff\u0898\u2e52\u1c8a\u20c0\U0001e08f"


def test_the_kinds_of_characters_are_those_of_tokenizers():
    """In one long text, which is quicker than one by one; between letters, none changes another."""

    def theirs(text, **on):
        options = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
        made = normalizers.BertNormalizer(**dict.fromkeys(options, False) | on)
        return made.normalize_str(text)

    every = "x".join(EVERY)
    whole = "x".join(c for c in EVERY if unicodedata.normalize("NFD", c) == c)
    assert DROP.sub("", every).split() == theirs(every, clean_text=True).split()
    assert MARK.sub("", whole) == theirs(whole, strip_accents=True)
    assert HAN_CHARACTER.sub(r" \g<0> ", every) == theirs(every, handle_chinese_chars=True)
    text = "x".join(c for c in EVERY if not c.isspace())
    parts = [part for part, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)]
    assert SIGN.sub(r" \g<0> ", text).split() == parts


@pytest.mark.parametrize("python", ["this one", "one of 2002"])
def test_a_character_that_python_does_not_know_is_unknown(vocabulary, monkeypatch, python):
    """Unicode 3.2 stands for an old Python: its tables know neither accent nor sign of later."""
    if python != "this one":
        monkeypatch.setattr(wordpiece, "unicodedata", unicodedata.ucd_3_2_0)
    theirs = original()
    assert tokenize("ok\U0001fae8", vocabulary)[0] == ["[CLS]", "[UNK]", "[SEP]"]
    for c in LATER:
        for text in (f"ok{c}", f"{c}ok", f"o{c}k", c, f"Ünïcode {c} ok", f"a{c}.", f"東{c}京"):
            wanted = theirs.encode(text)
            assert tokenize(text, vocabulary) == (wanted.tokens, wanted.ids), text.encode()
    for text in texts()[::5]:
        assert tokenize(text, vocabulary)[1] == theirs.encode(text).ids, text


def test_the_page_has_the_same_kinds():
    page = (ROOT / "tools/page/models/worker/characters.js").read_text("utf-8")
    for name in ("DROPPED", "MARKS", "SIGNS", "HAN"):
        [ranges] = re.findall(rf"export const {name} = `([^`]*)`", page)
        assert ranges == getattr(characters, name)


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
