"""What every chapter's worked solutions must do. Each test module of this folder calls these."""

import inspect
import time
from pathlib import Path

BOOK = Path(__file__).resolve().parents[2] / "book"


def assert_passes_quickly(check, solution):
    """In under a second of this process's own time, so that a busy machine changes nothing."""
    begin = time.process_time()
    assert check(solution).status == "passed"
    assert time.process_time() - begin < 1


def assert_chapter_shows(slug, check, solution):
    """The chapter prints this very solution and calls this check on it."""
    chapter = (BOOK / f"{slug}.md").read_text(encoding="utf-8")
    assert f"```python\n{inspect.getsource(solution)}```" in chapter
    assert f"{check.__name__}({solution.__name__})" in chapter


def assert_stub_is_not_started(check):
    def stub(*args):
        raise NotImplementedError

    assert check(stub).status == "not started"
