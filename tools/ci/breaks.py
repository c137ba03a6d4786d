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
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import tomllib

REPOSITORY = Path(__file__).parents[2]
LIST = Path(__file__).with_name("breaks.toml")
LIMIT_SECONDS = 1200
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
        """The text of the file with the bug in it.

        Raises:
            ValueError: the old text is not there once, or the new one is no Python
        """
        found = text.count(self.old)
        if found != 1:
            raise ValueError(
                f"{self.name}: {self.file} holds {self.old!r} {found} times; it should hold it once"
            )
        new = text.replace(self.old, self.new)
        try:
            compile(new, self.file, "exec")
        except SyntaxError as error:
            raise ValueError(f"{self.name}: new is {self.new!r}, which is {error}") from None
        return new


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Break the code; see whether the tests notice.")
    parser.add_argument("names", nargs="*", help="parts of names; none = all")
    parser.add_argument("--jobs", type=int, default=1, help="breaks at a time; 1")
    options = parser.parse_args(arguments)
    try:
        breaks = chosen(read_list(), options.names)
        missed = run_all(breaks, options.jobs)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"caught {len(breaks) - missed} of {len(breaks)}")
    return 1 if missed else 0


def read_list() -> list[Break]:
    """The bugs, each checked against the file that it breaks."""
    breaks = [Break(**entry) for entry in tomllib.loads(LIST.read_text("utf-8"))["break"]]
    for one in breaks:
        one.broken((REPOSITORY / one.file).read_text("utf-8"))
        for tests in one.tests:
            if not (REPOSITORY / tests).exists():
                raise ValueError(f"{one.name}: {tests} does not exist")
    return breaks


def chosen(breaks: list[Break], names: Sequence[str]) -> list[Break]:
    found = [one for one in breaks if not names or any(name in one.name for name in names)]
    if not found:
        raise ValueError(f"no break has a name with {' or '.join(map(repr, names))}")
    return found


def run_all(breaks: list[Break], jobs: int) -> int:
    """Try each bug and report it at once; returns how many were missed."""
    missed = 0
    with ExitStack() as stack:
        copies: SimpleQueue[Path] = SimpleQueue()
        for _ in range(jobs):
            copies.put(stack.enter_context(copy_of_repository()))
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        for caught, line in pool.map(lambda one: try_one(one, copies), breaks):
            print(line, flush=True)
            missed += not caught
    return missed


@contextmanager
def copy_of_repository() -> Iterator[Path]:
    """A folder with every file that git knows, as it is now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    with tempfile.TemporaryDirectory(prefix="breaks-") as folder:
        for name in filter(None, listed.stdout.split("\0")):
            if (REPOSITORY / name).is_file():  # it may be deleted and not committed
                target = Path(folder, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(REPOSITORY / name, target)
        yield Path(folder)


def try_one(one: Break, copies: SimpleQueue[Path]) -> tuple[bool, str]:
    """Whether a bug was caught, and a line that says by which test and how soon."""
    root = copies.get()
    file = root / one.file
    text = file.read_text("utf-8")
    broken = one.broken(text)
    begin = time.perf_counter()
    try:
        file.write_text(broken, "utf-8")
        failed = failing_test(one.tests, root)
        seconds = time.perf_counter() - begin
        file.write_text(text, "utf-8")
        if failed and failing_test([failed], root):
            raise ValueError(f"{failed} fails without any break, so it cannot tell")
    except ValueError as error:
        raise ValueError(f"{one.name}: {error}") from None
    finally:
        file.write_text(text, "utf-8")
        copies.put(root)
    verdict = "caught" if failed else "MISSED"
    return bool(failed), f"{verdict} {seconds:5.0f} s  {one.name}: {failed or 'every test passed'}"


def failing_test(tests: list[str], root: Path) -> str | None:
    """Run tests until one fails. Returns its name; None if all pass.

    Raises:
        ValueError: pytest gave no answer, in time or at all
    """
    settings = dict(PYTHONPATH=str(root), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    # A compiled file is told from its source by size and second, and both may stay the same.
    settings["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *FAST]
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=root,
            env=os.environ | settings,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"the tests took longer than {LIMIT_SECONDS} s") from None
    if done.returncode == PASSED:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - |$)", done.stdout, re.MULTILINE)
    if done.returncode != FAILED or failed is None:
        raise ValueError(f"pytest ended with status {done.returncode}\n{done.stdout[-2000:]}")
    return failed[1]


if __name__ == "__main__":
    sys.exit(main())
