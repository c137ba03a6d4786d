"""SmolLM2 in NumPy: the torch path's numbers, at once and token by token, on own parts as well."""

import functools

import numpy as np
import pytest
import torch
from smollm2_support import CLOSE, model, text_ids, tokenizer, weights_file
from test_smollm2_own import plain_grouped, plain_softmax

from attention_src.models.smollm2.in_numpy import listing
from attention_src.models.smollm2.in_numpy.listing import Storage, forward
from attention_src.models.smollm2.in_numpy.own import on
from attention_src.models.smollm2.in_numpy.weights import load
from attention_src.models.smollm2.in_numpy.write import write
from attention_src.models.smollm2.learner.checks import PartError
from attention_src.models.smollm2.learner.defaults import OURS as DEFAULTS
from attention_src.models.smollm2.learner.dispatch import COARSER

pytestmark = pytest.mark.slow

N = 25
PROMPT = "The capital of France is"


@functools.cache
def in_numpy():
    return load(np.fromfile(weights_file(), np.uint8))


@functools.cache
def wanted():
    """Logits of the torch path, [N, 49152]."""
    return model().logits(text_ids(N)).numpy()


def run(ids, parts=None, storage=None, **options):
    c = in_numpy().config
    return forward(in_numpy(), ids, storage or Storage.empty(c, N), parts, **options)


def test_the_weights_are_those_of_the_torch_path():
    torch_weights, ours = model().weights, in_numpy()
    assert len(ours.layers) == len(torch_weights.layers)
    for one, joined in list(zip(ours.layers, torch_weights.layers, strict=True))[::7]:
        assert np.array_equal(np.hstack([one.q, one.k, one.v]), joined.qkv)
        assert np.array_equal(np.hstack([one.gate, one.up]), joined.gate_up)
        assert np.array_equal(one.output, joined.output) and np.array_equal(one.down, joined.down)
        assert np.array_equal(one.attention_norm, joined.attention_norm)
        assert np.array_equal(one.ffn_norm, joined.ffn_norm)
    assert np.array_equal(ours.unembedding[:, ::31], torch_weights.unembedding[:, ::31])
    assert np.array_equal(ours.embed([5, 7]), torch_weights.embed(torch.tensor([5, 7])))


def test_logits_are_those_of_the_torch_path():
    found = run(text_ids(N).tolist())
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted(), **CLOSE)
    assert np.array_equal(found.argmax(-1), wanted().argmax(-1))


def test_token_by_token_and_the_last_one_alone():
    ids, storage = text_ids(N).tolist(), Storage.empty(in_numpy().config, N)
    [row] = run(ids[:17], storage=storage, last=True)
    np.testing.assert_allclose(row, wanted()[16], **CLOSE)
    for i in range(17, 20):
        np.testing.assert_allclose(run([ids[i]], storage=storage)[0], wanted()[i], **CLOSE)
    np.testing.assert_allclose(run(ids[20:], storage=storage), wanted()[20:], **CLOSE)
    assert storage.length == N


OWN = {
    "grouped_attention": dict(grouped_attention=plain_grouped),
    "softmax, inside the course's attention": dict(softmax=plain_softmax),
    "everything of the course's in float64": {k: v for k, v in DEFAULTS.items() if k != "softmax"},
}


@pytest.mark.parametrize("own", OWN.values(), ids=OWN)
def test_on_parts_of_ones_own(own):
    called = set()

    def heard(name, f):
        return lambda *given: (called.add(name), f(*given))[1]

    found = run(text_ids(N).tolist(), on({name: heard(name, f) for name, f in own.items()}))
    np.testing.assert_allclose(found, wanted(), **CLOSE)
    assert found.dtype == np.float32 and called == set(own)


def test_the_parts_are_those_of_the_course_and_what_is_not_yours_is_ours():
    assert set(vars(listing.OURS)) < set(COARSER)
    assert on({}) == listing.OURS
    parts = on({"rotate": DEFAULTS["rotate"], "sample": max, "attention_backward": max})
    assert {n for n, f in vars(parts).items() if f is not vars(listing.OURS)[n]} == {"rotate"}
    with pytest.raises(ValueError, match="parts holds 'soft'"):
        on({"soft": max})


def test_a_wrong_part_is_named():
    with pytest.raises(PartError, match=r"parts\['grouped_attention'\].*shape \[1, 9, 3, 64\]"):
        run([1, 2, 3], on({"grouped_attention": lambda q, k, v, mask: q[..., :1]}))


def test_it_writes_what_the_torch_path_writes():
    pieces = list(write(in_numpy(), PROMPT, 12))
    assert "".join(pieces) == model().generate(PROMPT, 12)
    assert len(pieces) == 12


def test_it_ends_where_the_model_ends():
    asked = "<|im_start|>user\nSay yes.<|im_end|>\n<|im_start|>assistant\n"
    text = "".join(write(in_numpy(), asked, 40))
    assert text == model().generate(asked, 40) and "<|im_end|>" not in text
    assert len(tokenizer().encode(text)) < 40


def test_a_character_of_several_tokens_comes_whole(monkeypatch):
    ids = tokenizer().encode("\u00e9\U0001f680")
    assert len(ids) > 2
    rows = iter(np.arange(49152) == token for token in (*ids, 2))
    monkeypatch.setattr(
        "attention_src.models.smollm2.in_numpy.write.forward", lambda *_, **__: [next(rows)]
    )
    pieces = list(write(in_numpy(), "a", 9))
    assert [piece for piece in pieces if piece] == ["\u00e9", "\U0001f680"]
    assert len(pieces) == len(ids)


def test_a_text_without_tokens_or_too_long_is_refused():
    with pytest.raises(ValueError, match="prompt is ''; it should hold at least one token"):
        next(write(in_numpy(), "", 5))
    with pytest.raises(ValueError, match="prompt has 5 tokens, and n_new is 8190: more than 8192"):
        next(write(in_numpy(), PROMPT, 8190))


def test_another_file_is_refused():
    with pytest.raises(ValueError, match="this is no GGUF file"):
        load(np.zeros(64, np.uint8))
