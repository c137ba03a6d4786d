"""Run notebooks on imaginary processors, and list the numbers that move (see tools/ci/jitter)."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tools.ci.jitter import moves
from tools.ci.run_tests import NOTEBOOKS, PROCESSES, counts, outcome

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PASSED = HERE / "passed.json"
COMMAND = (
    f"-m pytest -q --tb=no --no-header -p no:cacheprovider -p tools.ci.jitter.moves -n {PROCESSES} "
    f"--dist loadfile --no-loadscope-reorder {NOTEBOOKS} tests/sanitize.cfg"
)
TIME = re.compile(r"^\[time\].*$", re.MULTILINE)  # a line that no run repeats
FEWEST = 2  # seeds that a notebook passes before that is recorded: one let everything pass
MORE = 6  # seeds for a notebook in which a number moved


class Run(NamedTuple):
    """What one seed gave."""

    counts: Counter[str]
    moved: dict[str, list[moves.Line]]  # by cell, such as "kvcache.ipynb Cell 27"
    failed: list[str]  # cells


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
    slugs = options.slugs or sorted(digests)
    if options.changed:
        passed = recorded()
        slugs = [slug for slug in slugs if passed.get(slug) != digests[slug]]
    seeds = [int(seed) for seed in options.seeds.split(",")]
    runs = tried(slugs, seeds) if slugs else []
    for line in moves.table([one.moved for one in runs]):
        print(line)
    failed = {cell: None for one in runs for cell in one.failed}
    for cell in failed:
        print(f"FAILED {cell}")
    if len(set(seeds) - {0}) >= FEWEST:
        record({slug: digests[slug] for slug in set(slugs) - notebooks(failed)})
    total = sum((one.counts for one in runs), Counter[str]())
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return int(total["failed"] > 0)


def tried(slugs: list[str], seeds: list[int]) -> list[Run]:
    """A run with each seed, and more of them for what moved and did not fail."""
    runs = [run(seed, slugs) for seed in seeds]
    moved, failed = (notebooks(cell for one in runs for cell in one[i]) for i in (1, 2))
    if unsure := sorted(moved - failed):
        after = max(seeds) + 1
        runs += [run(seed, unsure) for seed in range(after, after + MORE)]
    return runs


def run(seed: int, slugs: list[str]) -> Run:
    """Run notebooks on one imaginary processor; if that cannot be done, all have failed."""
    path = os.pathsep.join([str(HERE / "start"), str(HERE.parents[2])])
    environment = os.environ | {"PYTHONPATH": path, "JITTER_SEED": str(seed)}
    print(f"Seed {seed}: {' '.join(slugs)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        files = [f"notebooks/{slug}.ipynb" for slug in slugs]
        command = [sys.executable, *COMMAND.split(), f"--junitxml={report}", *files]
        status = subprocess.run(command, env=environment, cwd=ROOT).returncode
        found = outcome(status, counts(report))
        moved, failed = moves.read(report) if report.is_file() else ({}, [])
        if found["failed"] != len(failed):
            failed = [f"{slug}.ipynb: the run broke off" for slug in slugs]
        return Run(found, moved, failed)


def notebooks(cells: Iterable[str]) -> set[str]:
    """The slugs of the notebooks that hold these cells."""
    return {cell.partition(".ipynb")[0] for cell in cells}


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
    parts = [
        [cell["source"], *(TIME.sub("", moves.text_of(output)) for output in cell["outputs"])]
        for cell in code
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]


def recorded() -> dict[str, str]:
    """The digests of the notebooks that passed."""
    return json.loads(PASSED.read_text(encoding="utf-8"))


def record(passed: dict[str, str]) -> None:
    """Note that these notebooks passed as they are."""
    text = json.dumps(recorded() | passed, indent=2, sort_keys=True)
    PASSED.write_text(f"{text}\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    sys.exit(main())
