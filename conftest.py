"""The running time of each notebook, measured where nbval runs it anyway.

A run that took longer than its limit fails, with a line that says which notebook.
"""

from collections import defaultdict

LIMIT_SECONDS = 30
_seconds = defaultdict(float)


def pytest_runtest_logreport(report):
    file = report.nodeid.split("::")[0]
    if file.endswith(".ipynb"):
        _seconds[file] += report.duration


def _slow():
    return {file: total for file, total in _seconds.items() if total > LIMIT_SECONDS}


def pytest_sessionfinish(session):
    if _slow() and not hasattr(session.config, "workerinput") and session.exitstatus == 0:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter):
    for file, total in sorted(_seconds.items()):
        terminalreporter.write_line(f"{file}: {total:.0f} s")
    for file, total in _slow().items():
        terminalreporter.write_line(f"FAILED {file}: {total:.0f} s is over {LIMIT_SECONDS} s")
