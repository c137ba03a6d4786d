"""The running time of each notebook while nbval runs it.

A notebook that takes longer than its limit fails the run, with a line that names it.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

LIMIT_SECONDS = 120  # with tests beside it; alone, the longest takes half of that
_seconds: defaultdict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    file = report.nodeid.split("::")[0]
    if file.endswith(".ipynb"):
        _seconds[file] += report.duration


def _slow() -> dict[str, float]:
    return {file: total for file, total in _seconds.items() if total > LIMIT_SECONDS}


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _slow() and not hasattr(session.config, "workerinput") and session.exitstatus == 0:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for file, total in sorted(_seconds.items()):
        terminalreporter.write_line(f"{file}: {total:.0f} s")
    for file, total in _slow().items():
        terminalreporter.write_line(f"FAILED {file}: {total:.0f} s is over {LIMIT_SECONDS} s")
