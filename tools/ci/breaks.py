"""Would the tests notice? Bugs that people really make, one line each, and what catches them.

    python -m tools.ci.breaks                 all of them
    python -m tools.ci.breaks mask "flash k"  those whose names hold one of these texts
    python -m tools.ci.breaks --jobs 2        two at a time

breaks.toml lists the bugs. Each is put into a copy of the repository, never into the repository
itself, and the fast tests of its topic are run there until one fails. A bug is missed if all of
them pass: then the cheapest slow test that sees it should not be marked as slow. The run stops if a
test fails without the bug too, or if the tests cannot even be collected: a bug should leave code
that can be imported.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import tomllib

REPOSITORY = Path(__file__).parents[2]
LIST = Path(__file__).with_name("breaks.toml")
LIMIT_SECONDS = 1200
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", ".cache", ".*_cache", "_build", "__pycache__")
FAST = ("-m", "not slow and not weekly")  # the tests of make test, which should be enough
PASSED, FAILED = 0, 1  # pytest's exit status; any other is not an answer


@dataclass(frozen=True)
class Break:
    """One bug: in `file`, `old` becomes `new`, and `tests` should notice."""

    name: str
    file: str
    old: str
    new: str
    tests: list[str]

    def broken(self, text: str) -> str:
        """The text of the file with the bug in it."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.file} should hold {self.old!r} once")
        new = text.replace(self.old, self.new)
        compile(new, self.file, "exec")
        return new


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Break the code; see whether the tests notice.")
    parser.add_argument("names", nargs="*", default=[""], help="parts of names; none = all")
    parser.add_argument("--jobs", type=int, default=1, help="breaks at a time; 1")
    options = parser.parse_args(arguments)
    breaks = [one for one in read_list() if any(name in one.name for name in options.names)]
    if not breaks:
        parser.error(f"no break has a name with {' or '.join(options.names)}")
    with ThreadPoolExecutor(options.jobs) as pool:
        shares = [breaks[i :: options.jobs] for i in range(options.jobs)]
        caught = sum(pool.map(try_each, shares))
    print(f"caught {caught} of {len(breaks)}")
    return int(caught < len(breaks))


def read_list() -> list[Break]:
    """The bugs, each checked against the file that it breaks."""
    breaks = [Break(**entry) for entry in tomllib.loads(LIST.read_text("utf-8"))["break"]]
    for one in breaks:
        one.broken((REPOSITORY / one.file).read_text("utf-8"))
        for tests in one.tests:
            if not (REPOSITORY / tests).exists():
                raise ValueError(f"{one.name}: {tests} does not exist")
    return breaks


def try_each(breaks: list[Break]) -> int:
    """Try these bugs in a copy of the repository, one by one; returns how many were caught."""
    caught = 0
    with tempfile.TemporaryDirectory(prefix="breaks-") as folder:
        root = Path(shutil.copytree(REPOSITORY, Path(folder, "copy"), ignore=NOT_COPIED))
        for one in breaks:
            file = root / one.file
            text = file.read_text("utf-8")
            file.write_text(one.broken(text), "utf-8")
            failed = failing_test(one.tests, root)
            file.write_text(text, "utf-8")
            if failed and failing_test([failed], root):
                raise ValueError(f"{one.name}: {failed} fails without any break, so it cannot tell")
            caught += bool(failed)
            told = f"caught  {one.name}: {failed}" if failed else f"MISSED  {one.name}"
            print(told, flush=True)
    return caught


def failing_test(tests: list[str], root: Path) -> str | None:
    """Run tests until one fails. Returns its name; None if all pass.

    Raises:
        ValueError: pytest gave no answer
    """
    settings = dict(PYTHONPATH=str(root), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    # A compiled file is told from its source by size and second, and both may stay the same.
    settings["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *FAST, *tests],
        cwd=root,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    if done.returncode == PASSED:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - |$)", done.stdout, re.MULTILINE)
    if done.returncode != FAILED or failed is None:
        raise ValueError(f"pytest ended with status {done.returncode}\n{done.stdout[-2000:]}")
    return failed[1]


if __name__ == "__main__":
    sys.exit(main())
