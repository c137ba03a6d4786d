"""Copyists: small networks that read a word letter by letter and write it down from memory.

model     Copyist: one vector between reader and writer, or attention
train     tasks, practice, and exams
record    python -m attention_src.models.copyist.record: long practice, into recorded.json

`recorded` reads what long practice gave; it needs neither PyTorch nor an hour.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "recorded.json"
LENGTHS = range(2, 13)  # of the words in an exam


def recorded(**labels: Any) -> list[dict[str, Any]]:
    """What was recorded of each network that fits.

    Args:
        **labels: such as task="copy", attends=False, steps=700; the width, where it is not named,
            is that of the chapter, the rate 0.01, and the writer starts where the reader stopped
    Returns: a dict for each seed, in order: its labels; whole, the share of 500 words of each of
        LENGTHS that came out right, in %; and, where it attends, where it looked
    Raises:
        ValueError: nothing was recorded with these labels
    """
    wanted = {"width": None, "rate": 0.01, "blank": False, **labels}
    found = [run for run in _runs() if wanted.items() <= run.items()]
    if not found:
        raise ValueError(f"labels are {labels}; no run of {RECORDED.name} has them")
    return sorted(found, key=lambda run: (run["steps"], run["seed"]))


def words(attends: bool) -> dict[str, Any]:
    """How the three networks of 700 steps write English words.

    Args:
        attends: whether they have attention
    Returns: dict from each word to "written", three words, and of the first network "weights"
        [n, n], in %, or without attention the last "state" [52]
    """
    return _read()["words"]["attention" if attends else "one vector"]


def spread(runs: list[dict[str, Any]], length: int) -> str:
    """The least and the most of several networks, as a text prints it.

    Args:
        runs: as `recorded` gives them
        length: of the words
    Returns: "6-7" for 6.2, 6.6 and 7.4 %; one number where both round to it
    """
    shares = [run["whole"][length - LENGTHS[0]] for run in runs]
    low, high = f"{min(shares):.0f}", f"{max(shares):.0f}"
    return low if low == high else f"{low}-{high}"


def _runs() -> Iterator[dict[str, Any]]:
    yield from _read()["runs"]


def _read() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return kept
