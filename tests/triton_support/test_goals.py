"""Goals: each is about a row that is measured, and measured figures, made up here, are judged."""

import json
from importlib import import_module

import pytest
from kernel_support import needs_interpreter

import benchmarks.__main__ as command
from attention_src.costs.measured import measured
from benchmarks import goals, record
from benchmarks.goals import Goal, all_goals, count, judge
from benchmarks.running import Bench
from benchmarks.topics import flash, ssm

H100 = "NVIDIA H100 80GB HBM3"
COPY = Goal(dict(impl="triton", direction="forward", n=8), "of_copy", 0.9, (0.6, 0.8))
SPEED = Goal(dict(impl="triton", causal=False), "tflop_per_s", 500, (400, 400))
RIVAL = Goal(dict(impl="sdpa flash", causal=True), "triton_is", 1.3)


def judged(goal, row, chip=H100):
    (found,) = judge({"softmax": [goal]}, {"softmax": [row] if row else []}, chip)
    return found


def test_a_row_of_the_table():
    assert judged(COPY, COPY.where | dict(of_copy=0.84, more=1)) == dict(
        topic="softmax",
        case="forward n=8",
        figure="of a copy's speed",
        goal=0.9,
        predicted_on_h100="0.6 to 0.8",
        measured=0.84,
        over_predicted=pytest.approx(1.2),
        verdict="missed",
    )
    assert judged(COPY, COPY.where | dict(of_copy=0.9))["verdict"] == "met"
    row = judged(RIVAL, RIVAL.where | dict(triton_is=1.31))
    assert (row["case"], row["figure"]) == ("causal", "x sdpa flash")


def test_what_has_no_prediction_says_so():
    row = judged(RIVAL, RIVAL.where | dict(triton_is=1.31))
    assert (row["predicted_on_h100"], row["over_predicted"]) == ("no prediction", None)


@pytest.mark.parametrize("row", [None, COPY.where | dict(of_copy=None), dict(of_copy=1.0)])
def test_what_was_not_measured_is_neither_met_nor_missed(row):
    found = judged(COPY, row)
    assert (found["measured"], found["verdict"]) == (None, "not measured")


def test_predictions_and_speeds_are_for_one_chip():
    rows = {goal.figure: goal.where | {goal.figure: 600.0} for goal in (COPY, SPEED)}
    for chip, verdict, ratio in (
        (H100, "met", 1.5),
        ("NVIDIA H200", "met", 1.5),
        ("NVIDIA A100", "for an H100", None),
    ):
        row = judged(SPEED, rows["tflop_per_s"], chip)
        assert (row["verdict"], row["over_predicted"]) == (verdict, ratio)
        assert judged(COPY, rows["of_copy"], chip)["verdict"] == "met"


def test_goals_are_counted_by_topic():
    rows = [
        dict(topic="softmax", verdict="met"),
        dict(topic="softmax", verdict="missed"),
        dict(topic="rope", verdict="not measured"),
    ]
    assert count(rows) == "softmax: 1 of 2 met\nrope: 0 of 1 met, 1 not measured"


@needs_interpreter
def test_every_goal_is_about_a_row_that_its_topic_measures(monkeypatch):
    """Every label and figure exists; sizes are tiny, and times made up."""

    def row(self, f, *, like=None, **labels):
        return labels | dict(ms=1.0, spread_ms=0.0, error=None)

    monkeypatch.setattr(Bench, "row", row)
    found = all_goals()
    assert list(found) == list(goals.TOPICS) and all(found.values())
    for topic, wanted in found.items():
        rows = import_module(f"benchmarks.topics.{topic}").run(Bench(smoke=True))
        for goal in wanted:
            names = {name: x for name, x in goal.where.items() if isinstance(x, str)}
            same = [x for x in rows if names.items() <= x.items()]
            assert any(goal.where.keys() <= x.keys() and goal.figure in x for x in same), goal


def test_goals_name_sizes_that_are_measured():
    for goal in all_goals()["flash"]:
        assert goal.where["n"] in flash.SIZES[goal.where["d"]]
        assert goal.where["impl"] in ("triton", *flash.BACKENDS)


def test_no_goal_is_named_twice():
    for found in all_goals().values():
        assert len({(*goal.where.items(), goal.figure) for goal in found}) == len(found)
        assert all(goal.figure in goals.FIGURES for goal in found)


def test_predictions_of_flash_attention_come_from_the_compiled_code(monkeypatch, tmp_path):
    speeds = {"flash_forward full": 555.0, "flash_dq": 600.0, "flash_dkdv": 800.0}
    rows = [dict(launch=name, d=128, chip=90, tflop_per_s=x) for name, x in speeds.items()]
    monkeypatch.setattr(goals, "RESULTS", tmp_path)
    assert flash.predicted("forward", 128, False) is None
    (tmp_path / "loops.json").write_text(json.dumps(dict(rows=rows)))
    assert flash.predicted("forward", 128, False) == 555
    assert flash.predicted("forward", 128, True) is None
    # Of five products of 1 TFLOP each: dq computes three, dk and dv four.
    assert flash.predicted("backward", 128, False) == pytest.approx(5 / (3 / 600 + 4 / 800))
    first = next(goal for goal in flash.goals() if goal.where["impl"] == "sdpa flash")
    assert first.predicted is None, "at n = 4096 the rival's speed is not known"
    assert flash.goals()[0].predicted == (555, 555)


def test_the_bound_by_exponentials():
    n_bytes = ssm.least_bytes(**ssm.SIZE)
    assert n_bytes == 2 * 4 * 4096 * (3 * 4096 + 32)
    bound = ssm.copy_share(n_bytes, ssm.COPY_BYTES, 90, **ssm.SIZE)
    exponentials = 4 * 4096 * 4096 * 16
    milliseconds = exponentials / (16 * 132 * 1.755e9) * 1e3
    assert milliseconds == pytest.approx(0.29, abs=0.001)
    assert bound == pytest.approx(0.46, abs=0.005)
    assert ssm.copy_share(n_bytes, ssm.COPY_BYTES, 90, **ssm.SIZE | dict(N=1)) == 1
    (goal,) = ssm.goals()
    assert (goal.figure, goal.at_least) == ("of_bound", 0.9)


@needs_interpreter
def test_kept_results_are_judged_without_a_gpu(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["benchmarks", "--kept", "nvidia-h200", "flash"])
    assert command.main() == 0
    table, counts = capsys.readouterr().out.split("\n\n")
    verdicts = [line.split()[-1] for line in table.splitlines()[1:]]
    assert set(verdicts) == {"met", "missed"}
    assert counts == f"flash: {verdicts.count('met')} of {len(verdicts)} met\n"


def test_the_readme_says_what_was_foretold_and_what_came():
    readme = (record.ROOT / "README.md").read_text(encoding="utf-8")
    pairs = []
    for impl, launch, causal in (
        ("triton", "flash_forward full", False),
        ("triton", "flash_forward causal", True),
        ("flex", "FlexAttention full", False),
    ):
        at = dict(direction="forward", d=128, n=16384, causal=causal, impl=impl)
        came = measured("flash").value("tflop_per_s", **at)
        pairs += [f"{came:.0f}", f"{goals.hot_loop_speed(launch, 128):.0f}"]
    assert "makes {} TFLOP/s forward for {} foretold".format(*pairs[:2]) in readme
    assert "mask {} for {}, but FlexAttention makes {} for {}".format(*pairs[2:]) in readme


def test_the_readme_says_how_near_each_kernel_is_to_a_copy():
    readme = (record.ROOT / "README.md").read_text(encoding="utf-8")

    def percent(topic, keep=lambda row: True):
        rows = [row for row in measured(topic).rows if row["impl"] == "triton" and keep(row)]
        return [100 * row["of_copy"] for row in rows]

    rope, (forward, backward) = percent("rope"), percent("ssm")
    softmax = int(min(percent("softmax", lambda row: row["n"] <= 16384)))
    cache = int(min(percent("kvcache", lambda row: row["cache"] != "int8")))
    assert f"at {int(min(rope))} to {max(rope):.0f} % of a copy's speed" in readme
    assert (
        f"16,384 numbers at {softmax} % or more, decoding over a 16-bit cache at {cache}" in readme
    )
    assert f"({forward:.0f} % of a copy's speed forward, {backward:.1f} % backward)" in readme


def test_only_the_files_of_that_chip_are_kept(tmp_path):
    for chip, topic in (("NVIDIA H100", "rope"), ("NVIDIA H100 PCIe", "flash")):
        record.save(topic, [dict(chip=chip)], dict(chip=chip), tmp_path)
    assert record.kept("nvidia-h100", tmp_path) == {"rope": [dict(chip="NVIDIA H100")]}
    assert record.kept("nvidia", tmp_path) == record.kept("*", tmp_path) == {}


@needs_interpreter
def test_a_chip_that_nobody_measured_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["benchmarks", "--kept", "abacus"])
    with pytest.raises(SystemExit):
        command.main()
    assert "kept is 'abacus'; nothing was measured" in capsys.readouterr().err


@needs_interpreter
def test_the_goals_are_listed_without_a_gpu(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["benchmarks", "--goals", "flash", "ssm"])
    assert command.main() == 0
    lines = capsys.readouterr().out.splitlines()
    wanted = [goal for topic in ("flash", "ssm") for goal in all_goals()[topic]]
    assert len(lines) == 1 + len(wanted)
    assert all(line.endswith("not measured") for line in lines[1:])
    assert any("no prediction" in line for line in lines)
