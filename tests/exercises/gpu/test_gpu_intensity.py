"""The ladder on intensity."""

from fractions import Fraction

import numpy as np
import pytest

from attention_src.exercises.gpu import check_intensity

RIGHT = (1 / 12, 1024 / 3, 4, 989.4e12 / 3.35e12, 65e12 / 320e9)


@pytest.mark.parametrize(
    "answers",
    [
        RIGHT,
        (0.0833, 341, 4.0, 295, 203),
        (Fraction(1, 12), Fraction(1024, 3), 4, 295.3, 203.1),
        tuple(np.float32(RIGHT)),
        tuple(np.array(x) for x in RIGHT),
        (0.08333, 341.33, np.int64(4), 295.34, 203.125),
        (0.0831, 340.5, 4.01, 294.5, 203.9),
    ],
)
def test_right_rungs(answers):
    assert check_intensity(*answers).status == "passed"


@pytest.mark.parametrize(
    ("letter", "value"),
    [
        ("a", 1 / 8),
        ("a", 0.25),
        ("a", -1 / 12),
        ("b", 512),
        ("b", 1024),
        ("b", 171),
        ("c", 1),
        ("c", 8),
        ("c", 2),
        ("d", 206),
        ("d", 74),
        ("d", 295.3e3),
        ("e", 102),
        ("e", 295),
        ("e", np.nan),
        ("e", "203"),
        ("e", [203.1, 203.1]),
    ],
)
def test_wrong_rungs(letter, value):
    answers = dict(zip("abcde", RIGHT, strict=True)) | {letter: value}
    assert check_intensity(**answers).status == "wrong"
