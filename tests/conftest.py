"""For every test: shapes are types. jaxtyping and beartype check each call into attention_src."""

import importlib.util

import jaxtyping
import pytest
from hypothesis import settings

# Before anything imports attention_src, so that every function is checked. A GPU machine that has
# only what the kernels need (make gpu) tests without.
if importlib.util.find_spec("beartype"):
    jaxtyping.install_import_hook("attention_src", "typechecker.typechecked")
if importlib.util.find_spec("torch"):
    from attention_src import interpreter  # noqa: F401  before any test imports triton

# The same examples on every run, and no deadline: a busy machine is not a bug.
settings.register_profile("course", derandomize=True, deadline=None)
settings.load_profile("course")


@pytest.fixture
def untyped():
    """Without the run's type checks: what a user who passes something wrong really meets."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def poisoned():
    """torch.empty is filled with NaN (integers: with their largest), so what is unwritten shows."""
    import torch

    torch.use_deterministic_algorithms(True)  # which fills uninitialised memory
    yield
    torch.use_deterministic_algorithms(False)
