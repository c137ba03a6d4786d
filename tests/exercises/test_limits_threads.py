"""A check's limit of time in several threads, and in those where no alarm can ring."""

import functools
import sys
import threading
import warnings

import numpy as np
import pytest
from centre import centred
from test_limits import in_threads, make

from attention_src.exercises.engine import limits, running


def test_checks_that_overlap_in_two_threads_leave_torch_its_threads(three_threads):
    seen = []
    inside, both, left = (threading.Event() for _ in range(3))

    def first():
        limits.within(60.0, lambda: [inside.set(), both.wait(60)])
        left.set()

    def second():
        inside.wait(60)
        limits.within(60.0, lambda: [both.set(), left.wait(60)])

    in_threads(first, second)
    in_threads(lambda: seen.append(three_threads()))
    assert seen == [3] and three_threads() == 3


def test_a_check_inside_a_limited_call_leaves_torch_one_thread(three_threads):
    inner = lambda: [make()(centred), three_threads()][1]  # noqa: E731
    assert limits.within(60.0, inner) == 1 and three_threads() == 3


def test_whatever_line_is_interrupted_what_the_check_changed_is_put_back(monkeypatch):
    looks, found = [], []
    monkeypatch.setattr(limits.Clock, "_due", lambda clock: True)

    def look(clock, frame):
        looks.append(frame)
        if len(looks) == at:
            clock.seconds = -1
            clock._end()

    def run():
        found.append(running.attempt(centred, (np.arange(3.0),), lambda answer: [answer]))

    monkeypatch.setattr(limits.Clock, "_look", look)
    before = sys.stdout, sys.stderr, list(warnings.filters), np.geterr()
    for at in range(1, 200):
        looks.clear()
        in_threads(run)
        after, (sys.stdout, sys.stderr) = (sys.stdout, sys.stderr), before[:2]
        assert (*after, list(warnings.filters), np.geterr()) == before
        if len(looks) < at:  # it has been interrupted at each line
            break
    assert found[0].timed_out and not found[-1].failed and len(found) > 3


def test_one_long_call_of_compiled_code_is_too_slow_once_it_returns():
    many = np.random.default_rng(0).normal(size=2_000_000).tolist()
    found = []

    def run():
        with pytest.raises(limits.TooSlowError, match=r"0\.05 seconds of processor time"):
            limits.within(0.05, functools.partial(sorted, many))
        found.append(True)

    in_threads(run)
    assert found == [True]
