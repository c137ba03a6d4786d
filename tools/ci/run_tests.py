"""Run the tests: the fast ones, or all.

    python -m tools.ci.run_tests [options of pytest]          what make test runs: ten minutes
    python -m tools.ci.run_tests --all [options of pytest]    what make test-all runs

The fast ones are every notebook, every test that is not marked as slow, and one file that looks at
the whole site in Chromium. conftest.py (--fast) fails what takes long there. The rest are the
tests marked as slow, all others of the site in Chromium, and some of them in Firefox, the scripts,
which are what browsers differ in: tests/site/in_firefox.txt lists those.

Each part has a process for each core, two to four: more would only wait for each other, or for
memory. A whole file goes to a process: a notebook's cells must stay in one kernel, and tests of the
site share what is made once for a file. The site is apart because a browser no longer answers once
other tests have run event loops in its process. The parts with a browser stop after ten failures,
each of which may have waited for minutes; a test that hangs fails.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

SITE, SMOKE = "tests/site", "tests/site/test_smoke.py"
NOTEBOOKS = "--nbval --nbval-current-env --nbval-cell-timeout=1800 --nbval-sanitize-with"
PROCESSES = min(4, max(2, os.cpu_count() or 2))
BY_FILE = f"-n {PROCESSES} --dist loadfile --no-loadscope-reorder --ignore={SITE}"
IN_BROWSER = f"-n {PROCESSES} --dist loadscope --maxfail=10 --timeout=900"
FAST = {
    "notebooks and tests": f"{BY_FILE} --fast {NOTEBOOKS} tests/sanitize.cfg notebooks tests",
    "a look at the site": f"--maxfail=10 {SMOKE}",
}
REST = {
    "slow tests": f"{BY_FILE} -m 'slow or weekly' tests",
    "the site in Chromium": f"{IN_BROWSER} --ignore={SMOKE} {SITE}",
    "the site in Firefox": f"{IN_BROWSER} --firefox @{SITE}/in_firefox.txt",
}


# Lines of the Makefile would stop where the first part fails, and print a sum each.
def main(arguments: list[str] | None = None) -> int:
    """Run all parts, also if the first fails; say what each took, and the sum in the last line."""
    parser = argparse.ArgumentParser(description="Run the fast tests, or all.", add_help=False)
    parser.add_argument("--all", action="store_true", help="the rest as well")
    options, extra = parser.parse_known_args(arguments)
    total: Counter[str] = Counter()
    said = []
    for name, words in (FAST | REST if options.all else FAST).items():
        begin = time.monotonic()
        found = run_pytest([*shlex.split(words), *extra])
        seconds = time.monotonic() - begin
        said.append(f"{name}: {seconds:.0f} s, {found['passed']} passed, {found['failed']} failed")
        total += found
    print(*said, sep="\n")
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return int(total["failed"] > 0)


def run_pytest(words: list[str], environment: dict[str, str] | None = None) -> Counter[str]:
    """Passed, failed and skipped tests of one call of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", f"--junitxml={report}", *words]
        status = subprocess.run(command, env=environment).returncode
        return outcome(status, counts(report))


def outcome(status: int, found: Counter[str]) -> Counter[str]:
    """The counts of a run; one that was killed or too slow counts as a failed test."""
    return found + Counter(failed=1) if status and not found["failed"] else found


def counts(report: Path) -> Counter[str]:
    """Passed, failed and skipped tests of a JUnit report; one failed if there is no report."""
    if not report.is_file():
        return Counter(failed=1)
    found: Counter[str] = Counter()
    for suite in ElementTree.parse(report).iter("testsuite"):
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped = int(suite.get("skipped", 0))
        passed = int(suite.get("tests", 0)) - failed - skipped
        found.update(passed=passed, failed=failed, skipped=skipped)
    return found


if __name__ == "__main__":
    sys.exit(main())
