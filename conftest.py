"""With --fast: what is marked as slow is left out, and what else takes long fails the run.

A test may take 2 s, and 10 s what is set up for it, which other tests may share; a cell of a
notebook 5 s, a notebook 20 s. Until chapters have labs of their own, a cell that cannot be faster
is tagged as slow; it may take 60 s, and its notebook 120 s. These are seconds of processor time,
processes included that it started, and of the machine on which the limits were set, which a loop
timed beside the tests compares with this one. What takes longer is named. It fails the run from 2.5
times its limit: where others share the machine, the same cell was seen to take 2.3 times as long.
It should be made faster; a test that cannot be is marked, and `make test-all` runs it.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator

import pytest

LIMITS = {"test": 2.0, "setup": 10.0, "cell": 5.0, "notebook": 20.0}
LIMITS |= {"slow cell": 60.0, "notebook with slow cells": 120.0}
SCATTER = 2.5
LOOP_SECONDS = 0.083  # what the loop takes on an idle EPYC of the Zen 3 family with Python 3.11
_last = 0.0  # what was read when the last report was made
_slowness = 1.0
_spent: dict[tuple[str, str], float] = {}  # by name, and kind


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="no slow tests, limits for others")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--fast"):
        slow = [i for i in items if i.get_closest_marker("slow") or i.get_closest_marker("weekly")]
        items[:] = [item for item in items if item not in set(slow)]
        config.hook.pytest_deselected(items=slow)


def _limited(config: pytest.Config) -> bool:
    """Whether limits hold: the weekly run tries five times as many examples of each property."""
    weekly = config.getoption("--hypothesis-profile", None) == "weekly"
    return config.getoption("--fast") and not weekly


def pytest_sessionstart() -> None:
    _compare()


def _compare() -> None:
    """Set how many times slower this machine is now than that of the limits."""
    global _slowness
    begin, x = time.process_time(), 0
    for i in range(1_000_000):
        x += i * i % 7
    _slowness = (time.process_time() - begin) / LOOP_SECONDS


def _reading(item: pytest.Item) -> float:
    """The processor time until now: of a notebook's kernel, or of this process and its children."""
    if not _is_cell(item.nodeid):
        times = os.times()
        return time.process_time() + times.children_user + times.children_system
    import psutil  # a GPU machine, where no notebooks are run, may lack it

    try:
        times = psutil.Process(item.parent.kernel.km.provisioner.pid).cpu_times()
    except (AttributeError, psutil.Error):  # before its start
        return 0.0
    return sum(times[:4])  # user, system, and those of its children


def _is_cell(nodeid: str) -> bool:
    return ".ipynb::" in nodeid


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    global _last
    _last = _reading(item)
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    global _last
    outcome = yield
    before, _last = _last, _reading(item)
    spent = _last - before
    if spent / _slowness > LIMITS["test"]:
        _compare()  # under the conditions under which it took so long
    report = outcome.get_result()  # goes to xdist's main process
    report.seconds, report.kind = spent / _slowness, call.when
    if call.when == "call":
        report.kind = _kind(item)


def _kind(item: pytest.Item) -> str:
    if not _is_cell(item.nodeid):
        return "test"
    return "slow cell" if "slow" in item.cell.metadata.get("tags", []) else "cell"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    kind = getattr(report, "kind", None)
    if kind in LIMITS:
        _spent[report.nodeid, kind] = report.seconds


def _notebooks() -> dict[tuple[str, str], float]:
    """The seconds of each notebook, the sum of its cells', by name and kind."""
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    sums: defaultdict[str, float] = defaultdict(float)
    for (name, kind), seconds in _spent.items():
        if kind.endswith("cell"):
            notebook = name.split("::")[0]
            kinds[notebook].add(kind)
            sums[notebook] += seconds
    return {
        (name, "notebook with slow cells" if "slow cell" in kinds[name] else "notebook"): seconds
        for name, seconds in sums.items()
    }


def _too_slow() -> list[str]:
    """A line for each test, cell and notebook above its limit; those that fail begin TOO SLOW."""
    return [
        f"{'TOO SLOW' if seconds > SCATTER * LIMITS[kind] else 'slow'} {name}: "
        f"{seconds:.1f} s of processor time, a {kind} may take {LIMITS[kind]:.0f}"
        for (name, kind), seconds in sorted((_spent | _notebooks()).items())
        if seconds > LIMITS[kind]
    ]


def pytest_sessionfinish(session: pytest.Session) -> None:
    of_xdist = hasattr(session.config, "workerinput")
    if not of_xdist and _limited(session.config) and session.exitstatus == 0:
        session.exitstatus = int(any(line.startswith("TOO SLOW") for line in _too_slow()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for (name, _), seconds in sorted(_notebooks().items()):
        terminalreporter.write_line(f"{name}: {seconds:.1f} s of processor time")
    for line in _too_slow() if _limited(terminalreporter.config) else []:
        terminalreporter.write_line(line)
