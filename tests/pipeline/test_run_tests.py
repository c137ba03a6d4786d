"""What the last line of `make test` counts."""

import subprocess
import sys
from collections import Counter

import pytest

from tools.ci.run_tests import counts, outcome

TESTS = """
import pytest

@pytest.fixture
def broken():
    raise RuntimeError

def test_right(): pass
def test_wrong(): assert False
def test_that_cannot_start(broken): pass
@pytest.mark.skip
def test_left_out(): pass
"""


@pytest.mark.slow
def test_counts_of_a_run(tmp_path):
    (tmp_path / "test_some.py").write_text(TESTS)
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run([*command, f"--junitxml={report}", tmp_path], capture_output=True, cwd=tmp_path)
    assert counts(report) == {"passed": 1, "failed": 2, "skipped": 1}


def test_a_run_without_a_report_has_failed(tmp_path):
    assert counts(tmp_path / "none.xml") == {"failed": 1}


def test_a_run_that_fails_without_a_failed_test_counts_one():
    assert outcome(-9, Counter(passed=3)) == {"passed": 3, "failed": 1}
    assert outcome(1, Counter(passed=3, failed=2)) == {"passed": 3, "failed": 2}
    assert outcome(0, Counter(passed=3)) == {"passed": 3}
