"""For every test: shapes are types. jaxtyping and beartype check each call into attention_src."""

import jaxtyping
import pytest

# Before anything imports attention_src, so that every function is checked.
jaxtyping.install_import_hook("attention_src", "typechecker.typechecked")


@pytest.fixture
def untyped():
    """Without the run's type checks: what a user who passes something wrong really meets."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
