"""SmolLM2 on functions of one's own: the same logits, and a wrong function is named."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from smollm2_support import CLOSE, Silenced, model, shallow, text_ids

from attention_src.exercises.keep import PARTS
from attention_src.models.smollm2 import SmolLM2
from attention_src.models.smollm2.experiments.learner_report import report
from attention_src.models.smollm2.learner.checks import PartError
from attention_src.models.smollm2.learner.defaults import OURS
from attention_src.models.smollm2.learner.dispatch import COARSER, UNUSED, Parts
from attention_src.rope.scaling import NTK

N = 13


def on(whole=None, **own):
    """Three layers, or a given model, on these parts."""
    ours = whole or shallow()
    return SmolLM2(ours.config, ours.weights, ours.tokenizer, Parts(own))


def in_bfloat16():
    """The last norm tells a model's dtype."""
    ours = copy.copy(shallow())
    ours.weights = replace(ours.weights, final_norm=ours.weights.final_norm.bfloat16())
    return ours


def plain_attention(q, k, v, mask=None):
    """By loops over axes, in float64, and nothing of ours."""
    s = np.einsum("...qd,...kd->...qk", np.float64(q), np.float64(k)) / np.sqrt(q.shape[-1])
    e = np.where(mask, np.exp(s - s.max(axis=-1, keepdims=True)), 0)
    return np.einsum("...qk,...kd->...qd", e / e.sum(axis=-1, keepdims=True), np.float64(v))


def plain_softmax(x):
    """Not for rows of -inf."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def plain_grouped(q, k, v, mask=None):
    r = q.shape[-3] // k.shape[-3]
    heads = [plain_attention(q[:, h], k[:, h // r], v[:, h // r], mask) for h in range(q.shape[1])]
    return np.stack(heads, axis=1)


def test_every_kept_function_is_a_part():
    assert set(PARTS) <= {*COARSER, *UNUSED}
    assert set(OURS) < set(COARSER)


@pytest.mark.parametrize(
    "own",
    [
        {},
        OURS,
        dict(attention=plain_attention),
        dict(grouped_attention=plain_grouped),
        dict(softmax=plain_softmax),
    ],
    ids=lambda own: "+".join(own) or "none",
)
def test_logits_are_those_of_the_fast_way(own):
    found, expected = on(**own), shallow()
    ids = text_ids(N)
    torch.testing.assert_close(found.logits(ids), expected.logits(ids), **CLOSE)
    torch.testing.assert_close(found.logits(ids, last=True), expected.logits(ids)[-1:], **CLOSE)
    both = torch.stack([ids, ids.flip(0)])
    torch.testing.assert_close(found.logits(both), expected.logits(both), **CLOSE)


def test_a_mask_may_leave_a_query_nothing():
    mask = torch.rand(9, N, N, generator=torch.Generator().manual_seed(0)) < 0.5
    mask[:, :3] = False
    expected = shallow().logits(text_ids(N), mask=mask)
    for own in ({}, dict(softmax=plain_softmax)):
        found = on(**own).logits(text_ids(N), mask=mask)
        torch.testing.assert_close(found, expected, **CLOSE)


def test_tokens_may_come_one_by_one_through_the_cache():
    calls = []
    found = on(append_and_read=counted("append_and_read", calls))
    caches = found.new_caches(max_tokens=N)
    pieces = [found.logits(piece, caches=caches) for piece in text_ids(N).split([7, 1, 5])]
    torch.testing.assert_close(torch.cat(pieces), shallow().logits(text_ids(N)), **CLOSE)
    assert len(calls) == 3 * 3
    with pytest.raises(PartError, match="has room for 13"):
        found.logits([5], caches=caches)


def counted(name, calls):
    def part(*arguments):
        calls.append(name)
        return OURS[name](*arguments)

    return part


def test_probes_see_the_heads():
    ids, probe = text_ids(N), Silenced([(1, 4)])
    found = on().logits(ids, probe=probe)
    torch.testing.assert_close(found, shallow().logits(ids, probe=probe), **CLOSE)


@pytest.mark.parametrize("cache", ["contiguous", None])
def test_it_writes_the_same(cache):
    for prompt in ("The capital of France is", ["Bread is", "Rivers are"]):
        expected = shallow().generate(prompt, 5, cache=cache)
        assert on(attention=plain_attention).generate(prompt, 5, cache=cache) == expected


def test_sample_chooses_the_tokens():
    asked = []

    def sample(logits, temperature, top_p, u):
        asked.append((logits.shape, temperature, top_p, u))
        return np.int64(314)

    found = on(sample=sample)
    assert found.generate("A", 2) == found.decode([314, 314])
    assert asked[0][:3] == ((49152,), 0.0, 1.0)
    drawn = dict(temperature=0.5, top_p=0.9, seed=3)
    found.generate("A", 1, **drawn)
    found.generate("A", 1, **drawn)
    assert asked[2][1:3] == (0.5, 0.9) and asked[2] == asked[3] and 0 <= asked[2][3] < 1
    with pytest.raises(ValueError, match="top_k is 5, but the part sample takes none"):
        found.generate("A", 1, temperature=1.0, top_k=5)
    for wrong in (49152, 1.0, None):
        with pytest.raises(PartError, match=r"parts\['sample'\] \(<lambda>\) returned"):
            on(sample=lambda *_, wrong=wrong: wrong).generate("A", 1)


@pytest.mark.parametrize(
    "name, f, said",
    [
        ("softmax", lambda x: x[..., :1], "an array of float32, shape [1, 9, 5, 1]; it should"),
        ("softmax", lambda x: x > 0, "an array of bool, shape [1, 9, 5, 5]; it should"),
        ("softmax", lambda x: None, "returned NoneType None; it should"),
        ("softmax", lambda x: np.log(x - x), "225 of 225 numbers that are NaN or infinite"),
        ("rotate", lambda x, positions: x, "raised TypeError"),
        ("project", lambda x, *w: x @ w[0], "an array of float32, shape [1, 5, 576]; it should"),
        ("project", lambda x, *w: (x, x, x), "shape [1, 5, 576]; it should return real numbers of"),
        ("project", lambda x, w, *_: w.__imul__(2), "raised ValueError: output array is read-only"),
    ],
)  # fmt: skip
def test_a_wrong_answer_is_named(name, f, said):
    with pytest.raises(PartError) as caught:
        on(**{name: f}).logits(text_ids(5))
    assert f"parts['{name}'] (<lambda>) " in str(caught.value) and said in str(caught.value)


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: on(soft_max=len), "parts holds 'soft_max'; it should hold some of project, "),
        (lambda: on(softmax=3), r"parts\['softmax'\] is int; it should be a function"),
        (lambda: on(in_bfloat16()), "the weights are bfloat16 on cpu"),
        (lambda: on().logits([5], impl="dense"), "impl is 'dense'"),
        (lambda: on().logits([5], scaling=NTK(2.0)), "the part rotate takes none"),
        (lambda: on().logits([5], caches=shallow().new_caches()), "caches holds a KVCache"),
        (lambda: on().generate("A", 1, cache="int8"), "cache is 'int8'"),
        (lambda: on().generate(["A", "A river"], 1), "give texts of one length"),
        (lambda: report(shallow()), "model runs on no parts"),
    ],
)
def test_what_parts_cannot_do_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_coarse_parts_do_the_work_of_finer_ones():
    def softmax(x):
        raise AssertionError

    both = on(softmax=softmax, attention=plain_attention, attention_backward=len)
    both.logits([5, 6])
    said = both.parts.whose()
    assert said["softmax"] == "yours, softmax, not used: attention does its work"
    assert said["attention"] == "yours, plain_attention" and said["rotate"] == "ours"
    assert said["masked_softmax"] == "not used: attention does its work"
    assert said["attention_backward"].endswith("not used: a forward pass has no gradients")


@pytest.mark.slow
def test_the_report_compares_with_ours():
    right = report(on(model(), attention=plain_attention), max_new_tokens=4, seconds=1e4)
    assert right.text == right.ours and right.in_time and right.difference < 2e-3
    assert "attention            yours, plain_attention\n" in str(right)
    assert "logit: below 0.01\ntext: ' girl named" in str(right) and "ours:" not in str(right)
    wrong = report(on(dot_scores=lambda q, k: 0 * (q @ k.swapaxes(-1, -2))))
    assert wrong.difference > 1 and f"ours: {wrong.ours!r}" in str(wrong)
    late = report(on(), seconds=0)
    assert not late.in_time and late.ours.startswith(late.text) and "time was over" in str(late)
