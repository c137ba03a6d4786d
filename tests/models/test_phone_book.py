"""The models that look numbers up: what they compute, and that the record is what they learn."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from attention_src.models.phone_book import LESSONS, USUAL, loss, runs
from attention_src.models.phone_book.record import plan
from attention_src.models.phone_book.train import (
    Kind,
    answer,
    at_the_end,
    new_books,
    start,
    train,
)


def books(seeds):
    each = [new_books(torch.Generator().manual_seed(seed)) for seed in seeds]
    return [torch.stack(one) for one in zip(*each, strict=True)]


@pytest.mark.parametrize("kind", [Kind(d_k=5), Kind(16, 1.0, 2.0), Kind(9, 0.0, norm=True)])
def test_an_answer_is_attention(kind):
    w, (names, numbers) = start(kind, range(2)), books(range(2))
    _, p, logits = answer(w, names, numbers, kind)
    assert p.shape == (2, 16, 16, 16) and logits.shape == (2, 16, 16, 32)
    name, number, w_q, w_k, w_v, read = (table[1] for table in w)
    x = F.layer_norm(name[names[1, 3]] + number[numbers[1, 3]], (64,))
    q, k = F.layer_norm(name[names[1, 3]], (64,)) @ w_q, x @ w_k
    if kind.norm:
        q, k = (F.rms_norm(z, z.shape[-1:], eps=1e-6) for z in (q, k))
    weights = torch.softmax(q @ k.T / kind.d_k**kind.power, dim=-1)
    torch.testing.assert_close(p[1, 3], weights)
    torch.testing.assert_close(logits[1, 3], weights @ (x @ w_v) @ read)


def test_a_book_has_no_name_twice():
    names, numbers = new_books(torch.Generator().manual_seed(0))
    assert all(len(set(book.tolist())) == 16 for book in names)
    assert names.shape == numbers.shape == (16, 16) and numbers.max() < 32


@pytest.mark.parametrize(
    "kind, wanted",
    [
        (Kind(), 1),
        (Kind(power=0.0), 16),
        (Kind(power=0.0, grow=1 / 16), 1),
        (Kind(grow=16.0), 16),
        (Kind(norm=True, grow=16.0), 1),
        (Kind(norm=True, power=0.0), 16),
    ],
)
def test_first_scores_spread_as_the_lab_says(kind, wanted):
    s, _, _ = answer(start(kind, range(3)), *books(range(3)), kind)
    assert float(s.std(dim=-1).mean()) == pytest.approx(wanted, rel=0.15)


def test_everything_planned_is_recorded():
    for lessons, rate, labels in plan():
        found = [run for run in runs(lessons, **labels) if run["rate"] == rate]
        assert len(found) == 1 and len(found[0]["loss"]) == 5
    with pytest.raises(ValueError, match="no run"):
        runs(41)
    assert set(LESSONS) == {lessons for lessons, _, _ in plan()}
    assert loss(40) == min(np.mean(run["loss"]) for run in runs(40, **USUAL))


def test_what_is_recorded_is_what_training_gives():
    found = at_the_end(train(Kind(), 0.01, 40, seeds=range(2)))
    (run,) = (run for run in runs(40) if run["rate"] == 0.01)
    np.testing.assert_allclose(found, run["loss"][:2], atol=0.02)  # processors round otherwise


@pytest.mark.slow
@pytest.mark.parametrize(
    "labels, rate, lessons",
    [
        ({"power": 0.0}, 0.02, 40),
        ({"power": 0.0, "grow": 1 / 16}, 0.005, 80),
        ({"norm": True, "power": 0.0}, 0.04, 80),
        ({"power": 2.0}, 0.08, 40),
    ],
)
def test_more_of_the_record(labels, rate, lessons):
    found = np.mean(at_the_end(train(Kind(**labels), rate, lessons)))
    (run,) = (run for run in runs(lessons, **labels) if run["rate"] == rate)
    assert found == pytest.approx(np.mean(run["loss"]), rel=0.3, abs=0.02)


@pytest.mark.slow
def test_plain_steps_are_recorded_too():
    found = at_the_end(train(Kind(), 3.0, 40, plain=True))
    (run,) = (run for run in runs(40, plain=True) if run["rate"] == 3.0)
    np.testing.assert_allclose(found, run["loss"], atol=0.02)
