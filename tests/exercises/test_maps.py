"""The ladder on rollout of uniform attention: near misses, and three digits."""

import pytest
from worked import assert_rejected

from attention_src.exercises.maps import check_uniform

NEAR = [("a", 0.6), ("a", 0.565), ("c", 0.25), ("e", 9)]


@pytest.mark.parametrize(
    ("rung", "answer", "words"),
    [
        ("a", 0.56, "three digits"),
        ("b", 0.06, "three digits"),
        ("b", [1 / 16] * 7, "Expected one number"),
        ("c", 0.34, "three digits"),
        ("d", 0.123, "another token's share"),
        ("d", 0.14, "three digits"),
        ("e", 7, "their ratio"),
        *((rung, answer, f"Yours: {answer}") for rung, answer in NEAR),
    ],
)
def test_a_wrong_rung_gets_its_reply(rung, answer, words):
    assert_rejected(lambda value: check_uniform(**{rung: value}), answer, words)


@pytest.mark.parametrize("answers", [(0.562, 0.062, 0.344, 0.139), (0.563, 0.063, 0.344, 0.139)])
def test_three_digits_will_do(answers):
    assert check_uniform(*answers, 10).status == "passed"
