"""The tokenizer in plain Python gives what the package tokenizers gives, on any text."""

import pytest
import smollm2_support
from hypothesis import given
from test_smollm2_tokenizer import HARD, awkward
from test_smollm2_tokenizer import texts as any_text
from wordpiece_texts import texts

from attention_src.models.smollm2.in_numpy.bpe import BPE, END


@pytest.fixture(scope="module")
def bpe():
    return BPE.of(smollm2_support.gguf().metadata)


@pytest.fixture(scope="module")
def tokenizer():
    return smollm2_support.tokenizer()


def test_equals_tokenizers(bpe, tokenizer):
    varied = [*texts(), *HARD]
    assert len(varied) > 500
    for text in varied:
        ids = tokenizer.encode(text)
        assert bpe.encode(text) == ids, text
        assert bpe.decode(ids) == tokenizer.decode(ids), text


@given(any_text | awkward)
def test_equals_tokenizers_on_any_text(bpe, tokenizer, text):
    assert bpe.encode(text) == tokenizer.encode(text)


def test_tokens_decode_alike(bpe, tokenizer):
    assert len(bpe.tokens) == len(tokenizer)
    assert bpe.end == tokenizer.end
    for i in [*range(300), *range(300, len(tokenizer), 11)]:
        assert bpe.decode([i]) == tokenizer.decode([i])


def test_half_a_surrogate_pair_is_refused(bpe):
    with pytest.raises(ValueError, match="surrogates not allowed"):
        bpe.encode("a\ud800")


@pytest.mark.parametrize("key", ["model", "pre"])
def test_another_tokenizer_is_refused(key):
    metadata = {**smollm2_support.gguf().metadata, f"tokenizer.ggml.{key}": "other"}
    with pytest.raises(ValueError, match=rf"tokenizer\.ggml\.{key} is 'other'; it should be"):
        BPE.of(metadata)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tokens", None, "tokens should be a list of str"),
        ("tokens", [1, 2], "tokens should be a list of str"),
        ("merges", "a b", "merges should be a list of str"),
        ("token_type", [3.0], "token_type should be a list of int"),
        ("token_type", [1, 1, 1], "one for each of the 3 entries of token_type"),
        ("tokens", ["a", "b"], r"should hold <\|im_end\|>"),
    ],
)
def test_a_tokenizer_that_was_altered(key, value, message):
    right = {"model": "gpt2", "pre": "smollm", "tokens": ["a", END], "merges": []}
    right |= {"token_type": [1, 3]}
    named = {f"tokenizer.ggml.{name}": one for name, one in right.items()}
    assert BPE.of(named).encode("a") == [0]
    with pytest.raises(ValueError, match=message):
        BPE.of(named | {f"tokenizer.ggml.{key}": value})


@pytest.mark.parametrize("ids", [[0, -1], [2], [1.0], [True], ["a"]])
def test_ids_that_do_not_exist(ids, untyped):
    small = BPE(["a", END], [], [END])
    assert small.decode([0, 1]) == f"a{END}" and small.decode([]) == ""
    with pytest.raises(ValueError, match=r"ids (holds|has dtype)"):
        small.decode(ids)
