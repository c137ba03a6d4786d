"""The ladder on rollout of uniform attention takes three digits, and no fewer."""

import pytest

from attention_src.exercises.maps import check_uniform


@pytest.mark.parametrize("answers", [(0.562, 0.062, 0.344, 0.139), (0.563, 0.063, 0.344, 0.139)])
def test_three_digits_will_do(answers):
    assert check_uniform(*answers, 10).status == "passed"
    assert check_uniform(answers[0] + 2e-3).status == "wrong"
