"""What the kernels should reach, what a model predicts, and what was measured, in one table.

Each topic states its goals beside its sizes (benchmarks/topics/<topic>.py). A prediction is for an
H100 SXM and was made without one: from the compiled code (`python -m benchmarks.static`) or from
bytes and instructions. The first GPU at hand tells how wrong they are.
"""

import json
import re
from importlib import import_module
from typing import Any, NamedTuple

from benchmarks.record import RESULTS

TOPICS = ("softmax", "rope", "flash", "kvcache", "linear", "ssm")
PREDICTED_ON = 90  # sm_90: H100 and H200 have the same multiprocessors and clock
# Columns of the topics' tables that a goal may be about, and what they count.
FIGURES = {
    "of_copy": "of a copy's speed",
    "of_bound": "of the bound by exponentials",
    "over_float16": "x over float16",
    "over_flash": "x flash attention",
    "over_fla": "x fla",
    "triton_is": "x {impl}",
    "tflop_per_s": "TFLOP/s",
}


class Goal(NamedTuple):
    """What one figure of one row should reach.

    Args:
        where: the row's labels, among them impl
        figure: its column, a key of FIGURES
        at_least: the goal
        predicted: lowest and highest value that is expected on an H100; None = nothing predicts it
    """

    where: dict[str, Any]
    figure: str
    at_least: float
    predicted: tuple[float, float] | None = None


def hot_loop_speed(launch: str, d: int) -> float | None:
    """The issue-slot model's TFLOP/s of a flash kernel on an H100 in bfloat16.

    Args:
        launch: its name in benchmarks/results/loops.json
        d: head size
    Returns: TFLOP/s; None if the table does not have it
    """
    path = RESULTS / "loops.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    for row in rows:
        if (row["launch"], row["d"], row["chip"]) == (launch, d, PREDICTED_ON):
            return row.get("tflop_per_s")
    return None


def exactly(value: float | None) -> tuple[float, float] | None:
    """A prediction of one value; None if there is none."""
    return None if value is None else (value, value)


def all_goals() -> dict[str, list[Goal]]:
    """The goals of every topic.

    Returns: by topic, in the order of TOPICS
    """
    return {topic: import_module(f"benchmarks.topics.{topic}").goals() for topic in TOPICS}


def judge(
    goals: dict[str, list[Goal]], results: dict[str, list[dict]], chip: str = ""
) -> list[dict[str, Any]]:
    """One row for each goal.

    Args:
        goals: by topic
        results: the topics' tables
        chip: the GPU's name; predictions, and goals in TFLOP/s, are for an H100 or H200
    Returns: rows with goal, prediction, what was measured, how many times the prediction that is,
        and the verdict: met, missed, not measured, or "for an H100"
    """
    here = re.search(r"\bH[12]00\b", chip) is not None
    judged = []
    for topic, found in goals.items():
        for goal in found:
            measured = _measured(goal, results.get(topic, []))
            comparable = here and measured is not None and goal.predicted is not None
            expected = sum(goal.predicted) / 2 if comparable and goal.predicted else None
            judged.append(
                dict(
                    topic=topic,
                    case=_case(goal.where),
                    figure=FIGURES[goal.figure].format(**goal.where),
                    goal=goal.at_least,
                    predicted_on_h100=_range(goal.predicted),
                    measured=measured,
                    over_predicted=measured / expected if expected and measured else None,
                    verdict=_verdict(goal, measured, here),
                )
            )
    return judged


def count(judged: list[dict[str, Any]]) -> str:
    """How many goals each topic met: "softmax: 12 of 14 met", a line for each.

    What was not measured is neither met nor missed: "linear: 0 of 5 met, 5 not measured".
    """
    lines = []
    for topic in dict.fromkeys(row["topic"] for row in judged):
        verdicts = [row["verdict"] for row in judged if row["topic"] == topic]
        line = f"{topic}: {verdicts.count('met')} of {len(verdicts)} met"
        unknown = verdicts.count("not measured")
        lines.append(line + f", {unknown} not measured" * bool(unknown))
    return "\n".join(lines)


def _measured(goal: Goal, rows: list[dict]) -> float | None:
    """The goal's figure in the row that it is about; None if that has none, or no row is."""
    for row in rows:
        if goal.where.items() <= row.items():
            return row.get(goal.figure)
    return None


def _verdict(goal: Goal, measured: float | None, here: bool) -> str:
    if measured is None:
        return "not measured"
    if goal.figure == "tflop_per_s" and not here:
        return "for an H100"
    return "met" if measured >= goal.at_least else "missed"


def _case(where: dict[str, Any]) -> str:
    """The labels of a row but its implementation: "forward d=128 causal n=4096"."""
    words = []
    for name, value in where.items():
        if name == "impl":
            continue
        if isinstance(value, bool):
            words.append(name if value else f"not {name}")
        else:
            words.append(value if isinstance(value, str) else f"{name}={value}")
    return " ".join(words)


def _range(predicted: tuple[float, float] | None) -> str:
    if predicted is None:
        return "no prediction"
    low, high = (f"{x:.3g}" for x in predicted)
    return low if low == high else f"{low} to {high}"
