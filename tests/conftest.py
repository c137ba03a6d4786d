"""For every test: shapes are types. jaxtyping and beartype check each call into attention_src."""

import gc
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import jaxtyping
import pytest
from hypothesis import HealthCheck, settings


def typed_modules():
    """All of attention_src but its kernels, compiled loops, exercises and judge.

    Triton reads the kernels' source, numba the loops' bytecode, and a wrapper has neither. The
    others' annotations name no shapes, so mypy sees all that they say; and a check calls small
    functions a thousand times.
    """
    package = Path(__file__).parents[1] / "attention_src"
    paths = [path.relative_to(package.parent).with_suffix("") for path in package.rglob("*.py")]
    typed = [path.parts for path in paths if path.name != "__init__"]
    typed = [parts for parts in typed if not {"exercises", "judge", "loops"} & set(parts)]
    return [".".join(p) for p in typed if not any(part.startswith("kernel") for part in p)]


# Before anything imports attention_src, so that every function is checked. A GPU machine that has
# only what the kernels need (make gpu) tests without.
if importlib.util.find_spec("beartype"):
    jaxtyping.install_import_hook(typed_modules(), "typechecker.typechecked")
if importlib.util.find_spec("torch"):
    from attention_src.triton_support import interpreter  # noqa: F401  before any test imports triton

if importlib.util.find_spec("sphinx_external_toc"):
    # It asks isinstance of every object in the process. torch.compile leaves weak proxies whose
    # objects are gone, and those raise an error when asked.
    from sphinx_external_toc import collectors

    def toctree_collectors():
        return [x for x in gc.get_objects() if issubclass(type(x), collectors.TocTreeCollector)]

    collectors.gc = SimpleNamespace(get_objects=toctree_collectors)

# The same examples on every run, and no hurry: a busy machine is not a bug. Once a week, many and
# new ones: pytest --hypothesis-profile=weekly.
slow = dict(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("course", derandomize=True, max_examples=40, **slow)
settings.register_profile("weekly", max_examples=200, **slow)
settings.load_profile("course")


def pytest_collection_modifyitems(config, items):
    """Leave out what is marked as weekly, except in the weekly run."""
    if config.getoption("--hypothesis-profile", None) == "weekly":
        return
    left_out = [item for item in items if item.get_closest_marker("weekly")]
    items[:] = [item for item in items if item not in set(left_out)]
    config.hook.pytest_deselected(items=left_out)


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
