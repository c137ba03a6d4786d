"""Run notebooks on imaginary processors (see tools/ci/jitter)."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

from tools.book.chapters import Book
from tools.ci.run_tests import BY_FILE, NOTEBOOKS, run_pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
COMMAND = f"-q -p no:cacheprovider {BY_FILE} {NOTEBOOKS} {ROOT}/tests/sanitize.cfg".split()


def main(arguments: list[str] | None = None) -> int:
    """Try notebooks with each seed, and print the sum in the last line."""
    parser = argparse.ArgumentParser(prog="python -m tools.ci.jitter", description=__doc__)
    parser.add_argument("slugs", nargs="*", metavar="chapter", help="all if none is named")
    parser.add_argument("--seeds", default="1,2,3", help="each an imaginary processor, not 0")
    options = parser.parse_args(arguments)
    there = {chapter.slug: str(chapter.notebook) for chapter in Book(ROOT).chapters}
    if unknown := set(options.slugs) - there.keys():
        parser.error(f"no such notebook: {', '.join(sorted(unknown))}")
    files = [there[slug] for slug in options.slugs or there]
    total = sum((run(int(seed), files) for seed in options.seeds.split(",")), Counter[str]())
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return int(total["failed"] > 0)


def run(seed: int, files: list[str]) -> Counter[str]:
    """Passed, failed and skipped cells on one imaginary processor."""
    print(f"Seed {seed}", flush=True)
    path = os.pathsep.join([str(HERE / "start"), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": path, "JITTER_SEED": str(seed)}
    return run_pytest([*COMMAND, *files], environment)


if __name__ == "__main__":
    sys.exit(main())
