"""A check's limit of time in several threads, and in those where no alarm can ring."""

import threading

import pytest
from test_limits import centred, make

from attention_src.exercises.engine import limits


def in_threads(*calls):
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)


def test_checks_that_overlap_in_two_threads_leave_torch_its_threads():
    torch = pytest.importorskip("torch")
    before, seen = torch.get_num_threads(), []
    inside, both, left = (threading.Event() for _ in range(3))

    def first():
        limits.within(60.0, lambda: [inside.set(), both.wait(60)])
        left.set()

    def second():
        inside.wait(60)
        limits.within(60.0, lambda: [both.set(), left.wait(60)])

    torch.set_num_threads(3)
    try:
        for group in ((first, second), (lambda: seen.append(torch.get_num_threads()),)):
            in_threads(*group)
        assert seen == [3] and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_a_check_inside_a_limited_call_leaves_torch_one_thread():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        inner = lambda: [make().run(centred), torch.get_num_threads()][1]  # noqa: E731
        assert limits.within(60.0, inner) == 1 and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
