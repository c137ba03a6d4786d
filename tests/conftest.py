"""For every test: shapes are types. jaxtyping and beartype check each call into attention_src."""

import jaxtyping
import pytest
from hypothesis import settings

# Before anything imports attention_src, so that every function is checked.
jaxtyping.install_import_hook("attention_src", "typechecker.typechecked")

# The same examples on every run, and no deadline: a busy machine is not a bug.
settings.register_profile("course", derandomize=True, deadline=None)
settings.load_profile("course")


@pytest.fixture
def untyped():
    """Without the run's type checks: what a user who passes something wrong really meets."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
