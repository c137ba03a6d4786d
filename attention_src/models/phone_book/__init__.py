"""A phone book that is new in every lesson, and small models that learn to look numbers up in it.

train     the model, and training
record    python -m attention_src.models.phone_book.record: all comparisons, into recorded.json

`loss` reads what was recorded; it needs no PyTorch.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "recorded.json"
LESSONS = (22, 40, 80, 160, 320)
USUAL: dict[str, Any] = {"d_k": 256, "power": 0.5, "grow": 1.0, "norm": False, "plain": False}


def runs(lessons: int, **labels: Any) -> list[dict[str, Any]]:
    """What was recorded of each learning rate.

    Args:
        lessons: how many there were
        **labels: what differs from USUAL
    Returns: for each rate a dict with "rate" and "loss", the mean loss of the last five lessons of
        each of the five seeds
    Raises:
        ValueError: nothing was recorded with these labels
    """
    wanted = {"lessons": lessons, **USUAL, **labels}
    found = [run for run in _all() if wanted.items() <= run.items()]
    if not found:
        raise ValueError(f"labels are {wanted}; no run of {RECORDED.name} has them")
    return found


def loss(lessons: int, **labels: Any) -> float:
    """The mean loss of five seeds at the best of the rates that were tried.

    Args:
        lessons, labels: as for `runs`
    Returns: the loss of the last five lessons
    """
    return min(sum(run["loss"]) / len(run["loss"]) for run in runs(lessons, **labels))


@cache
def _all() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(RECORDED.read_text(encoding="utf-8"))["runs"])
