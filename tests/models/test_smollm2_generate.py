"""Generation equals transformers', for one text and for several, and stops and streams as told."""

import pytest
import torch
from smollm2_support import llama, model

from attention_src.kvcache.cache import KVCache
from attention_src.models.smollm2.generate import (
    STOP,
    Stream,
    generate_ids,
    pad_left,
    stop_ids,
    visible_columns,
)
from attention_src.models.smollm2.tokenizer import chat_prompt

FRANCE = "The capital of France is"
RAGGED = [FRANCE, "Hi", "Once upon a time there was a little girl who lived", "1, 2, 3, 4,"]
EQUAL = [FRANCE, "The opposite of hot is"]
N = 3  # new tokens, for what is compared with each text by itself


def greedy(prompts, n, cache, impl):
    """New token ids of each text, and the logits that they were chosen by, [B, n, n_vocabulary]."""
    seen = []

    def choose(logits):
        seen.append(logits)
        return logits.argmax(dim=-1)

    ids = [model().tokenizer.encode(prompt) for prompt in prompts]
    total = max(map(len, ids)) + n
    caches = cache and model().new_caches(cache, batch=len(ids), max_tokens=total)
    texts = generate_ids(model(), ids, n, choose, frozenset(), caches, impl, lambda i: None)
    return texts, torch.stack(seen, dim=1)


@pytest.fixture(scope="module")
def alone():
    """Each text by itself, without a cache."""
    texts, logits = zip(*(greedy([prompt], N, None, "dense") for prompt in RAGGED), strict=True)
    return [text[0] for text in texts], torch.cat(logits)


# One text.


@pytest.mark.parametrize(
    "prompt", [FRANCE, "def fibonacci(n):\n", chat_prompt("Why is the sky blue?")]
)
def test_greedy_is_transformers_greedy(prompt):
    ids = model().encode(prompt)
    options = dict(do_sample=False, eos_token_id=None, pad_token_id=2)
    expected = llama().generate(ids[None], max_new_tokens=20, **options)[0, len(ids) :]
    (text,), _ = greedy([prompt], 20, "contiguous", "auto")
    assert text == expected.tolist()


def test_the_capital_of_france():
    assert model().generate(FRANCE, 3).startswith(" Paris")


@pytest.mark.parametrize("n", [1, 2, 7])
def test_so_many_tokens_and_no_more(n):
    (text,), logits = greedy([FRANCE], n, "contiguous", "auto")
    assert len(text) == n == logits.shape[1]
    assert model().decode(text) == model().generate(FRANCE, n, stop=None)


def test_a_function_may_make_the_cache():
    made = []

    def make():
        made.append(KVCache())
        return made[-1]

    text = model().generate(FRANCE, N, cache=make)
    assert text == model().generate(FRANCE, N, cache="none")
    assert len(made) == 30
    assert all(len(cache) == len(model().encode(FRANCE)) + N - 1 for cache in made)


def test_chat_answers_from_the_chats_prompt():
    question = "What is 2 + 2?"
    answer = model().generate(question, 12, chat=True)
    assert answer == model().generate(chat_prompt(question), 12)
    assert "4" in answer
    assert model().generate([question], 12, chat=True) == [answer]


# Several texts.


@pytest.mark.parametrize(
    ("cache", "impl"),
    [
        (None, "dense"),
        (None, "sdpa"),
        ("contiguous", "dense"),
        ("contiguous", "auto"),
        ("int8", "dense"),
        ("int8", "sdpa"),
        ("paged", "auto"),
        ("paged(3)", "dense"),
    ],
)
def test_texts_of_different_lengths_are_one_by_one(alone, cache, impl):
    texts, logits = greedy(RAGGED, N, cache, impl)
    assert texts == alone[0]
    if cache == "int8":  # compare with int8, where a rounding error may tip a number over
        expected = torch.cat([greedy([prompt], N, "int8", impl)[1] for prompt in RAGGED[:2]])
        difference = (logits[:2] - expected).abs()
        assert difference.mean() < 0.02 and difference.max() < 0.3
    else:
        torch.testing.assert_close(logits, alone[1], atol=5e-4, rtol=0)


@pytest.mark.parametrize(
    ("cache", "impl"),
    [
        ("none", "tiled"),
        ("contiguous", "tiled"),
        ("int8", "auto"),
        ("int4", "dense"),
        ("windowed(64,4)", "auto"),
        ("windowed(64,4)", "tiled"),
        ("paged", "sdpa"),
    ],
)
def test_texts_of_one_length_take_any_cache(cache, impl):
    assert len({len(model().encode(prompt)) for prompt in EQUAL}) == 1
    options = dict(stop=None, cache=cache, impl=impl)
    texts = model().generate(EQUAL, N, **options)
    assert texts == [model().generate(prompt, N, **options) for prompt in EQUAL]


@pytest.mark.parametrize("cache", ["windowed", "windowed(64,4)", "int4"])
def test_caches_that_cannot_hide_padding(cache):
    with pytest.raises(ValueError, match=r"texts of different lengths.*take padding for tokens"):
        model().generate(RAGGED, N, cache=cache)


@pytest.mark.parametrize("impl", ["tiled", "triton"])
def test_implementations_that_cannot_hide_padding(impl):
    with pytest.raises(ValueError, match=r"texts of different lengths.*whose padding needs a mask"):
        model().generate(RAGGED, N, impl=impl)


def test_a_text_that_ends_lets_the_others_go_on():
    """Each ends at its own stop token, and shows none of what comes after."""
    dot = model().encode(".").item()
    texts = model().generate(RAGGED, 12, stop=["."])
    unstopped, _ = greedy(RAGGED, 12, "contiguous", "auto")
    expected = [ids[: ids.index(dot)] if dot in ids else ids for ids in unstopped]
    assert texts == [model().decode(ids) for ids in expected]
    assert len({len(ids) for ids in expected}) > 1


def test_padding_on_the_left():
    rows, padding = pad_left([[5, 6, 7], [8]], "cpu")
    assert rows.tolist() == [[5, 6, 7], [0, 0, 8]]
    assert padding.tolist() == [0, 2]
    visible = visible_columns(padding, 4)
    assert visible[:, 0, 0].tolist() == [[True] * 4, [False, False, True, True]]


# Where to stop.


def test_stop_tokens_become_ids(untyped):
    tokenizer = model().tokenizer
    assert stop_ids(tokenizer, STOP) == {0, 2}
    assert stop_ids(tokenizer, None) == stop_ids(tokenizer, ()) == frozenset()
    assert stop_ids(tokenizer, [" Paris", 30]) == {model().encode(" Paris").item(), 30}
    assert stop_ids(tokenizer, ".") == stop_ids(tokenizer, model().encode(".").item())


@pytest.mark.parametrize("by_id", [False, True])
def test_the_stop_token_itself_is_not_shown(by_id):
    dot = model().encode(".").item()
    text = model().generate(FRANCE, 30, stop=[dot if by_id else "."])
    assert text == " Paris"
    assert model().generate(FRANCE, 2, stop=None) == " Paris."


def test_an_answer_ends_by_itself():
    """The model's own stop token is <|im_end|>; without stop tokens it would be shown."""
    say = "Answer with one word: what is the capital of Italy?"
    answer = model().generate(say, 20, chat=True)
    on = model().generate(say, 20, chat=True, stop=None)
    assert "<|im_end|>" not in answer
    assert on.startswith(answer + "<|im_end|>")


@pytest.mark.parametrize(
    "stop", ["The cat sat", "", [""], [49152], [-1], [2.5], [None], ["a", [3]]]
)
def test_stops_that_are_not_one_token(stop, untyped):
    with pytest.raises(ValueError, match="stop holds"):
        model().generate(FRANCE, 2, stop=stop)


# Streaming.


@pytest.mark.parametrize("prompt", [FRANCE, "Emojis: 😀 🎉 😀 🎉 😀 🎉 😀"])
def test_pieces_join_to_the_text(prompt):
    pieces = []
    text = model().generate(prompt, 12, on_text=pieces.append)
    assert "".join(pieces) == text
    assert len(pieces) > 2
    assert all(pieces)


def test_a_character_waits_for_its_last_token():
    tokenizer, pieces = model().tokenizer, []
    ids = tokenizer.encode("a🦤b")
    assert len(ids) > 3
    stream = Stream(tokenizer, pieces.append)
    for i in ids:
        stream.add(i)
    assert "".join(pieces) == "a🦤b" and "🦤" in pieces
    stream.add(ids[1])  # a character that never becomes whole
    assert "".join(pieces) == "a🦤b"
    stream.close()
    assert pieces[-1] == tokenizer.decode(ids[1:2])
    stream.close()
    assert len(pieces) == 4


# Drawing.

DRAWN = dict(temperature=1.0, top_p=0.95, stop=None)


def test_a_seed_makes_drawing_repeatable():
    texts = [model().generate(FRANCE, 5, seed=seed, **DRAWN) for seed in (3, 3, 4, 5)]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1


@pytest.mark.parametrize("prompts", [EQUAL, RAGGED[:2]])
def test_text_b_draws_with_seed_plus_b(prompts):
    texts = model().generate(prompts, 4, seed=11, **DRAWN)
    expected = [model().generate(p, 4, seed=11 + b, **DRAWN) for b, p in enumerate(prompts)]
    assert texts == expected


def test_the_most_probable_of_one_is_greedy():
    assert model().generate(FRANCE, N, temperature=5.0, top_k=1) == model().generate(FRANCE, N)


# What it refuses.


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("", "prompt is ''; it should be a text that is not empty"),
        ([], "prompt is an empty list"),
        ([FRANCE, ""], "prompt is ''"),
        ([FRANCE, None], "prompt is None"),
        ("word " * 9000, r"prompt has 900\d tokens and max_new_tokens is 2"),
    ],
)
def test_prompts_that_cannot_be_continued(prompt, message, untyped):
    with pytest.raises(ValueError, match=message):
        model().generate(prompt, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"max_new_tokens": -1}, "max_new_tokens is -1"),
        ({"max_new_tokens": 1.5}, "max_new_tokens"),
        ({"max_new_tokens": 8188}, "prompt has 5 tokens and max_new_tokens is 8188: together more"),
        ({"top_k": 5}, "top_k is 5, but temperature is 0"),
        ({"top_p": 0.5}, "top_p is 0.5, but temperature is 0"),
        ({"seed": 5}, "seed is 5, but temperature is 0"),
        ({"temperature": -1.0}, "temperature is -1.0"),
        ({"temperature": 1.0, "top_k": 0}, "top_k is 0"),
        ({"temperature": 1.0, "top_p": 1.5}, "top_p is 1.5"),
        ({"cache": "ring"}, "cache is 'ring'"),
        ({"impl": "flash"}, "impl"),
    ],
)
def test_options_out_of_range(options, message, untyped):
    with pytest.raises(ValueError, match=message):
        model().generate(FRANCE, **{"max_new_tokens": 2, **options})


def test_several_texts_cannot_be_streamed():
    with pytest.raises(ValueError, match="on_text is given, but prompt holds several texts"):
        model().generate([FRANCE], 2, on_text=print)


def test_a_cache_without_a_kernel_is_refused_before_anything_is_said():
    pieces = []
    with pytest.raises(ValueError, match="cache has no kernel, but impl is 'triton'"):
        model().generate("Hello", 3, cache="int4", impl="triton", on_text=pieces.append)
    assert not pieces
