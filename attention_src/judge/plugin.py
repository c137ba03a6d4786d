"""For pytest: `def test_it(attention_judge): attention_judge(my_attention)`.

pyproject.toml names this file as a plugin; it imports the judge when a test asks for it.
"""

from collections.abc import Callable

import pytest


@pytest.fixture
def attention_judge() -> Callable[..., None]:
    """Fail, with reasons, unless what a test hands over is right.

    Returns: `attention_src.judge.assert_right`
    """
    from attention_src.judge import assert_right

    return assert_right
