"""Nothing is kept for each shape: a run over many of them leaves no memory behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CALLS = 512  # long_run.py takes another number, as 10,240
PER_CALL = 64  # bytes: less than one entry of any cache, with its key
PROCESS = 4096  # KiB for all together: what torch's own caches of small shapes may take


@pytest.mark.weekly
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory from /proc")
def test_a_run_over_many_shapes_leaves_nothing_behind():
    # In a process of its own, without the test run's type checks, which keep what they have seen.
    command = [sys.executable, "tests/long_run.py", str(CALLS)]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | dict(PYTHONPATH=paths, OMP_NUM_THREADS="1")
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert not done.returncode, done.stderr
    rows = {line[:24].strip(): line[24:].split() for line in done.stdout.splitlines()}
    python = {name: int(row[0]) for name, row in rows.items()}
    assert python.pop("kept") > PER_CALL * CALLS / 1024, "the measure does not see what is kept"
    assert len(python) > 20 and max(python.values()) <= PER_CALL * CALLS / 1024, done.stdout
    assert sum(int(row[1]) for row in rows.values()) < PROCESS, done.stdout
