"""A learner's own line in a message; what the schedule's check trains."""

import numpy as np
import pytest

from attention_src.exercises.gradients import _trained, check_gradient_check


def test_a_message_shows_the_learner_s_own_line():
    def my_gradient_check(forward, backward):
        raise AssertionError("never true")

    assert 'raise AssertionError("never true")' in check_gradient_check(my_gradient_check).message
    with pytest.raises(ValueError, match="test is int, it should be a function"):
        check_gradient_check(3)


def test_plain_steps_of_the_check_are_those_of_the_page():
    """36 % after 1,000 steps from other starts: the check trains what the lesson trains."""
    right, _ = _trained(np.full(1000, 0.5), np.zeros(1000), np.full(1000, 0.25))
    assert 0.3 < right < 0.45
