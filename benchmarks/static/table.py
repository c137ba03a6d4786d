"""What every kernel uses on every chip: compiled ahead of time, on a machine that has none of them.

Each benchmarks/launches/<topic>.py describes its topic's launches, with the tile sizes that they
would choose for a chip, on tensors without data. Here they are compiled, by a process on each
core.
"""

import importlib
import json
import os
import pkgutil
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from importlib.metadata import version
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import launches
from benchmarks.record import RESULTS

if TYPE_CHECKING:
    from attention_src.triton_support.launch import Launch

CHIPS = (75, 80, 86, 90, 100)
DTYPES = ("float16", "bfloat16", "float32")
HEAD_SIZES = (64, 128)
TABLE = RESULTS / "static.json"


class Case(NamedTuple):
    """One launch of a topic for one chip, by the name that its file of launches gives it."""

    topic: str
    launch: str
    dtype: str
    d: int
    chip: int


def topics() -> list[str]:
    """Every topic that has a file of launches."""
    return sorted(module.name for module in pkgutil.iter_modules(launches.__path__))


def describe(wanted: list[str]) -> dict[Case, dict[str, Any]]:
    """What is known of each launch of some topics without compiling it: options and digest.

    Args:
        wanted: topics
    Returns: rows by case, for every dtype, head size and chip, in the table's order
    """
    from attention_src.triton_support.digest import launch_digest

    rows = {}
    for topic, dtype, d, chip in product(wanted, DTYPES, HEAD_SIZES, CHIPS):
        for name, launch in launches_of(topic, dtype, d, chip).items():
            tiles = {key: x for key, x in launch.arguments.items() if key.startswith("BLOCK_")}
            rows[Case(topic, name, dtype, d, chip)] = dict(
                topic=topic,
                launch=name,
                kernel=launch.kernel.__name__,
                dtype=dtype,
                d=d,
                chip=chip,
                tiles=tiles,
                num_warps=launch.num_warps,
                num_stages=launch.num_stages,
                digest=launch_digest(launch, chip),
            )
    return dict(sorted(rows.items()))


def compile_case(case: Case) -> dict[str, Any]:
    """What a launch's kernel uses; only an error if it does not compile."""
    from attention_src.triton_support.compile import compile_launch

    launch = launches_of(case.topic, case.dtype, case.d, case.chip)[case.launch]
    try:
        used = asdict(compile_launch(launch, case.chip))
    except Exception as error:  # the table says so, and the test that reads it fails
        return dict(error=" ".join(f"{type(error).__name__}: {error}".split())[:240])
    del used["capability"]
    return used


def head() -> dict[str, str]:
    """What all rows of the table depend on."""
    return {"triton": version("triton")}


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """What is printed of a row."""
    return row


def recorded(path: Path = TABLE, expected: Mapping[str, Any] | None = None) -> dict[Any, dict]:
    """The rows of a table by case; none if there is no table, or its head is not as expected."""
    if not path.exists():
        return {}
    table = json.loads(path.read_text(encoding="utf-8"))
    rows = table.pop("rows")
    if table != (expected or head()):
        return {}
    return {Case(*(row[name] for name in Case._fields)): row for row in rows}


def compile_changed(
    described: dict[Case, dict[str, Any]],
    known: dict[Case, dict[str, Any]],
    compile_one: Callable[[Case], dict[str, Any]] = compile_case,
) -> list[dict[str, Any]]:
    """The rows of all that is described; those whose description is known are not compiled.

    Args:
        described: from `describe`
        known: complete rows, from `recorded`
        compile_one: gives the rest of a row
    """
    fresh = {case: known[case] for case, row in described.items() if _holds(known.get(case), row)}
    changed = [case for case in described if case not in fresh]
    print(f"{len(fresh)} of {len(described)} rows are up to date", file=sys.stderr)
    if changed:
        # Triton chooses when it is imported whether to interpret, so these processes start afresh.
        workers = min(8, os.cpu_count() or 1)
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            compiled = zip(changed, pool.map(compile_one, changed), strict=True)
            fresh |= {case: described[case] | used for case, used in compiled}
    return [fresh[case] for case in described]


def _holds(known: dict[str, Any] | None, row: dict[str, Any]) -> bool:
    """Whether a recorded row is about the launch that is described now, and compiled."""
    return known is not None and "error" not in known and known.items() >= row.items()


def launches_of(topic: str, dtype: str, d: int, chip: int) -> dict[str, "Launch"]:
    """A topic's launches by name."""
    import torch

    module = importlib.import_module(f"benchmarks.launches.{topic}")
    return module.launches(getattr(torch, dtype), d, chip)
