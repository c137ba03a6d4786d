"""Run every test: notebooks and package, then the site in Chromium, then some of it in Firefox.

    python -m tools.run_tests [options of pytest]

Each part has a process for each core, two to four: more would only wait for each other, or for
memory. In the first a whole file goes to a process, because a notebook's cells must stay in one
kernel; in the second tests/site/conftest.py says which tests share one. The first is apart
because a browser no longer answers once other tests have run event loops in its process. What runs
in Firefox is listed in tests/site/in_firefox.txt: the scripts, which are what browsers differ in.
The parts with a browser stop after ten failures: each may have waited for minutes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

SITE = "tests/site"
NOTEBOOKS = "--nbval --nbval-current-env --nbval-cell-timeout=1800 --nbval-sanitize-with"
PROCESSES = min(4, max(2, os.cpu_count() or 2))
RUNS = (
    f"-n {PROCESSES} --dist loadfile --no-loadscope-reorder --ignore={SITE} "
    f"{NOTEBOOKS} tests/sanitize.cfg notebooks tests",
    f"-n {PROCESSES} --dist loadscope --maxfail=10 {SITE}",
    f"-n {PROCESSES} --dist loadscope --maxfail=10 --firefox @{SITE}/in_firefox.txt",
)


# Lines of the Makefile would stop where the first part fails, and print a sum each.
def main(arguments: list[str] | None = None) -> int:
    """Run all parts, also if the first fails, and print the sum in the last line."""
    extra = sys.argv[1:] if arguments is None else arguments
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        for run in RUNS:
            command = [sys.executable, "-m", "pytest", f"--junitxml={report}", *run.split()]
            status = subprocess.run([*command, *extra]).returncode
            total += outcome(status, counts(report))
            report.unlink(missing_ok=True)
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return int(total["failed"] > 0)


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
