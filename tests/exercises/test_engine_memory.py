"""What a learner's function held at once is measured, in NumPy and in torch."""

import tracemalloc

import numpy as np
import pytest

from attention_src.exercises.engine import Case, Check, memory


@pytest.mark.parametrize("tracing", [False, True])
def test_memory_is_seen_in_torch_and_under_tracemalloc(tracing):
    torch = pytest.importorskip("torch")
    case = Case("long", (np.arange(1000.0),), max_bytes=1_000_000)
    check = Check("sum", lambda x: x.sum() * x, [case], [], [])
    if tracing:
        tracemalloc.start()
    try:
        assert check(lambda x: x.sum() * x)
        t, ones = torch.tensor, np.ones(1000)
        for wide in (
            lambda x: np.outer(x, ones).sum() / 1000 * x,
            lambda x: (t(x)[:, None] + t(x) * 0).sum(0)[0] * t(x),
        ):
            assert "MB of memory" in check(wide).message
    finally:
        tracemalloc.stop()


def test_a_view_in_torch_of_what_was_given_is_no_memory():
    torch = pytest.importorskip("torch")
    x = np.ones((500, 1000))  # 4 MB
    for view in (torch.from_numpy, torch.as_tensor, lambda x: torch.as_tensor(x)[3:].T.mul_(1)):
        assert memory.with_peak(lambda view=view: view(x).sum(0))[1] < 100_000
    for copy in (torch.tensor, lambda x: torch.from_numpy(x) * 2, lambda x: torch.ones(500, 2000)):
        assert memory.with_peak(lambda copy=copy: copy(x).sum(0))[1] >= 4_000_000
