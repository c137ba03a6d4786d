"""Wrong models side by side: each row is that of its mistake alone, and failures stay apart."""

import numpy as np
import pytest
import torch
from smollm2_support import model, shallow, text_ids

from attention_src.attention.reference import attention
from attention_src.models.smollm2 import SmolLM2
from attention_src.models.smollm2.experiments import corpus_ids
from attention_src.models.smollm2.experiments.mistakes import REFERENCES, Row, table
from attention_src.models.smollm2.learner.defaults import OURS
from attention_src.models.smollm2.learner.dispatch import Parts

SHORT = dict(n=9, text="tide_mill", max_new_tokens=3)


def unscaled(q, k):
    return q @ k.swapaxes(-1, -2)


def with_one_future_token(s, mask):
    n_q, n_k = s.shape[-2:]
    return OURS["masked_softmax"](s, np.tri(n_q, n_k, n_k - n_q + 1, dtype=bool))


def unmasked(s, mask):
    return OURS["softmax"](s)


def over_queries(s, mask):
    return OURS["softmax"](np.where(mask, s, -np.inf), axis=-2)


def one_place_early(keys, values, length, k_new, v_new):
    n_new, end = k_new.shape[-2], length + k_new.shape[-2]
    at = max(length - 1, 0)
    keys[..., at : at + n_new, :], values[..., at : at + n_new, :] = k_new, v_new
    return keys[..., :end, :], values[..., :end, :]


def for_one_query_alone(q, k, v, mask=None):
    if q.shape[-2] == 1:
        return np.full_like(q, np.nan)
    return attention(q, k, v, mask=mask)


def alone(part, f, whole):
    """Perplexity and text of one mistake, by a model of its own."""
    own = SmolLM2(whole.config, whole.weights, whole.tokenizer, Parts({part: f}))
    nll = own.nll(text_ids(SHORT["n"]))
    return float(nll.mean().exp()), own.generate(own.decode(text_ids(SHORT["n"])), 3, stop=None)


def test_right_parts_make_no_difference():
    rows = list(table(shallow(), [("-", part, "none", f) for part, f in OURS.items()], **SHORT))
    perplexity, text = alone("softmax", OURS["softmax"], shallow())
    assert [row.part for row in rows] == list(OURS)
    assert {row.text for row in rows} == {text}
    for row in rows:
        said = "chooses after the loss" if row.part == "sample" else "no difference"
        assert row.note == said
    assert all(row.perplexity == pytest.approx(perplexity, rel=1e-4) for row in rows)


def test_each_row_is_that_of_its_mistake_alone():
    wrong = [("dot_scores", unscaled), ("masked_softmax", over_queries), ("rotate", backwards)]
    rows = list(table(shallow(), [("-", part, "none", f) for part, f in wrong], **SHORT))
    for (part, f), row in zip(wrong, rows, strict=True):
        perplexity, text = alone(part, f, shallow())
        assert row.perplexity == pytest.approx(perplexity, rel=1e-3)
        assert row == Row("-", part, "none", row.perplexity, text, "")


def backwards(x, positions, base):
    return OURS["rotate"](x, -positions, base)


def test_what_fails_says_why_and_disturbs_nobody():
    wrong = [
        ("a", "softmax", "shape", lambda x: x[..., 0]),
        ("b", "dot_scores", "none", OURS["dot_scores"]),
        ("c", "rotate", "raises", lambda x, positions, base: 1 / 0),
        ("d", "attention", "later", for_one_query_alone),
        ("e", "merge_heads", "huge", lambda x: 1e300 * OURS["merge_heads"](np.float64(x))),
    ]
    longer = SHORT | dict(max_new_tokens=12)
    shape, right, raises, later, huge = table(shallow(), wrong, **longer)
    assert (shape.perplexity, shape.text) == (None, "") and "shape [1, 9, 9]" in shape.note
    assert raises.perplexity is None and "ZeroDivisionError" in raises.note
    assert huge.perplexity is None and "our" not in huge.note and "infinite" in huge.note
    assert later.perplexity == pytest.approx(right.perplexity, rel=1e-4)
    assert later.text == "" and "NaN" in later.note
    assert right.text == shallow().generate(shallow().decode(text_ids(SHORT["n"])), 12, stop=None)
    only = list(table(shallow(), wrong[:1], **SHORT))
    assert [row.mistake for row in only] == ["shape"]


def test_the_cache_shows_in_tokens_that_come_one_by_one():
    wrong = [("-", "append_and_read", "early", one_place_early)]
    (row,) = table(shallow(), wrong, **SHORT)
    own = SmolLM2(
        shallow().config, shallow().weights, shallow().tokenizer, Parts({wrong[0][1]: wrong[0][3]})
    )
    caches, ids = own.new_caches(max_tokens=9), text_ids(9)
    logits = torch.cat([own.logits(piece, caches=caches) for piece in ids.split([4, 4, 1])])
    nll = torch.nn.functional.cross_entropy(logits[:-1], ids[1:])
    assert row.perplexity == pytest.approx(float(nll.exp()), rel=1e-3) and row.note == ""


def test_sample_draws_and_only_the_text_shows_it():
    asked = []

    def sample(logits, temperature, top_p, u):
        asked.append((temperature, top_p))
        return 314 if len(asked) < 3 else -1

    (row,) = table(shallow(), [("llm", "sample", "no token", sample)], **SHORT)
    assert asked == [(0.8, 0.9)] * 3
    assert row.perplexity is not None and row.text == "" and "int -1; it should" in row.note


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="parts holds 'soft'"):
        list(table(shallow(), [("-", "soft", "none", len)]))
    with pytest.raises(ValueError, match="n is 3"):
        list(table(shallow(), [], n=3))


@pytest.mark.weekly
def test_mistakes_differ_by_orders_of_magnitude():
    wrong = {
        "no scale": ("dot_scores", unscaled),
        "leak": ("masked_softmax", with_one_future_token),
        "no mask": ("masked_softmax", unmasked),
        "wrong axis": ("masked_softmax", over_queries),
    }
    lines, steps = [("-", part, name, f) for name, (part, f) in wrong.items()], []
    rows = table(model(), [*REFERENCES, *lines], n=32, progress=steps.append)
    found = {row.mistake: row for row in rows}
    right = found["nothing"]
    assert steps == [", ".join(found)] and right.note == "no difference"
    passage = model().decode(corpus_ids(model(), 32, "rivers"))
    assert 10 < right.perplexity < 150 and right.text == model().generate(passage, 8, stop=None)
    for leak in ("leak", "no mask"):  # it looks like success, until the model writes
        assert found[leak].perplexity < right.perplexity / 2
    assert found["no scale"].perplexity > 5 * right.perplexity
    assert found["wrong axis"].perplexity > 1000
    uniform, none = (found[name].perplexity for name in ("equal weights", "no attention, output 0"))
    assert 5 * right.perplexity < uniform < none
