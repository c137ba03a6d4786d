"""Run notebooks on imaginary processors, and list the numbers that move (see tools/ci/jitter)."""

from __future__ import annotations

import argparse
import contextlib
import copy
import hashlib
import json
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbclient.exceptions import CellExecutionError

from tools.book.notebook import execute
from tools.ci.compare_outputs import as_stored
from tools.ci.jitter import moves
from tools.ci.run_tests import PROCESSES

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PASSED = HERE / "passed.json"
TIME = re.compile(r"^\[time\].*$", re.MULTILINE)  # a line that no run repeats
FEWEST = 2  # seeds that a notebook passes before that is recorded: one let everything pass
MORE = 6  # seeds for a notebook in which a number moved


class Run(NamedTuple):
    """What one seed gave in a notebook."""

    failed: list[str]  # cells, such as "kvcache.ipynb Cell 27"
    moved: list[moves.Line]


def main(arguments: list[str] | None = None) -> int:
    """Try notebooks with each seed, record what passed, and print the sum in the last line."""
    digests = stored_digests()
    parser = argparse.ArgumentParser(prog="python -m tools.ci.jitter", description=__doc__)
    parser.add_argument("slugs", nargs="*", metavar="chapter", help="all if none is named")
    parser.add_argument(
        "--seeds", default="1,2,3", help="each an imaginary processor; 0 is this one"
    )
    parser.add_argument("--changed", action="store_true", help="only what has not passed as it is")
    options = parser.parse_args(arguments)
    if unknown := set(options.slugs) - digests.keys():
        parser.error(f"no such notebook: {', '.join(sorted(unknown))}")
    slugs, record = options.slugs or sorted(digests), recorded()
    if options.changed:
        slugs = [slug for slug in slugs if record.get(slug) != digests[slug]]
    seeds = [int(seed) for seed in options.seeds.split(",")]
    good = []
    # Some at a time: what computes is a notebook's kernel, a process of its own.
    with ThreadPoolExecutor(PROCESSES) as pool:
        for slug, runs in zip(slugs, pool.map(lambda slug: tried(slug, seeds), slugs), strict=True):
            for line in moves.table(line for one in runs for line in one.moved):
                print(line, flush=True)
            failed = sorted({cell for one in runs for cell in one.failed})
            for cell in failed:
                print(f"FAILED {cell}", flush=True)
            good += [] if failed else [slug]
    if len(set(seeds) - {0}) >= FEWEST:
        record |= {slug: digests[slug] for slug in good}
        text = json.dumps(record, indent=2, sort_keys=True)
        PASSED.write_text(f"{text}\n", encoding="utf-8", newline="\n")
    print(f"Seeds {options.seeds}: {len(good)} notebooks passed, {len(slugs) - len(good)} failed")
    return int(len(good) < len(slugs))


def tried(slug: str, seeds: list[int]) -> list[Run]:
    """A run of a notebook with each seed, and more of them if a number moved and none failed."""
    runs = [run(slug, seed) for seed in seeds]
    if any(one.moved for one in runs) and not any(one.failed for one in runs):
        after = max(seeds) + 1
        runs += [run(slug, seed) for seed in range(after, after + MORE)]
    return runs


def run(slug: str, seed: int) -> Run:
    """Run a notebook on one imaginary processor, and compare what it prints with what it stores."""
    file = ROOT / "notebooks" / f"{slug}.ipynb"
    stored = nbformat.read(file, as_version=4)
    found = copy.deepcopy(stored)
    path = os.pathsep.join([str(HERE / "start"), str(HERE.parents[2])])
    with contextlib.suppress(CellExecutionError):  # the cell that failed shows the error
        execute(found, file.parent, os.environ | {"PYTHONPATH": path, "JITTER_SEED": str(seed)})
    moved, failed = [], []
    pairs = [
        pair for pair in zip(stored.cells, found.cells, strict=True) if pair[0].cell_type == "code"
    ]
    for number, (old, new) in enumerate(pairs):
        cell = f"{slug}.ipynb Cell {number}"
        moved += moves.different(cell, printed(old), printed(new))
        if shown(as_stored(new.outputs, old.outputs, timeless)) != shown(old.outputs):
            failed.append(cell)
    return Run(failed, moved)


def shown(outputs: list[dict]) -> list[tuple]:
    """What is compared of the outputs of a cell."""
    return [(output["output_type"], output.get("text"), output.get("data")) for output in outputs]


def timeless(text: str) -> str:
    """A text without its timings."""
    return TIME.sub("", text)


def printed(cell: dict) -> list[str]:
    """The texts of a cell's outputs without timings; of a figure the alt text."""
    outputs = cell["outputs"]
    texts = [out.get("text") or out.get("data", {}).get("text/plain") or "" for out in outputs]
    return [timeless("".join(text)) for text in texts]  # nbformat has joined a file's lines


def stored_digests() -> dict[str, str]:
    """Of each notebook, the fingerprint of its code and of what it prints.

    Not of the package: a line of a mask would send nearly every notebook here once more, to try
    digits that it did not change. Those are tried weekly.
    """
    folder = ROOT / "notebooks"
    files = {f.relative_to(folder).with_suffix("").as_posix(): f for f in folder.rglob("*.ipynb")}
    return {slug: digest(json.loads(file.read_text("utf-8"))) for slug, file in files.items()}


def digest(notebook: dict) -> str:
    """Of a notebook's code, and of what stands in its outputs as text, but for times."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    parts = [[cell["source"], *printed(cell)] for cell in code]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]


def recorded() -> dict[str, str]:
    """The digests of the notebooks that passed."""
    return json.loads(PASSED.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())
