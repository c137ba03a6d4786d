"""Generation equals transformers', for one text and for several, and stops and streams as asked.

What holds for any weights is tested on the first three layers.
"""

import numpy as np
import pytest
import torch
from smollm2_support import llama, model, shallow, tokenizer

from attention_src.kvcache.cache import KVCache
from attention_src.models.smollm2.generate import generate_ids, stop_ids
from attention_src.models.smollm2.tokenizer import chat_prompt

FRANCE = "The capital of France is"
RAGGED = [FRANCE, "Hi", "Once upon a time there was a little girl who lived", "1, 2, 3, 4,"]
EQUAL = [FRANCE, "The opposite of hot is"]
N = 3  # new tokens, for what is compared with each text by itself


def generated(prompts, n, cache, impl, model=shallow):
    """New token ids of each text, and the logits that they were chosen by, [B, n, n_vocabulary]."""
    found = []

    def choose(logits):
        found.append(logits)
        return logits.argmax(dim=-1)

    ids = [model().tokenizer.encode(prompt) for prompt in prompts]
    total = max(map(len, ids)) + n
    caches = cache and model().new_caches(cache, batch=len(ids), max_tokens=total)
    texts = generate_ids(model(), ids, n, choose=choose, caches=caches, impl=impl)
    return texts, torch.stack(found, dim=1)


@pytest.fixture(scope="module")
def alone():
    """Each text by itself, without a cache."""
    texts, logits = zip(*(generated([prompt], N, None, "dense") for prompt in RAGGED), strict=True)
    return [text[0] for text in texts], torch.cat(logits)


# One text.


@pytest.mark.slow
@pytest.mark.parametrize("prompt", ["def fibonacci(n):\n", chat_prompt("Why is the sky blue?")])
def test_greedy_is_transformers_greedy(prompt):
    ids = model().encode(prompt)
    options = dict(do_sample=False, eos_token_id=None, pad_token_id=2)
    expected = llama().generate(ids[None], max_new_tokens=12, **options)[0, len(ids) :]
    (text,), _ = generated([prompt], 12, "contiguous", "auto", model)
    assert text == expected.tolist()


@pytest.mark.parametrize("n", [1, 2, 7])
def test_n_tokens_and_no_more(n):
    (text,), logits = generated([FRANCE], n, "contiguous", "auto")
    assert len(text) == n == logits.shape[1]
    assert shallow().decode(text) == shallow().generate(FRANCE, n, stop=None)


def test_a_function_may_make_the_cache():
    made = []

    def make():
        made.append(KVCache())
        return made[-1]

    text = shallow().generate(FRANCE, N, stop=None, cache=make)
    assert text == shallow().generate(FRANCE, N, stop=None, cache=None)
    assert len(made) == 3
    assert all(len(cache) == len(shallow().encode(FRANCE)) + N - 1 for cache in made)


def test_chat_continues_the_chats_prompt():
    question, options = "What is 2 + 2?", dict(stop=None)
    answer = shallow().generate(question, N, chat=True, **options)
    assert answer == shallow().generate(chat_prompt(question), N, **options)
    assert shallow().generate([question], N, chat=True, **options) == [answer]


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
    texts, logits = generated(RAGGED, N, cache, impl)
    assert texts == alone[0]
    if cache == "int8":  # compare with int8, where a rounding error may tip a number over
        expected = torch.cat([generated([prompt], N, "int8", impl)[1] for prompt in RAGGED[:2]])
        difference = (logits[:2] - expected).abs()
        assert difference.mean() < 0.02 and difference.max() < 0.3
    else:
        torch.testing.assert_close(logits, alone[1], atol=5e-4, rtol=0)


@pytest.mark.parametrize(
    ("cache", "impl"),
    [
        (None, "tiled"),
        ("contiguous", "tiled"),
        ("int8", "auto"),
        ("int4", "dense"),
        ("windowed(64,4)", "auto"),
        ("windowed(64,4)", "tiled"),
        ("paged", "sdpa"),
    ],
)
def test_texts_of_one_length_take_any_cache(cache, impl):
    assert len({len(shallow().encode(prompt)) for prompt in EQUAL}) == 1
    options = dict(stop=None, cache=cache, impl=impl)
    texts = shallow().generate(EQUAL, N, **options)
    assert texts == [shallow().generate(prompt, N, **options) for prompt in EQUAL]


@pytest.mark.parametrize("cache", ["windowed", "windowed(64,4)", "int4"])
def test_caches_that_cannot_hide_padding(cache):
    with pytest.raises(ValueError, match=r"texts of different lengths.*take padding for tokens"):
        model().generate(RAGGED, N, cache=cache)


@pytest.mark.parametrize("impl", ["tiled", "triton"])
def test_implementations_that_cannot_hide_padding(impl):
    with pytest.raises(ValueError, match=r"texts of different lengths.*whose padding needs a mask"):
        model().generate(RAGGED, N, impl=impl)


def test_a_text_that_ends_lets_the_others_go_on():
    """Each ends at the stop token, and shows none of what comes after."""
    unstopped, _ = generated(RAGGED, 6, "contiguous", "auto")
    stop = unstopped[0][2]
    texts = shallow().generate(RAGGED, 6, stop=[stop])
    expected = [ids[: ids.index(stop)] if stop in ids else ids for ids in unstopped]
    assert texts == [shallow().decode(ids) for ids in expected]
    assert len({len(ids) for ids in expected}) > 1


# Where to stop.


@pytest.mark.parametrize("by_id", [False, True])
def test_the_stop_token_itself_is_not_shown(by_id):
    dot = model().encode(".").item()
    text = model().generate(FRANCE, 30, stop=[dot if by_id else "."])
    assert text == " Paris"
    assert model().generate(FRANCE, 2, stop=None) == " Paris."


@pytest.mark.slow
def test_an_answer_ends_by_itself():
    """The model's own stop token is <|im_end|>; without stop tokens it would be shown."""
    say = "Answer with one word: what is the capital of Italy?"
    answer = model().generate(say, 12, chat=True)
    assert "Rome" in answer and "<|im_end|>" not in answer
    assert model().generate(say, 12, chat=True, stop=None).startswith(answer + "<|im_end|>")


@pytest.mark.parametrize(
    "stop", ["The cat sat", [49152], -1, 1.5, True, [np.True_], [None], object(), np.float32(3)]
)
def test_stops_that_are_not_one_token(stop, untyped):
    with pytest.raises(ValueError, match="stop holds"):
        stop_ids(tokenizer(), stop)


def test_stops_of_numpy_are_stops(untyped):
    for stop in (3, np.int64(3), [np.uint8(3)], np.array([3]), (3, np.int32(3))):
        assert stop_ids(tokenizer(), stop) == {3}
        assert all(type(i) is int for i in stop_ids(tokenizer(), stop))
    assert stop_ids(tokenizer(), None) == stop_ids(tokenizer(), []) == frozenset()


# Streaming.


def test_pieces_join_to_the_text():
    pieces = []
    text = shallow().generate("Emojis: 😀 🎉 😀", 6, stop=None, on_text=pieces.append)
    assert "".join(pieces) == text and len(pieces) > 2 and all(pieces)


# Drawing.

DRAWN = dict(temperature=1.0, top_p=0.95, stop=None)


def test_a_seed_makes_drawing_repeatable():
    texts = [shallow().generate(FRANCE, 5, seed=seed, **DRAWN) for seed in (3, 3, 4, 5)]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1


@pytest.mark.parametrize("prompts", [EQUAL, RAGGED[:2]])
def test_text_b_draws_with_seed_plus_b(prompts):
    texts = shallow().generate(prompts, 4, seed=11, **DRAWN)
    expected = [shallow().generate(p, 4, seed=11 + b, **DRAWN) for b, p in enumerate(prompts)]
    assert texts == expected


def test_the_most_probable_of_one_is_greedy():
    drawn = shallow().generate(FRANCE, N, temperature=5.0, top_k=1)
    assert drawn == shallow().generate(FRANCE, N)


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
        ({"cache": "none"}, "cache is 'none'; it should be None or one of contiguous"),
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
