"""The benchmark of SmolLM2 runs, compares times, and keeps nothing of a trial."""

import json
import sys
from pathlib import Path

import pytest
import torch
from smollm2_support import llama, model, packed_model, shallow

from benchmarks import smollm2 as benchmark
from benchmarks import smollm2_parts as parts
from benchmarks import smollm2_peers as peers

pytestmark = pytest.mark.slow

RESULTS = Path(benchmark.__file__).parent / "results" / "cpu-smollm2.json"
ECHO = """
import json, sys
print(json.dumps({"version": sys.argv[2]}), flush=True)
for line in sys.stdin:
    wanted = json.loads(line)
    times = [1.0 + i for i in range(wanted["n_new"])]
    print(json.dumps({"tokens": wanted["ids"], "times_ms": times}), flush=True)
"""


@pytest.mark.weekly
def test_a_trial_runs_to_its_end_and_keeps_nothing(monkeypatch, capsys, tmp_path):
    """On the first three layers of both models, which are not loaded again."""
    ours, theirs = shallow(), llama()
    worker = tmp_path / "worker.py"
    worker.write_text(ECHO)
    monkeypatch.setitem(theirs.model._modules, "layers", theirs.model.layers[:3])
    monkeypatch.setattr(benchmark.SmolLM2, "load", lambda path, weights="float": ours)
    monkeypatch.setattr(benchmark, "transformers_model", lambda file: theirs)
    monkeypatch.setattr(benchmark, "load", lambda *_: [dict(load_s=1.0)])
    monkeypatch.setattr(peers, "WORKER", worker)
    monkeypatch.setattr(parts, "fastest_threads", lambda model: 1)
    monkeypatch.setattr(torch, "set_num_threads", lambda n: None)
    before = RESULTS.read_bytes()
    benchmark.main(["--smoke", "--llama", sys.executable])
    out = capsys.readouterr().out
    for title in ("load", "speed", "against", "quality", "token", "floor", "products", "busy"):
        assert f"\n{title}\n" in out
    assert "llama.cpp" in out
    assert "kept in" not in out and RESULTS.read_bytes() == before


def test_a_process_loads_and_generates():
    [row] = benchmark.load("int4", 8, 1)
    assert row["load_s"] > 0 and 0 < row["loaded_mb"] <= row["peak_mb"] < 2000


def test_each_of_ours_is_compared_with_its_peers():
    took = {"float32": 30.0, "int4": 9.0, "transformers": 33.0}
    timed = [dict(what="decode", context=8, by=name, ms=ms) for name, ms in took.items()]
    found = {(row["ours"], row["other"]): row["times_as_fast"] for row in benchmark.against(timed)}
    assert found == {
        ("float32", "transformers"): pytest.approx(1.1),
        ("int4", "float32"): pytest.approx(30 / 9),
    }


def test_the_record_is_of_a_clean_checkout_and_a_whole_run():
    kept = json.loads(RESULTS.read_text())
    assert kept["dirty"] is False and kept["commit"] and kept["threads"] == benchmark.THREADS
    contexts = {row["context"] for row in kept["rows"] if row["table"] == "speed"}
    assert contexts == set(benchmark.CONTEXTS)


def test_another_function_is_not_timed():
    class Peer:
        def __call__(self, ids):
            logits = shallow().logits(ids)
            logits[0, 3, 5] += 0.01
            return type("Output", (), {"logits": logits})

    with pytest.raises(AssertionError, match="logits differ by"):
        benchmark.check_equal(shallow(), Peer())


def test_a_peer_that_ends_is_no_answer(tmp_path, monkeypatch):
    worker = tmp_path / "worker.py"
    worker.write_text("raise SystemExit(3)")
    monkeypatch.setattr(peers, "WORKER", worker)
    with pytest.raises(RuntimeError, match=r"llama\.cpp ended with status 3"):
        peers.LlamaCpp(sys.executable, Path("model.gguf"), 2)


def test_parts_of_a_token_are_its_whole_time():
    spent = parts._parts_ms(shallow(), [5, 6, 7], 2)
    assert set(spent) == {*parts.STEPS.values(), "unembedding", "the rest"}
    assert all(ms > 0 for ms in spent.values())


def test_parts_of_a_compiled_token():
    pytest.importorskip("numba")
    spent = parts._parts_ms(packed_model(), [5, 6, 7], 2)
    wanted = {*parts.COMPILED.values(), "products", "unembedding", "the rest"}
    assert set(spent) == wanted and all(ms > 0 for ms in spent.values())


def test_products_are_those_of_one_pass():
    matrices = parts.all_matrices(model())
    assert sum(m.numel() for m in matrices) == 134_515_008 - 61 * 576  # all but the norms
    x = [torch.randn(1, 3, m.shape[0]) for m in matrices[:4]]
    ours = parts.multiply_all(parts.project, x, matrices[:4])
    for a, b, m in zip(ours, x, matrices, strict=False):
        torch.testing.assert_close(a, b @ m, rtol=1e-4, atol=1e-4)
