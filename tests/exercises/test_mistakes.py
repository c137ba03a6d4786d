"""The mistakes of all checks are found, and what is made a part of a model is that part."""

import numpy as np
import pytest
from worked import every

from attention_src.exercises.engine import Check, TestCheck
from attention_src.exercises.keep import PARTS
from attention_src.exercises.mistakes_in_smollm2 import AS_PART, NOWHERE, _checks, declared
from attention_src.models.smollm2.learner.defaults import OURS
from attention_src.rope.reference import half_split_order

RNG = np.random.default_rng(0)
S = RNG.normal(size=(1, 2, 5, 5))
Q, K, V = (RNG.normal(size=(1, 2, 5, 64)) for _ in range(3))
CAUSAL = np.tri(5, dtype=bool)


def test_all_mistakes_of_all_checks_are_there():
    found = declared()
    for check in every(Check):
        names = [mistake.name for mistake in found if mistake.exercise == check.name]
        assert names == [mistake.name for mistake in check.mistakes]
    assert len(found) > sum(len(check.mistakes) for check in every(Check))


def test_a_mistake_has_a_part_or_a_reason():
    for mistake in declared():
        assert bool(mistake.part) == (mistake.function is not None) == (not mistake.why)
        assert mistake.part in (*PARTS, "")
    parts = {mistake.part for mistake in declared()} - {""}
    assert parts >= {*PARTS} - {"multihead_attention", "attention_backward"}


def test_every_name_in_the_lists_is_a_check():
    names = {check.name for _, check in _checks()}
    assert names >= set(NOWHERE) | set(AS_PART)


def right(name):
    """The right function of a check, made a part."""
    check = {check.name: check for _, check in _checks()}[name]
    f = check.right[0].function if isinstance(check, TestCheck) else check.reference
    return AS_PART[name][1](f)


@pytest.mark.parametrize("name", [name for name in AS_PART if AS_PART[name][0] == "softmax"])
def test_softmaxes(name):
    np.testing.assert_allclose(right(name)(S), OURS["softmax"](S), atol=1e-6)


@pytest.mark.parametrize("name", ["my_score_test", "my_scale_test"])
def test_scores(name):
    np.testing.assert_allclose(right(name)(Q, K), OURS["dot_scores"](Q, K), atol=1e-12)


def test_a_mask_for_one_document_is_causal():
    expected = OURS["masked_softmax"](S, CAUSAL)
    for n_q in (5, 2):
        found = right("packed_causal_mask")(S[..., -n_q:, :], None)
        np.testing.assert_allclose(found, expected[..., -n_q:, :], atol=1e-12)


@pytest.mark.parametrize("name", ["my_leak_test", "my_tiled_test"])
def test_causal_attentions(name):
    expected = OURS["masked_softmax"](OURS["dot_scores"](Q, K), CAUSAL) @ V
    for n_q in (5, 1):
        found = right(name)(Q[..., -n_q:, :], K, V, None)
        np.testing.assert_allclose(found, expected[..., -n_q:, :], atol=1e-12)


def test_converted_weights_are_what_they_were():
    x, w_q, w_k, w_v = (RNG.normal(size=shape) for shape in ((3, 7), (7, 128), (7, 64), (7, 64)))
    found = right("to_half_split")(x, w_q, w_k, w_v)
    for a, b in zip(found, (x @ w_q, x @ w_k, x @ w_v), strict=True):
        np.testing.assert_allclose(a, b)
    # Without a conversion, the model's half-split pairs are the file's interleaved ones.
    q, _, _ = AS_PART["to_half_split"][1](lambda w, n_heads: w)(x, w_q, w_k, w_v)
    order = half_split_order(64)
    np.testing.assert_allclose(q[:, :64][:, order], x @ w_q[:, :64])


def test_a_cache_is_written_in_place():
    """The check of append_and_read gives functions copies of the storage; the model does not."""
    for mistake in declared():
        if (mistake.part, mistake.name) == ("append_and_read", "one too early"):
            keys, values = np.zeros((2, 6, 3)), np.zeros((2, 6, 4))
            new = RNG.normal(size=(2, 2, 3)), RNG.normal(size=(2, 2, 4))
            found, _ = mistake.function(keys, values, 2, *new)
            assert np.array_equal(keys[:, 1:3], new[0]) and found.base is keys
