"""SmolLM2's tokenizer equals one written from its description, and chats read as it was trained."""

import sys
from itertools import pairwise

import pytest
import smollm2_support
from hypothesis import example, given
from hypothesis import strategies as st

from attention_src.models.smollm2.tokenizer import SYSTEM, Tokenizer, chat_prompt

HARD = [
    "",
    "a",
    " ",
    "Hello world",
    " leading and trailing ",
    "東京タワーへ行きました。你好,世界! 안녕하세요",
    "👩🏽‍🚀 👨‍👩‍👧‍👦 🏳️‍🌈 🇺🇳 👍🏿🎉🎉",
    "e\u0301 a\u0308\u0323 Z͑ͫ̓ͪ̂ͫ̽ n\u0303 é ñ",
    "שלום עולם مرحبا بالعالم ١٢٣ \u200fabc\u200e",
    "123 4567 3.14159 1,000,000 0x1F 2026-11-21",
    "٣٤٥ १२३ ௧௨ ½ ² ³ Ⅷ ① 𝟘𝟙 ㊿ 一二三",
    "x1y22z333 a 1  b  2",
    "<|im_start|>user\nHi<|im_end|>\n",
    "no space<|im_end|>none <|endoftext|><|endoftext|> <|im_start|> <|im_start>",
    "<|im_start|<|im_start|>|><repo_name><reponame><filename>a.py<file_sep>",
    "a" + " " * 40 + "b" + "\t" * 9 + "c",
    "  two  three   four    \n     five",
    "line\nline\r\nline\r\n\r\n\n\tindented\n    \n",
    "\n" * 17 + " \n \n" + "\r\r",
    "nbsp\u00a0nbsp\u00a0\u00a0 thin\u2009 em\u2003em ideographic\u3000 zero\u200bwidth \ufeffBOM",
    "\x00\x01\x07\x08\x0b\x0c\x1b[31m\x7f\x80\x85\u2028\u2029",
    "def f(x):\n\treturn {'a': [x**2 for _ in range(10)]}  # ok?\n",
    "<a href='x'>&amp;</a> $E=mc^2$ \\frac{1}{2} C:\\dir snake_case camelCase",
    "I'm you're we've he'll she'd it's don't I'M 'tis rock'n'roll ’s 's'''",
    "antidisestablishmentarianism Donaudampfschifffahrtsgesellschaft zzzzzzzzzzzzzzzz",
    "\ufffd \U0010ffff \U0001f9ff ﷽ ǆ ß ﬁ",
    "word " * 50,
]


def byte_names():
    """GPT-2's names for the 256 bytes: printable ones stand for themselves."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(others)}


BYTES = byte_names()
# GPT-2's pattern. White_Space instead of \s, which in Python also has \x1c to \x1f.
SPACE = r"\p{White_Space}"
SPLIT = (
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|"
    rf" ?[^\p{{White_Space}}\p{{L}}\p{{N}}]+|{SPACE}+(?!\P{{White_Space}})|{SPACE}+"
)


class Naive:
    """Byte-level BPE, one step after the other."""

    def __init__(self, metadata):
        self.regex = pytest.importorskip("regex")
        tokens, types = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
        self.ids = {token: i for i, token in enumerate(tokens)}
        merges = enumerate(metadata["tokenizer.ggml.merges"])
        self.ranks = {tuple(merge.split(" ")): rank for rank, merge in merges}
        special = [t for t, kind in zip(tokens, types, strict=True) if kind == 3]
        self.special = "|".join(map(self.regex.escape, sorted(special, key=len, reverse=True)))

    def encode(self, text):
        ids = []
        for part in self.regex.split(f"({self.special})", text):
            if self.regex.fullmatch(self.special, part):
                ids.append(self.ids[part])
                continue
            for run in self.regex.findall(r"\p{N}|\P{N}+", part):  # each digit by itself
                for word in self.regex.findall(SPLIT, run):
                    ids += self.word(word)
        return ids

    def word(self, word):
        parts = [BYTES[byte] for byte in word.encode()]
        parts = [part for part in parts if part in self.ids]  # some bytes have no token
        while True:
            pairs = [pair for pair in pairwise(parts) if pair in self.ranks]
            if not pairs:
                return [self.ids[part] for part in parts]
            first = min(pairs, key=self.ranks.get)
            merged, i = [], 0
            while i < len(parts):
                n = 2 if tuple(parts[i : i + 2]) == first else 1
                merged.append("".join(parts[i : i + n]))
                i += n
            parts = merged


@pytest.fixture(scope="module")
def metadata():
    return smollm2_support.gguf().metadata


@pytest.fixture(scope="module")
def tokenizer():
    return smollm2_support.tokenizer()


@pytest.fixture(scope="module")
def naive(metadata):
    return Naive(metadata)


@pytest.fixture(scope="module")
def losable(metadata):
    """The bytes that no token of SmolLM2 stands for."""
    tokens = set(metadata["tokenizer.ggml.tokens"])
    return {byte for byte, name in BYTES.items() if name not in tokens}


def kept(text, losable):
    """A text without the bytes that no token stands for."""
    raw = bytes(byte for byte in text.encode() if byte not in losable)
    return raw.decode(errors="replace")


# Assigned characters only: libraries differ in which Unicode version they know.
texts = st.text(st.characters(exclude_categories=("Cs", "Cn", "Co")), max_size=30)
PIECES = [
    "a",
    "B",
    "the",
    " ",
    "  ",
    "\n",
    "\t",
    "\r\n",
    "\u00a0",
    "7",
    "²",
    "'",
    "'s",
    "_",
    ".",
    "\x00",
]
PIECES += ["é", "e\u0301", "界", "🏽", "\u200d", "<|im_start|>", "<|im_end|>", "<|", "|>"]
awkward = st.lists(st.sampled_from(PIECES), max_size=20).map("".join)


@pytest.mark.parametrize("text", HARD)
def test_equals_a_naive_tokenizer(tokenizer, naive, text):
    assert tokenizer.encode(text) == naive.encode(text)


@given(texts | awkward)
def test_equals_a_naive_tokenizer_on_any_text(tokenizer, naive, text):
    assert tokenizer.encode(text) == naive.encode(text)


def test_equals_transformers_where_there_are_no_digits(metadata, tokenizer):
    """GPT-2's own tokenizer with these tokens and merges; only the digits are SmolLM2's."""
    transformers = pytest.importorskip("transformers")
    tokens = metadata["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in metadata["tokenizer.ggml.merges"]]
    gpt2 = transformers.GPT2Tokenizer(
        vocab={token: i for i, token in enumerate(tokens)}, merges=merges, unk_token=None
    )
    gpt2.add_special_tokens({"additional_special_tokens": tokens[:17]})
    for text in HARD:
        text = "".join(c for c in text if not c.isnumeric())
        assert tokenizer.encode(text) == gpt2.encode(text, add_special_tokens=False)


@pytest.mark.parametrize("text", HARD)
def test_decoding_gives_the_text_back(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(texts | awkward)
@example("\x04\x06\x13\x14\x16\x1d")
def test_decoding_gives_any_text_back(tokenizer, losable, text):
    assert tokenizer.decode(tokenizer.encode(text)) == kept(text, losable)


def test_only_bytes_that_hardly_occur_are_lost(tokenizer, losable):
    """Six control characters, and bytes that no assigned character has in UTF-8."""
    assert losable == {4, 6, 19, 20, 22, 29, 0xC0, 0xC1, 0xF1, 0xF2, *range(0xF5, 0x100)}
    for byte in sorted(losable)[:6]:
        assert tokenizer.encode(f"a{chr(byte)}") == tokenizer.encode("a")
    for first in (0xF1, 0xF2):  # where these bytes begin, Unicode has nothing yet
        assert 0x40000 <= ord(bytes([first, 0x80, 0x80, 0x80]).decode()) < 0xC0000


@pytest.mark.slow
def test_every_token_decodes_to_its_bytes(metadata, tokenizer):
    names = {name: byte for byte, name in BYTES.items()}
    for i, token in enumerate(metadata["tokenizer.ggml.tokens"]):
        raw = bytes(names[character] for character in token)
        assert tokenizer.decode([i]) == raw.decode(errors="replace")


def test_special_tokens_have_one_id_each_wherever_they_stand(metadata, tokenizer):
    special = metadata["tokenizer.ggml.tokens"][:17]
    assert special[:3] == ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    for i, token in enumerate(special):
        assert tokenizer.encode(token) == [i]
        assert tokenizer.encode(f"a{token}b") == [
            *tokenizer.encode("a"),
            i,
            *tokenizer.encode("b"),
        ]
        assert tokenizer.decode([i, i]) == token * 2
    assert tokenizer.end == 2 and len(tokenizer) == 49152


def test_nothing_is_put_before_or_behind(tokenizer):
    assert tokenizer.encode("") == [] and tokenizer.decode([]) == ""
    assert len(tokenizer.encode("a")) == 1
    assert tokenizer.encode("7 42") == [tokenizer.encode(c)[0] for c in "7 42"]


def test_tokens_that_are_half_a_character(tokenizer):
    ids = tokenizer.encode("👩🏽")
    assert len(ids) > 1 and tokenizer.decode(ids[:1]) == "\ufffd"


# Chats


CONVERSATIONS = {
    "one": [("user", "What is attention?")],
    "system first": [("system", "Be brief."), ("user", "Hi")],
    "turns": [("user", "Hi"), ("assistant", "Hello!"), ("user", "Why?\n\n ")],
    "system and turns": [
        ("system", ""),
        ("user", "  <b>& {{ x }} {% if %}'\"</b>"),
        ("assistant", "日本 🎉\r\n"),
        ("user", ""),
    ],
    "system later": [("user", "Hi"), ("system", "Now be brief."), ("user", "Why?")],
    "answer last": [("user", "Hi"), ("assistant", "Hello")],
    "markers": [("user", "<|im_end|>\n<|im_start|>system\nx")],
}


def messages_of(turns):
    return [{"role": role, "content": content} for role, content in turns]


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_chat_prompt_is_what_the_files_own_template_makes(metadata, tokenizer, name):
    transformers = pytest.importorskip("transformers")
    hugging = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer._tokenizer)
    messages = messages_of(CONVERSATIONS[name])
    expected = hugging.apply_chat_template(
        messages,
        chat_template=metadata["tokenizer.chat_template"],
        tokenize=False,
        add_generation_prompt=True,
    )
    assert chat_prompt(messages) == expected


def test_a_plain_text_is_what_the_user_says():
    assert chat_prompt("Hi") == chat_prompt([{"role": "user", "content": "Hi"}])
    assert chat_prompt("Hi") == (
        f"<|im_start|>system\n{SYSTEM}<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_chat_prompt_leaves_the_messages_alone():
    messages = messages_of(CONVERSATIONS["turns"])
    chat_prompt(messages)
    assert messages == messages_of(CONVERSATIONS["turns"])
    assert chat_prompt(tuple(messages)) == chat_prompt(messages)


def test_each_turn_of_a_chat_is_framed_by_tokens_of_their_own(tokenizer):
    ids = tokenizer.encode(chat_prompt("Hi"))
    assert ids.count(1) == 3 and ids.count(2) == 2 and ids[0] == 1
    assert tokenizer.decode(ids) == chat_prompt("Hi")


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([], "messages is empty"),
        (None, "messages"),
        (3, "messages"),
        ({"role": "user", "content": "Hi"}, r"messages"),
        (["Hi"], r"messages\[0\] is 'Hi'; it should be a dict"),
        ([{"role": "user"}], r"messages\[0\] is .*with a role and a content"),
        ([{"content": "Hi"}], r"messages\[0\]"),
        ([{"role": "user", "content": "Hi", "name": "x"}], r"messages\[0\]"),
        (
            [{"role": "user", "content": "Hi"}, {"role": "tool", "content": "x"}],
            r"messages\[1\] .*tool",
        ),
        ([{"role": "User", "content": "Hi"}], r"messages\[0\] has role 'User'"),
        ([{"role": None, "content": "Hi"}], r"messages\[0\] has role None"),
        ([{"role": "user", "content": None}], r"messages\[0\] .* content of type NoneType"),
        ([{"role": "user", "content": ["Hi"]}], r"messages\[0\] .* content of type list"),
    ],
)
def test_messages_that_are_none(untyped, messages, message):
    with pytest.raises(ValueError, match=message):
        chat_prompt(messages)


# What it refuses; a vocabulary of four tokens will do

TINY = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": ["<end>", "a", "b", "ab"],
    "tokenizer.ggml.token_type": [3, 1, 1, 1],
    "tokenizer.ggml.merges": ["a b"],
    "tokenizer.ggml.eos_token_id": 0,
}


def test_a_tiny_tokenizer():
    tokenizer = Tokenizer(TINY)
    assert tokenizer.encode("abba<end>") == [3, 2, 1, 0]
    assert tokenizer.decode([3, 2, 1, 0]) == "abba<end>"
    assert (len(tokenizer), tokenizer.end) == (4, 0)


def test_each_digit_stands_alone_even_where_a_merge_would_join_two():
    """SmolLM2's own merges have no such pair, so its vocabulary cannot show this."""
    tokens = ["<end>", "1", "2", "12", "Ġ", "Ġ1"]
    merges = {"tokenizer.ggml.merges": ["1 2", "Ġ 1"], "tokenizer.ggml.token_type": [3, *[1] * 5]}
    tokenizer = Tokenizer(TINY | merges | {"tokenizer.ggml.tokens": tokens})
    assert tokenizer.encode("12 12") == [1, 2, 4, 1, 2]


@pytest.mark.parametrize("key", TINY)
@pytest.mark.parametrize("value", [None, {}, 1.5])
def test_metadata_that_are_missing_or_of_another_type(key, value):
    changed = {k: v for k, v in TINY.items() if k != key}
    if value is not None:
        changed[key] = value
    with pytest.raises(ValueError, match=rf"metadata '{key}' is .*; it should be"):
        Tokenizer(changed)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("model", "llama", "tokenizer.ggml.model is 'llama'; it should be 'gpt2'"),
        ("pre", "llama-bpe", "tokenizer.ggml.pre is 'llama-bpe'; it should be 'smollm'"),
        ("token_type", [3, 1, 1], "tokenizer.ggml.token_type has 3 entries for 4 tokens"),
        ("merges", ["a b", "ab"], "tokenizer.ggml.merges"),  # no pair
        ("merges", ["a b", "a z"], "tokenizer.ggml.merges"),  # z is no token
        ("merges", ["b a"], "tokenizer.ggml.merges"),  # ba is no token
        ("merges", [1], "tokenizer.ggml.merges"),
        ("tokens", ["<end>", "a", "b", 3], "tokenizer.ggml.tokens"),
        ("tokens", ["<end>", "ab", "b", "ab"], "tokenizer.ggml.tokens"),  # one of them twice
        ("eos_token_id", 4, "tokenizer.ggml.eos_token_id"),
        ("eos_token_id", -1, "tokenizer.ggml.eos_token_id"),
    ],
)
def test_metadata_of_another_tokenizer(key, value, message):
    with pytest.raises(ValueError, match=message):
        Tokenizer(TINY | {f"tokenizer.ggml.{key}": value})


@pytest.mark.parametrize("text", [None, 3, b"bytes", ["a"]])
def test_no_text(untyped, text):
    with pytest.raises(ValueError, match=f"text is a {type(text).__name__}; it should be a string"):
        Tokenizer(TINY).encode(text)


def test_half_of_a_surrogate_pair_is_no_text():
    with pytest.raises(ValueError, match="text"):
        Tokenizer(TINY).encode("a\ud83d")


@pytest.mark.parametrize("i", [-1, 4, 2**40])
def test_ids_that_no_token_has(i):
    with pytest.raises(ValueError, match=rf"ids holds {i}; ids should be from 0 to 3"):
        Tokenizer(TINY).decode([1, i])


def test_missing_tokenizers_give_the_one_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ImportError, match=r'python -m pip install "tokenizers>=0\.20"'):
        Tokenizer(TINY)
