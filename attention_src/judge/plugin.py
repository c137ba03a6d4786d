"""For pytest: `def test_it(attention_judge): attention_judge(my_attention)`.

pyproject.toml names this file as a plugin; it imports the judge when a test asks for it.
"""

from collections.abc import Callable

import pytest


@pytest.fixture
def attention_judge() -> Callable[..., None]:
    """`attention_src.judge.assert_right`: it fails, with reasons, unless that is right."""
    from attention_src.judge import assert_right

    return assert_right
