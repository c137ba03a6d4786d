"""What every kernel uses on every chip: compiled ahead of time, on a machine that has none of them.

Each benchmarks/launches/<topic>.py describes its topic's launches, with the tile sizes that they
would choose for a chip, on tensors without data. Here they are compiled, by a process on each
core, and the table is kept in benchmarks/results/static.json.

python -m benchmarks.static
"""

import argparse
import importlib
import os
import pkgutil
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from importlib.metadata import version
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import launches
from benchmarks.record import RESULTS, as_json, format_table

CHIPS = (75, 80, 86, 90, 100)
DTYPES = ("float16", "bfloat16", "float32")
HEAD_SIZES = (64, 128)


class Case(NamedTuple):
    """One topic's launches for one chip."""

    topic: str
    dtype: str
    d: int
    chip: int


def topics() -> list[str]:
    """Every topic that has a file of launches."""
    return sorted(module.name for module in pkgutil.iter_modules(launches.__path__))


def compile_case(case: Case) -> list[dict[str, Any]]:
    """A row for each launch of the case; a launch that does not compile has only an error."""
    import torch

    from attention_src.triton_support.compile import compile_launch

    module = importlib.import_module(f"benchmarks.launches.{case.topic}")
    found = module.launches(getattr(torch, case.dtype), case.d, case.chip)
    rows = []
    for name, launch in found.items():
        row = dict(topic=case.topic, launch=name, kernel=launch.kernel.__name__)
        row |= dict(dtype=case.dtype, d=case.d, chip=case.chip)
        tiles = {key: x for key, x in launch.arguments.items() if key.startswith("BLOCK_")}
        row |= dict(tiles=tiles, num_warps=launch.num_warps, num_stages=launch.num_stages)
        try:
            used = asdict(compile_launch(launch, case.chip))
        except Exception as error:  # the table says so, and the test that reads it fails
            used = dict(error=" ".join(f"{type(error).__name__}: {error}".split())[:240])
        used.pop("capability", None)
        rows.append(row | used)
    return rows


def compile_all(wanted: list[str]) -> list[dict[str, Any]]:
    """The rows of some topics, for every dtype, head size and chip, in a fixed order."""
    cases = [Case(*case) for case in product(wanted, DTYPES, HEAD_SIZES, CHIPS)]
    # Triton chooses when it is imported whether to interpret, so these processes start afresh.
    os.environ["TRITON_INTERPRET"] = "0"
    workers = min(8, os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        rows = [row for rows in pool.map(compile_case, cases) for row in rows]
    return sorted(rows, key=lambda r: (r["topic"], r["launch"], r["dtype"], r["d"], r["chip"]))


def main() -> int:
    """Returns: 0; 1 if a launch does not compile."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.static")
    parser.add_argument("topics", nargs="*", help="compile only these, and keep no table")
    parser.add_argument("--output", type=Path, default=RESULTS / "static.json")
    options = parser.parse_args()
    if unknown := set(options.topics) - set(topics()):
        parser.error(f"topic is {min(unknown)!r}; it should be one of {', '.join(topics())}")
    rows = compile_all(options.topics or topics())
    print(format_table(rows))
    if not options.topics:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(as_json({"triton": version("triton")}, rows), encoding="utf-8")
        print(f"kept in {options.output}")
    return int(any("error" in row for row in rows))


if __name__ == "__main__":
    sys.exit(main())
