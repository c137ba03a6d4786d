"""A test that fails twice is told more, and hints come one by one: so each test begins anew."""

import importlib.util

import pytest
from worked import every

from attention_src.exercises.engine import Check, TestCheck, memory

if importlib.util.find_spec("torch"):
    # Its first watched tensor imports much: 3 s, or 13 s in a check that traces the memory.
    import torch  # noqa: F401

    memory.warm_up()


@pytest.fixture(autouse=True)
def first_try(untyped):
    """Untyped, as in a notebook: a check calls small functions a thousand times, and types would
    take a third of its time. The package's functions are called with types by their own tests."""
    for check in every(Check) + every(TestCheck):
        check.given = 0
    for check in every(TestCheck):
        check.failures = 0


@pytest.fixture
def three_threads():
    """Lets torch have three threads; a function that says how many it has."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield torch.get_num_threads
    torch.set_num_threads(before)
