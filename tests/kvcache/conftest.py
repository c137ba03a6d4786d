"""What the tests of caches share."""

import pytest
import torch


@pytest.fixture(scope="module")
def poisoned_storage():
    """As `poisoned`, but for a whole module, which hypothesis wants."""
    torch.set_deterministic_debug_mode("error")  # which fills uninitialised memory with NaN
    yield
    torch.set_deterministic_debug_mode("default")
