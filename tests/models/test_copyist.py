"""Copyists: their size, their tasks, and that what is recorded is what training gives."""

import numpy as np
import pytest
import torch

from attention_src.models.copyist import LENGTHS, recorded, spread, words
from attention_src.models.copyist.model import Copyist
from attention_src.models.copyist.record import PLAN, starts, where
from attention_src.models.copyist.train import TASKS, copy, exam, looks, remembers, train


@pytest.fixture(scope="module")
def pupil():
    return train("copy", True, 0, steps=175)


@pytest.mark.parametrize("attends, count", [(False, 30426), (True, 30138)])
def test_both_kinds_have_about_as_many_parameters(attends, count):
    model = Copyist(attends)
    assert sum(x.numel() for x in model.parameters()) == count
    assert all(x.dtype == torch.float64 for x in model.parameters())


def test_tasks():
    word = torch.tensor([[3, 1, 2, 0]])
    for task, (read, target) in {name: task(word) for name, task in TASKS.items()}.items():
        assert sorted(read[0].tolist()) == [0, 1, 2, 3], task
        wanted = [0, 1, 2, 3] if task == "sort" else [3, 1, 2, 0]
        assert target[0].tolist() == wanted, task
    assert TASKS["backwards"](word)[0][0].tolist() == [0, 2, 1, 3]


def test_neighbours_are_exchanged_and_of_an_odd_number_the_last_stays():
    for n, order in ((2, [1, 0]), (5, [1, 0, 3, 2, 4]), (6, [1, 0, 3, 2, 5, 4])):
        assert TASKS["exchanged"](torch.arange(n)[None])[0][0].tolist() == order


def test_a_blank_writer_learns_of_the_word_by_its_context_alone():
    words = torch.tensor([[3, 1, 2, 0], [0, 2, 1, 3]])
    for blank in (False, True):
        model, seen = Copyist(True, blank=blank), []
        model.decoder.register_forward_hook(lambda *call, seen=seen: seen.append(call[-1][0]))
        model(words, torch.zeros_like(words))
        assert torch.equal(seen[0][0], seen[0][1]) == blank


def test_one_vector_looks_at_the_last_state_alone():
    p = Copyist(False).weights(torch.zeros(1, 3, 52), torch.ones(1, 5, 52))
    assert p[0].tolist() == [[0, 0, 0, 0, 1]] * 3


def test_what_is_recorded_is_what_training_gives(pupil):
    (run,) = recorded(task="copy", attends=True, steps=175, seed=0)
    whole = [100 * exam(pupil, "copy", n)[0].all(axis=1).mean() for n in LENGTHS]
    np.testing.assert_allclose(whole, run["whole"], atol=4)  # processors round otherwise
    found = where(pupil, "copy")
    assert found == pytest.approx(run["looks"], abs=0.03)


def test_training_leaves_the_random_numbers_alone():
    torch.manual_seed(5)
    wanted = torch.rand(1)
    torch.manual_seed(5)
    train("sort", False, 0, steps=2)
    assert torch.rand(1) == wanted


def test_it_writes_as_in_the_exam(pupil):
    word = "stone"
    text = copy(pupil, word)
    assert len(text) == 5 and text.isalpha() and text.islower()
    p = looks(pupil, word)
    assert p.shape == (5, 5)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert remembers(pupil, word).shape == (48,) and np.abs(remembers(pupil, word)).max() < 1


def test_everything_planned_is_recorded():
    for task, attends, steps, more in PLAN:
        three = recorded(task=task, attends=attends, steps=steps, **more)
        seeds = list(range(starts(steps, more)))
        assert [run["seed"] for run in three] == seeds, (task, attends, steps, more)
        assert all(len(run["whole"]) == len(LENGTHS) for run in three)
    for attends in (False, True):
        for word, found in words(attends).items():
            assert all(len(text) == len(word) for text in found["written"])


def test_spread():
    assert spread([{"whole": [6.2, 10.0]}, {"whole": [7.4, 10.4]}], 2) == "6-7"
    assert spread([{"whole": [6.2, 10.0]}, {"whole": [7.4, 10.4]}], 3) == "10"
    with pytest.raises(ValueError, match="no run"):
        recorded(task="copy", attends=True, steps=3)


@pytest.mark.weekly
@pytest.mark.parametrize("attends", [False, True])
def test_the_chapter_s_networks_write_what_is_recorded(attends):
    for seed in range(3):
        model = train("copy", attends, seed)
        same = sum(copy(model, w) == found["written"][seed] for w, found in words(attends).items())
        assert same >= 9  # of 11; processors round otherwise
