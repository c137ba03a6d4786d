"""The processor time of each notebook while nbval runs it.

A notebook that takes more than its limit fails the run, with a line that names it. Its kernel is a
process of its own, so the system knows how long it computed, and that is nearly the same on a busy
machine as on an idle one. Windows does not say, and there nothing fails.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator

import pytest

LIMIT_SECONDS = 400  # of processor time; on a busy machine the longest took 236
limit_seconds = float(os.environ.get("NOTEBOOK_SECONDS", LIMIT_SECONDS))  # tools/elsewhere.py's
_seconds: defaultdict[str, float] = defaultdict(float)
_processor_seconds: defaultdict[str, float] = defaultdict(float)


def _of_children() -> float:
    """The processor time of this process's ended children, and of theirs."""
    times = os.times()
    return times.children_user + times.children_system


_known = _of_children()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """A kernel ends with the last cell's teardown: what has come since the last report is its."""
    global _known
    outcome = yield
    before, _known = _known, _of_children()
    outcome.get_result().children_seconds = _known - before  # goes with the report to xdist's main


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    file = report.nodeid.split("::")[0]
    if file.endswith(".ipynb"):
        _seconds[file] += report.duration
        _processor_seconds[file] += getattr(report, "children_seconds", 0.0)


def _slow() -> dict[str, float]:
    return {file: total for file, total in _processor_seconds.items() if total > limit_seconds}


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _slow() and not hasattr(session.config, "workerinput") and session.exitstatus == 0:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for file, total in sorted(_seconds.items()):
        used = _processor_seconds[file]
        terminalreporter.write_line(f"{file}: {total:.0f} s, {used:.0f} s of processor time")
    for file, used in _slow().items():
        said = f"{used:.0f} s of processor time is over {limit_seconds:.0f} s"
        terminalreporter.write_line(f"FAILED {file}: {said}")
