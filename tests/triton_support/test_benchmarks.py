"""The benchmarks run, judge rightly, say where a number comes from, and invent none."""

import json
import subprocess

import pytest
import torch
from kernel_support import needs_interpreter

import benchmarks.__main__ as command
from attention_src.costs.measured import FOLDER as MEASURED
from attention_src.costs.measured import measured
from benchmarks import record, running
from benchmarks.running import Bench, faster
from benchmarks.topics import flash, kvcache, softmax, ssm


def recorded():
    folders = record.RESULTS, MEASURED
    return {path: path.read_bytes() for folder in folders for path in folder.glob("*.json")}


@pytest.fixture
def run(monkeypatch, capsys):
    """The command with some arguments: its exit code, output and errors."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["benchmarks", *arguments])
        return command.main(), *capsys.readouterr()

    return run


def test_without_a_gpu_nothing_is_measured_or_recorded(run, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    before = recorded()
    code, output, errors = run("softmax")
    assert code == 2 and output == ""
    assert "No CUDA GPU here, so there is nothing to measure on. Nothing was" in errors
    assert recorded() == before


@pytest.mark.slow
@needs_interpreter
def test_smoke_runs_every_script_and_measures_nothing(run):
    before = recorded()
    code, output, errors = run("--smoke")
    assert code == 0, output + errors
    for topic in command.TOPICS:
        assert f"{topic}: tried at tiny sizes, not measured" in output
    ours = [line for line in output.splitlines() if "triton" in line.split()]
    assert len(ours) == 25 and all(line.split()[-1] == "ran" for line in ours)
    for word in ("ms", "GB", "gb_per_s", "of_copy", "tflop_per_s", "kept"):
        assert word not in output.split()
    assert recorded() == before


def test_an_unknown_topic_is_named(run, capsys):
    with pytest.raises(SystemExit, match="2"):
        run("flush")
    assert "topic is 'flush'; it should be one of softmax, rope, flash, kvcache" in (
        capsys.readouterr().err
    )


def test_interpreted_kernels_are_not_measured(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert "TRITON_INTERPRET is set" in command._why_not()
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    assert command._why_not() == ""


@pytest.fixture
def pretend(monkeypatch):
    """As if timed: a copy takes 1 ms, our kernels 1.25 ms, everything else 2.5 ms."""
    times = {"copy": 1.0, "triton": 1.25}

    def row(self, f, *, like=None, **labels):
        return labels | dict(ms=times.get(labels["impl"], 2.5), spread_ms=0.0, error=None)

    monkeypatch.setattr(Bench, "row", row)
    return Bench(smoke=True)


def test_rates_and_shares(pretend):
    rows = softmax.run(pretend)
    (row,) = [r for r in rows if (r["impl"], r["direction"], r["n"]) == ("triton", "backward", 200)]
    n_bytes = 3 * 2 * (1024 // 200 * 200)  # p, dp and dx in half precision
    assert row["gb_per_s"] == pytest.approx(n_bytes / 1.25e-3 / 1e9)
    assert row["of_copy"] == pytest.approx(0.8)


def test_flash_is_compared_with_each_rival(pretend):
    rows = {(r["direction"], r["causal"], r["impl"]): r for r in flash.run(pretend)}
    impls = ["triton", "sdpa flash", "sdpa efficient", "sdpa cudnn", "sdpa math", "flex"]
    assert len(rows) == 2 * 2 * len(impls)
    assert {row.get("triton_is", 2.0) for row in rows.values()} == {2.0}
    assert "triton_is" not in rows["forward", False, "triton"]
    # 2 heads, two products of 24 x 24 x 16, two operations each.
    flops = 2 * 2 * 24 * 24 * 16 * 2
    triton = [rows[d, c, "triton"]["tflop_per_s"] for d, c in rows_of(rows)]
    assert triton == pytest.approx([x * flops / 1.25e-3 / 1e12 for x in (1, 2.5, 0.5, 1.25)])


def rows_of(rows):
    return list(dict.fromkeys((direction, causal) for direction, causal, _ in rows))


def test_int8_is_compared_with_float16(pretend):
    rows = kvcache.run(pretend)
    (int8,) = [row for row in rows if (row["impl"], row["cache"]) == ("triton", "int8")]
    assert int8["over_float16"] == 1.0 and int8["of_copy"] == pytest.approx(0.8)
    read = {row["cache"]: row["gb_per_s"] * 1e6 for row in rows if row["impl"] == "copy"}
    codes = 2 * 2 * 2 * 48 * (16 + 4)  # k and v, B, H_kv, n: 16 codes and a scale
    assert read["int8"] == pytest.approx(codes + 2 * 2 * 4 * 16 * 2)
    assert read["contiguous"] == pytest.approx(2 * 2 * 2 * 48 * 16 * 2 + 2 * 2 * 4 * 16 * 2)


def test_the_bound_by_exponentials():
    n_bytes = 2 * 4 * 4096 * (3 * 4096 + 2 * 16)  # x, dt and y, B and C, in half precision
    bound = ssm.copy_share(n_bytes, 3.0e12, 90, **ssm.SIZE)
    milliseconds = 4 * 4096 * 4096 * 16 / (16 * 132 * 1.755e9) * 1e3
    assert milliseconds == pytest.approx(0.29, abs=0.001)
    assert bound == pytest.approx(0.46, abs=0.005)
    assert ssm.copy_share(n_bytes, 3.0e12, 90, **ssm.SIZE | dict(N=1)) == 1


def test_faster():
    assert faster(dict(ms=2.0), dict(ms=3.0)) == 1.5
    assert faster(dict(ms=None), dict(ms=3.0)) is faster(dict(ms=2.0), dict(ms=None)) is None


def refuse():
    raise RuntimeError("No available\n kernel")


WRONG = [
    (refuse, None, "RuntimeError: No available kernel"),
    (lambda: torch.ones(3), 1.1 * torch.ones(3), "ArithmeticError: the answer differs"),
    (lambda: torch.full((3,), torch.nan), torch.ones(3), "ArithmeticError: the answer differs"),
    (lambda: (torch.ones(3), 0 * torch.ones(2)), (torch.ones(3), torch.ones(2)), "Arithmetic"),
]


@pytest.mark.parametrize(("f", "like", "error"), WRONG)
def test_what_fails_or_answers_wrongly_has_an_error_and_no_time(f, like, error):
    row = Bench(smoke=True).row(f, like=like, impl="x")
    assert row["error"].startswith(error) and row["ms"] is None and row["impl"] == "x"


def test_a_right_answer_is_timed(monkeypatch):
    monkeypatch.setattr(running, "CACHE_BYTES", 8)
    bench = Bench(smoke=False)
    monkeypatch.setattr(Bench, "device", "cpu")
    row = bench.row(lambda: torch.ones(3), like=1.001 * torch.ones(3), impl="x")
    assert row["ms"] > 0 and row["spread_ms"] >= 0 and row["error"] is None


def test_a_failing_kernel_of_ours_fails_the_run(run, monkeypatch):
    for impl, code in (("triton", 1), ("sdpa cudnn", 0)):
        rows = [dict(impl=impl, ms=None, error="RuntimeError: no")]
        monkeypatch.setattr(softmax, "run", lambda bench, rows=rows: rows)
        assert run("--smoke", "softmax")[0] == code


def test_provenance_says_where_a_number_comes_from():
    source = record.provenance()
    names = ["date_utc", "chip", "driver", "cuda", "torch", "triton", "python", "commit", "dirty"]
    assert list(source) == [*names, "sources_sha256"]
    assert source["torch"] == torch.__version__ and len(source["sources_sha256"]) == 64
    assert all(value not in (None, "") for value in source.values())
    json.dumps(source)


def git(folder, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    command = ["git", "-C", folder, *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_a_changed_tree_is_dirty_and_results_do_not_count(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "ROOT", tmp_path)
    assert record.provenance()["commit"] == record.provenance()["dirty"] == "unknown"
    with monkeypatch.context() as copied:
        copied.setenv("BENCHMARK_COMMIT", "abc")
        assert record.provenance()["commit"] == "abc" and record.provenance()["dirty"] == "unknown"
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    measured = tmp_path / "attention_src" / "costs" / "measured"
    measured.mkdir(parents=True)
    (measured / "__init__.py").write_text("1")
    (tmp_path / "benchmarks" / "flash.py").write_text("1")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "all")
    first = record.provenance()
    assert first["commit"] == git(tmp_path, "rev-parse", "HEAD") and first["dirty"] is False
    (tmp_path / "benchmarks" / "results" / "cpu-launch.json").write_text("{}")
    (measured / "h200-flash.json").write_text("{}")
    assert record.provenance()["dirty"] is False
    (measured / "__init__.py").write_text("2")
    second = record.provenance()
    assert second["dirty"] is True and second["sources_sha256"] != first["sources_sha256"]


def test_a_result_is_kept_by_chip_and_topic(tmp_path):
    rows = [dict(impl="triton", ms=1.5), dict(impl="copy", ms=None, error='"no"')]
    path = record.save("flash", rows, dict(chip="NVIDIA H200", dirty=False), tmp_path / "new")
    assert path.name == "nvidia-h200-flash.json"
    text = path.read_text(encoding="utf-8")
    assert json.loads(text) == dict(topic="flash", chip="NVIDIA H200", dirty=False, rows=rows)
    assert sum("impl" in line for line in text.splitlines()) == 2, "a line for each row"


def test_the_table_shows_each_value_and_each_absence():
    table = record.format_table(
        [dict(impl="triton", ms=1.23456, ok=True), dict(impl="x", tiles=dict(BLOCK_Q=64), ms=None)]
    )
    head, first, second = table.splitlines()
    assert head.split() == ["impl", "ms", "ok", "tiles"]
    assert first.split() == ["triton", "1.235", "yes", "–"]
    assert second.split() == ["x", "–", "–", "BLOCK_Q=64"]
    assert head.index("ms") == first.index("1.235")


README = (record.ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")


def test_the_readme_says_what_was_foretold_and_what_came():
    """What was foretold is written out here, as in the README: the model is gone."""
    for impl, causal, row in (
        ("triton", False, "| our kernel | 526 |"),
        ("triton", True, "| our kernel, causal | 488 |"),
        ("flex", False, "| FlexAttention | 362 |"),
    ):
        at = dict(direction="forward", d=128, n=16384, causal=causal, impl=impl)
        assert f"{row} {measured('flash').value('tflop_per_s', **at):.0f} |" in README


def test_the_readme_says_how_near_each_kernel_is_to_a_copy():
    def percent(topic, keep=lambda row: True):
        rows = [row for row in measured(topic).rows if row["impl"] == "triton" and keep(row)]
        return [100 * row["of_copy"] for row in rows]

    rope, (forward, backward) = percent("rope"), percent("ssm")
    softmax = int(min(percent("softmax", lambda row: row["n"] <= 16384)))
    cache = int(min(percent("kvcache", lambda row: row["cache"] != "int8")))
    assert f"at {int(min(rope))} to {max(rope):.0f} % of a copy's speed" in README
    near = f"16,384 numbers at {softmax} % or more, decoding over a 16-bit cache at {cache}"
    assert near in README
    assert f"({forward:.0f} % of a copy's speed forward, {backward:.1f} % backward)" in README
