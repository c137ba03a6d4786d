"""Tokens are drawn from the distribution that was asked for, and text is handed on whole."""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from attention_src.models.smollm2 import sampling
from attention_src.models.smollm2.generate import (
    Stream,
    pad_left,
    stop_ids,
    tokenize,
    visible_columns,
)
from attention_src.models.smollm2.sampling import Sampling, chooser, greedy
from attention_src.models.smollm2.tokenizer import Tokenizer


def probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    return sampling.probabilities(logits, Sampling(temperature, top_k, top_p))


def by_definition(logits, temperature, top_k, top_p):
    """One row in float64, token by token; and how close a sum came to top_p."""
    logits = np.asarray(logits, dtype=np.float64) / temperature
    p = np.exp(logits - logits.max())
    p /= p.sum()
    order = sorted(range(len(p)), key=lambda i: (-p[i], i))
    kept = order if top_k is None else order[:top_k]
    gap = math.inf
    if top_p is not None:
        total, whole, nucleus = 0.0, sum(p[i] for i in kept), []
        for i in kept:
            nucleus.append(i)
            total += p[i] / whole
            gap = min(gap, abs(total - top_p))
            if total >= top_p:
                break
        kept = nucleus
    out = np.zeros_like(p)
    out[kept] = p[kept] / p[kept].sum()
    return out, gap


def test_greedy_is_that_of_torch(untyped):
    """Of the same ids in every dtype, for a row as for several, the first of equals, and NaN."""
    rows = torch.tensor([[0.0, 2.0, 2.0, 1.0], [3.0, 1.0, torch.nan, 5.0]])
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for logits in (rows.to(dtype), rows[0].to(dtype)):
            ids = greedy(logits)
            assert ids.dtype == torch.int64 and ids.tolist() == logits.argmax(-1).tolist()


quarters = st.integers(-60, 60).map(lambda n: n / 4)  # equal ones are equal in any precision
temperatures = st.sampled_from([0.1, 0.5, 0.7, 1.0, 1.3, 4.0])
top_ks = st.none() | st.integers(1, 12)
top_ps = st.none() | st.floats(0.01, 0.99)


@given(st.lists(quarters, min_size=1, max_size=11), temperatures, top_ks, top_ps)
def test_probabilities_equal_their_definition(logits, temperature, top_k, top_p):
    expected, gap = by_definition(logits, temperature, top_k, top_p)
    assume(gap > 1e-5)  # where float32 may see the sum on the other side of top_p
    p = probabilities(torch.tensor(logits), temperature, top_k, top_p)
    np.testing.assert_allclose(p, expected, rtol=1e-4, atol=1e-7)


@given(st.lists(quarters, min_size=2, max_size=11, unique=True), temperatures, top_ks, top_ps)
def test_probabilities_equal_transformers(logits, temperature, top_k, top_p):
    """In the order in which its generate applies them. Of equal logits it keeps more than top_k."""
    transformers = pytest.importorskip("transformers")
    assume(by_definition(logits, temperature, top_k, top_p)[1] > 1e-5)
    scores = transformers.TemperatureLogitsWarper(temperature)(None, torch.tensor([logits]))
    # What is too improbable for float32 it sees as equal.
    assume((scores.softmax(-1) > 1e-30).all())
    if top_k is not None:
        scores = transformers.TopKLogitsWarper(top_k)(None, scores)
    if top_p is not None:
        scores = transformers.TopPLogitsWarper(top_p)(None, scores)
    p = probabilities(torch.tensor([logits]), temperature, top_k, top_p)
    torch.testing.assert_close(p, scores.softmax(-1), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("options", [{}, {"top_k": 40, "top_p": 0.9}])
def test_rows_are_independent_and_sum_to_one(options):
    logits = torch.randn(2, 3, 997, generator=torch.Generator().manual_seed(1)) * 3
    before = logits.clone()
    p = probabilities(logits, 0.8, **options)
    assert p.shape == logits.shape and p.dtype == torch.float32
    torch.testing.assert_close(p.sum(-1), torch.ones(2, 3), rtol=0, atol=1e-5)
    for row, each in zip(p.flatten(0, 1), logits.flatten(0, 1), strict=True):
        torch.testing.assert_close(row, probabilities(each, 0.8, **options))
    assert torch.equal(logits, before)  # what was given is left alone


@pytest.mark.parametrize("temperature", [1e-6, 1e-38, 5e-324])
def test_a_temperature_near_zero_takes_the_most_probable(temperature):
    p = probabilities(torch.tensor([3.0, 20.0, -5.0]), temperature)
    assert p.tolist() == [0, 1, 0]


def test_very_large_logits():
    p = probabilities(torch.tensor([1e4, -1e4, 1e4 - 1, -math.inf]), 1.0, 3, 0.99)
    np.testing.assert_allclose(p, [1 / (1 + math.exp(-1)), 0, 1 / (1 + math.e), 0], rtol=1e-5)


def test_of_equal_logits_the_first_are_kept():
    logits = torch.tensor([0.0, 1.0, 1.0, 1.0, 0.0])
    assert probabilities(logits, top_k=2).tolist() == [0, 0.5, 0.5, 0, 0]
    assert probabilities(torch.zeros(4), top_p=0.5).tolist() == [0.5, 0.5, 0, 0]
    assert probabilities(torch.zeros(4), top_p=0.51).gt(0).tolist() == [True, True, True, False]


def test_top_k_of_the_whole_vocabulary_or_more_changes_nothing():
    logits = torch.tensor([0.3, -2.0, 1.1])
    for top_k in (3, 4, 50, 2**40):
        torch.testing.assert_close(probabilities(logits, top_k=top_k), probabilities(logits))


def test_top_p_of_one_keeps_every_token():
    for logits in (torch.tensor([0.3, -2.0, 1.1]), torch.tensor([0.0, -20.0, -30.0])):
        torch.testing.assert_close(probabilities(logits, top_p=1.0), probabilities(logits))
        torch.testing.assert_close(probabilities(logits, top_p=1), probabilities(logits))
        assert (probabilities(logits, top_p=1.0) > 0).all()


@pytest.mark.parametrize("top_p", [5e-324, 1e-30, 1e-3])
def test_tiny_top_p_keeps_the_most_probable(top_p):
    logits = torch.tensor([[0.3, -2.0, 1.1], [0.0, 0.0, -1.0]])
    assert probabilities(logits, top_p=top_p).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_top_p_counts_what_top_k_left():
    """0.4 of 0.7: the first of two is enough for 0.5, but not before top-k."""
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()
    assert probabilities(logits, top_k=2, top_p=0.5).tolist() == [1, 0, 0, 0]
    assert probabilities(logits, top_p=0.5).gt(0).sum() == 2


# Choosing


def test_temperature_zero_takes_the_most_probable():
    choose = chooser(Sampling())
    logits = torch.tensor([[0.0, 3.0, 1.0], [-1.0, -9.0, -2.0]])
    ids = choose(logits)
    assert ids.tolist() == [1, 0] and ids.dtype == torch.int64


def draws(choose, logits, n):
    return torch.stack([choose(logits) for _ in range(n)], dim=1)  # [B, n]


def test_a_seed_repeats_and_another_differs():
    logits = torch.zeros(1, 1000)
    first, again, other = (draws(chooser(Sampling(1.0, seed=s)), logits, 30) for s in (5, 5, 6))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert len(set(first[0].tolist())) > 20  # each draw is a new one


def test_without_a_seed_every_chooser_differs():
    logits = torch.zeros(1, 1000)
    first, second = (draws(chooser(Sampling(1.0)), logits, 30) for _ in range(2))
    assert not torch.equal(first, second)


def test_text_b_draws_with_seed_plus_b():
    """So what a text becomes does not depend on the others in the batch."""
    logits = torch.randn(3, 100, generator=torch.Generator().manual_seed(1))
    together = draws(chooser(Sampling(0.9, 40, 0.9, seed=11), batch=3), logits, 20)
    for b in range(3):
        alone = draws(chooser(Sampling(0.9, 40, 0.9, seed=11 + b)), logits[b : b + 1], 20)
        assert torch.equal(together[b], alone[0])


def test_drawing_leaves_torchs_own_generator_alone():
    before = torch.get_rng_state()
    for seed in (None, 1):
        draws(chooser(Sampling(1.0, seed=seed)), torch.zeros(1, 10), 3)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("options", [{}, {"top_k": 4}, {"top_p": 0.8}, {"temperature": 2.0}])
def test_drawn_tokens_are_as_frequent_as_they_should_be(options):
    """Chi-square with up to 7 degrees of freedom is above 30 once in 10,000 times."""
    logits = torch.tensor([[1.0, 0.0, 2.0, -1.0, 0.5, 1.5, -0.5, 0.2]])
    options = {"temperature": 1.0, "top_k": None, "top_p": None} | options
    expected, _ = by_definition(logits[0], **options)
    n = 1500
    drawn = draws(chooser(Sampling(**options, seed=8)), logits, n)[0]
    found = np.bincount(drawn, minlength=8)
    assert (found[expected == 0] == 0).all()
    kept = expected > 0
    chi_square = ((found - n * expected)[kept] ** 2 / (n * expected)[kept]).sum()
    assert chi_square < 30


BAD = [
    ("temperature", [-0.1, math.nan, math.inf, "1", None, True]),
    ("top_k", [0, 1.5, "3"]),
    ("top_p", [0, 1.01, math.nan, "0.9", True]),
]


@pytest.mark.parametrize(("name", "value"), [(name, v) for name, some in BAD for v in some])
def test_numbers_out_of_range(untyped, name, value):
    options = {"temperature": 1.0} | {name: value}
    with pytest.raises(ValueError, match=rf"^{name} is "):
        Sampling(**options)


def test_numbers_of_numpy_are_numbers(untyped):
    logits = torch.tensor([3.0, 2.0, 1.0, 0.0])
    wanted = probabilities(logits, temperature=0.5, top_k=3, top_p=0.75)
    for kind in (np.float16, np.float32, np.float64):
        got = probabilities(logits, kind(0.5), np.int64(3), kind(0.75))
        assert torch.equal(got, wanted) and got.dtype == wanted.dtype
    assert chooser(Sampling(np.float32(0)))(logits[None]).tolist() == [0]


@pytest.mark.parametrize("seed", [-1, 1.5, 2**64 - 1])
def test_seeds_that_are_none(untyped, seed):
    with pytest.raises(ValueError, match=r"^seed is "):
        chooser(Sampling(1.0, seed=seed), batch=2)


@pytest.mark.parametrize(("name", "value"), [("top_k", 5), ("top_p", 0.9), ("seed", 0)])
def test_nothing_is_drawn_at_temperature_zero(name, value):
    with pytest.raises(ValueError, match=rf"^{name} is {value}, but temperature is 0"):
        Sampling(0.0, **{name: value})
    with pytest.raises(ValueError, match=r"^temperature is 0; .* above 0"):
        probabilities(torch.zeros(3), temperature=0)


# Generating: a vocabulary of one token a byte, and two special ones


def byte_names():
    """GPT-2's names for the 256 bytes: printable ones stand for themselves."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    names = {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(others)}
    return [names[byte] for byte in range(256)]


def byte_tokenizer(without=()):
    tokens = [name for byte, name in enumerate(byte_names()) if byte not in without]
    tokens += ["<|im_end|>", "<|endoftext|>"]
    return Tokenizer(
        {
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": "smollm",
            "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.token_type": [1] * (len(tokens) - 2) + [3, 3],
            "tokenizer.ggml.merges": [],
            "tokenizer.ggml.eos_token_id": len(tokens) - 2,
        }
    )


BYTEWISE = byte_tokenizer()


def streamed(ids):
    """The pieces that were handed on after each token, and at the end."""
    pieces, steps = [], []
    stream = Stream(BYTEWISE, pieces.append)
    for token in ids:
        stream.add(token)
        steps.append("".join(pieces))
    n = len(pieces)
    stream.close()
    return pieces, steps, pieces[n:]


@pytest.mark.parametrize("text", ["ab", "é", "界", "👩🏽‍🚀", "a👍🏿b", "e\u0301 שלום"])
def test_a_character_is_handed_on_whole_and_at_once(text):
    """Each of its bytes is a token: with its last one, and not before, it is there."""
    pieces, steps, rest = streamed(list(text.encode()))
    assert pieces == list(text) and rest == []
    ends = np.cumsum([len(character.encode()) for character in text])
    for i, step in enumerate(steps, 1):
        assert step == text[: (ends <= i).sum()]


@pytest.mark.slow
@given(st.text(max_size=20))
def test_pieces_join_to_the_text(text):
    pieces, _, _ = streamed(list(text.encode()))
    assert "".join(pieces) == text and "" not in pieces
    if "\ufffd" not in text:
        assert pieces == list(text)


@given(st.binary(max_size=12) | st.lists(st.sampled_from([0xF0, 0x9F, 0x91, 0xE2, 65])).map(bytes))
def test_pieces_of_what_is_no_text_join_to_what_it_decodes_to(raw):
    pieces, _, _ = streamed(list(raw))
    assert "".join(pieces) == BYTEWISE.decode(list(raw))


def test_half_a_character_at_the_end_comes_when_the_stream_closes():
    half = "👍".encode()[:3]
    pieces, steps, rest = streamed(list(b"a" + half))
    assert steps[-1] == "a" and rest == ["\ufffd"] and pieces == ["a", "\ufffd"]


def test_what_is_no_text_does_not_hold_up_what_follows():
    _, steps, rest = streamed([0xF0, 65, 66])
    assert steps == ["", "\ufffdA", "\ufffdAB"] and rest == []


def test_special_tokens_are_text_too():
    pieces, _, _ = streamed([65, BYTEWISE.end, 66])
    assert pieces == ["A", "<|im_end|>", "B"]


def test_closing_twice_and_without_a_listener():
    pieces = []
    for stream in (Stream(BYTEWISE, pieces.append), Stream(BYTEWISE, None)):
        stream.close()
        stream.add(0xC3)
        stream.close()
        stream.close()
    assert pieces == ["\ufffd"]


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        (None, set()),
        ((), set()),
        ("<|im_end|>", {256}),  # one text is one token, not its characters
        (7, {7}),
        (0, {0}),
        (["<|im_end|>", "<|endoftext|>", "\n", 65, "A"], {256, 257, 10, 65}),
        (iter(["A"]), {65}),
        ({257}, {257}),
    ],
)
def test_stop_ids(stop, expected):
    assert stop_ids(BYTEWISE, stop) == expected


@pytest.mark.parametrize("token", ["ab", "", "é", -1, 258, 1.5, None, True, ["A"]])
def test_what_cannot_stop_a_text(untyped, token):
    with pytest.raises(ValueError, match=r"^stop holds ") as error:
        stop_ids(BYTEWISE, ["<|im_end|>", token])
    assert repr(token) in str(error.value)
    assert "which is 1 tokens; it should be one" not in str(error.value)


@given(st.lists(st.lists(st.integers(1, 99), min_size=1, max_size=6), min_size=1, max_size=4))
def test_padding_is_on_the_left_and_invisible(prompts):
    ids, padding = pad_left(prompts, "cpu")
    n = max(map(len, prompts))
    assert ids.shape == (len(prompts), n) and ids.dtype == torch.int64
    for extra in (0, 3):  # later columns are text of every row
        visible = visible_columns(padding, n + extra)
        assert visible.shape == (len(prompts), 1, 1, n + extra) and visible.dtype == torch.bool
        for b, prompt in enumerate(prompts):
            rows = [False] * (n - len(prompt)) + [True] * (len(prompt) + extra)
            assert visible[b, 0, 0].tolist() == rows
            assert ids[b, padding[b] :].tolist() == prompt


@pytest.mark.parametrize("prompts", [[""], [], ["a", ""], ["\x04"], ["ab", "\x04"], None, [3]])
def test_a_prompt_without_a_token(untyped, prompts):
    """Byte 4 has no token, here as in SmolLM2."""
    with pytest.raises(ValueError, match=r"^prompt "):
        tokenize(byte_tokenizer(without=[4]), prompts, False)
