"""The task's answers, found again by reading; the mixers, which are the package's; training."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attention_src.linear.layer import delta_rule, linear_attention
from attention_src.models.recall.mixers import MIXERS
from attention_src.models.recall.model import Recall
from attention_src.models.recall.task import ASKED, N_KEYS, N_VALUES, draw
from attention_src.models.recall.train import accuracy, train
from attention_src.ssm.layer import ssd

SIZES = [(1, False), (4, False), (64, False), (2, True), (8, True), (64, True)]


@pytest.mark.parametrize("pairs, twice", SIZES)
def test_answers_are_the_last_values_written(pairs, twice):
    tokens, answers = draw(np.random.default_rng(pairs), 50, pairs, twice=twice)
    n_keys = pairs // 2 if twice else pairs
    assert answers.shape == (50, min(ASKED, n_keys))
    assert tokens.shape == (50, 2 * pairs + answers.shape[1])
    for text, wanted in zip(tokens, answers, strict=True):
        keys, values = text[: 2 * pairs : 2], text[1 : 2 * pairs : 2] - N_KEYS
        asked = text[2 * pairs :]
        assert keys.max() < N_KEYS and values.min() >= 0 and values.max() < N_VALUES
        assert (np.unique(keys, return_counts=True)[1] == 1 + twice).all()
        memory = dict(zip(keys.tolist(), values.tolist(), strict=True))  # the last one stays
        assert [memory[x] for x in asked.tolist()] == wanted.tolist()
        assert len(set(asked.tolist())) == len(asked)
        if twice:
            assert all(len(set(values[keys == x].tolist())) == 2 for x in keys)


def test_where_a_key_stands_does_not_tell_its_answer():
    tokens, answers = draw(np.random.default_rng(0), 2000, 8, twice=True)
    first_asked = tokens[:, 16] == tokens[:, 0]
    assert 0.2 < first_asked.mean() < 0.3  # one of four keys
    assert np.bincount(answers.ravel(), minlength=N_VALUES).std() < 30  # of 250 each


@pytest.mark.parametrize(
    "pairs, twice, message",
    [(0, False, "pairs is 0"), (65, False, "at most 64"), (7, True, "even")],
)
def test_bad_pairs(pairs, twice, message):
    with pytest.raises(ValueError, match=message):
        draw(np.random.default_rng(0), 2, pairs, twice=twice)


def by_package(name, mixer, q, k, v, gate):
    """What the package's function gives at all positions, for inputs [B, 1, n, d]."""
    unit_q, unit_k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    plain = dict(feature_map=None, normalize=False)
    if name == "softmax":
        i = torch.arange(q.shape[-2])
        s = mixer.scale * (q @ k.mT) - mixer.slope * (i[:, None] - i)
        return s.masked_fill(i > i[:, None], -torch.inf).softmax(-1) @ v
    if name == "elu":
        return linear_attention(q, k, v)
    if name == "linear":
        return linear_attention(unit_q, unit_k, v, **plain)
    if name == "decay":
        return linear_attention(unit_q, unit_k, v, decay=mixer.keep.sigmoid(), **plain)
    if name == "delta":
        return delta_rule(unit_q, unit_k, v, gate.sigmoid())
    A = -mixer.log_a.exp()[None]
    return ssd(v, F.softplus(gate), A, unit_k[:, 0], unit_q[:, 0])


@pytest.mark.parametrize("name", MIXERS)
def test_mixers_are_the_package_s_functions(name):
    torch.manual_seed(0)
    mixer = MIXERS[name]().double()
    q, k, v = (torch.randn(3, 1, 83, d, dtype=torch.float64) for d in (5, 5, 7))
    gate = torch.randn(3, 1, 83, dtype=torch.float64)
    wanted = by_package(name, mixer, q, k, v, gate)[:, 0, -11:]
    found = mixer(q[:, 0, -11:], k[:, 0], gate[:, 0]) @ v[:, 0]
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-11)


def test_a_value_meets_its_key_from_the_start():
    model = Recall(MIXERS["linear"]())
    tokens = torch.tensor([[5, N_KEYS + 3, 5]])
    k, v, q = (model.project(name, tokens) for name in "kvq")
    torch.testing.assert_close(k[0, 1], model.rows["k"][5])
    torch.testing.assert_close(v[0, 1], model.rows["v"][N_KEYS + 3])
    torch.testing.assert_close(q[0, 2], k[0, 1])


def test_training_repeats_and_leaves_torch_s_seed_alone():
    before = torch.random.get_rng_state()
    first, second, other = (train("delta", seed, steps=3, texts=4) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(map(torch.equal, first.parameters(), second.parameters()))
    assert not torch.equal(first.rows["k"], other.rows["k"])


def test_an_untrained_model_guesses():
    assert accuracy(train("softmax", 0, steps=1), 8) < 0.1


def test_softmax_learns_both_and_a_bare_sum_confuses_two_values():
    softmax = train("softmax", 0, steps=100)
    assert accuracy(softmax, 16) > 0.9 and accuracy(softmax, 16, twice=True) > 0.9
    linear = train(MIXERS["linear"], 0, steps=100)
    assert accuracy(linear, 4) > 0.8 > 0.65 > accuracy(linear, 4, twice=True)
