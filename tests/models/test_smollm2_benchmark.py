"""The benchmark of SmolLM2 runs, judges its goals, and keeps nothing of a trial."""

import json
from pathlib import Path

import pytest
import torch
from smollm2_support import llama, model, shallow

from benchmarks import smollm2 as benchmark

RESULTS = Path(benchmark.__file__).parent / "results" / "cpu-smollm2.json"


def test_a_trial_runs_to_its_end_and_keeps_nothing(monkeypatch, capsys):
    """On the first three layers of both models, which are not loaded again."""
    ours, theirs = shallow(), llama()
    monkeypatch.setitem(theirs.model._modules, "layers", theirs.model.layers[:3])
    monkeypatch.setattr(benchmark.SmolLM2, "load", lambda path: ours)
    monkeypatch.setattr(benchmark, "transformers_model", lambda file: theirs)
    monkeypatch.setattr(torch, "set_num_threads", lambda n: None)
    before = RESULTS.read_bytes()
    benchmark.main(["--smoke"])
    out = capsys.readouterr().out
    for title in ("load", "speed", "floor", "products"):
        assert f"\n{title}\n" in out
    assert "kept in" not in out and RESULTS.read_bytes() == before


def test_the_recorded_goals_are_judged_by_the_recorded_times():
    kept = json.loads(RESULTS.read_text())
    assert kept["dirty"] is False and len(kept["commit"]) == 40 and kept["threads"] == 2
    speed = [row for row in kept["rows"] if row["table"] == "speed"]
    assert [row["context"] for row in speed] == [64, 64, 512, 512, 1024, 1024]
    for row in speed:
        assert row["times_as_fast"] == pytest.approx(row["theirs_ms"] / row["ours_ms"])
        met = row["times_as_fast"] >= benchmark.GOALS[row["what"]]
        assert row["goal"].endswith("met" if met else "missed")


def test_another_function_is_not_timed():
    class Peer:
        def __call__(self, ids):
            logits = shallow().logits(ids)
            logits[0, 3, 5] += 0.01
            return type("Output", (), {"logits": logits})

    with pytest.raises(AssertionError, match="logits differ by"):
        benchmark.check_equal(shallow(), Peer())


def test_products_are_those_of_one_pass():
    matrices = benchmark.all_matrices(model())
    assert sum(m.numel() for m in matrices) == 134_515_008 - 61 * 576  # all but the norms
    x = [torch.randn(1, 3, m.shape[0]) for m in matrices[:4]]
    ours = benchmark.multiply_all(benchmark.project, x, matrices[:4])
    for a, b, m in zip(ours, x, matrices, strict=False):
        torch.testing.assert_close(a, b @ m, rtol=1e-4, atol=1e-4)
