"""What the experiments share: texts, repeated texts, and the number of threads."""

import pytest
import smollm2_support
import torch

from attention_src.models.smollm2.experiments import corpus_ids, heads, speed

shallow = smollm2_support.shallow


def test_random_tokens_come_twice():
    ids = heads.repeated(7, seed=3)
    assert ids.tolist() == [heads.START, *ids[1:8].tolist(), *ids[1:8].tolist()]
    assert len(set(ids.tolist())) == 8 and not torch.equal(ids, heads.repeated(7, seed=4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: corpus_ids(shallow(), 100_000), "n is 100000"),
        (lambda: corpus_ids(shallow(), 1), "n is 1"),
        (lambda: heads.repeated(1), "n is 1"),
    ],
)
def test_bad_input_names_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("fastest", [8, 7, 4, 1])
def test_the_fastest_number_of_threads_is_found(fastest, monkeypatch):
    now, ours = 0.0, 8

    def set_threads(n):
        nonlocal ours
        ours = n

    def work(x, weight):
        nonlocal now
        now += 1.0 if ours == fastest else 1.5

    monkeypatch.setattr(torch, "get_num_threads", lambda: ours)
    monkeypatch.setattr(torch, "set_num_threads", set_threads)
    monkeypatch.setattr(speed, "now_ms", lambda: now)
    monkeypatch.setattr(speed, "project", work)
    assert speed.fastest_threads(shallow()) == fastest and ours == 8
