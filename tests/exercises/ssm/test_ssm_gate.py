"""The ladder on step sizes: right values in several forms pass, near misses do not."""

import numpy as np
import pytest

from attention_src.exercises.ssm import check_gate_ladder

BEST = (4.01815, 0.017986, 0.982014, 4.09174, 0.982014, 69.3147)


@pytest.mark.parametrize(
    "answers",
    [
        BEST,
        tuple(np.float64(x) for x in BEST),
        tuple(np.array(x) for x in BEST),
        tuple(round(x, 3) for x in BEST),
        (4.018, 0.018, 0.982, 4.092, 0.982, 69),
        (4.02, 0.018, 0.98, 4.09, 0.98, 70),
        (np.log1p(np.exp(4)), 1 / (1 + np.exp(4)), 1 / (1 + np.exp(-4)), 4.0917, 0.98201, 69.3),
    ],
)
def test_right_rungs(answers):
    assert check_gate_ladder(*answers).status == "passed"


@pytest.mark.parametrize(
    ("letter", "value"),
    [
        *(("a", x) for x in (4, 1.745, 0.982, 54.6, "4.018")),
        *(("b", x) for x in (0.982, 0.0183, 55.6, -4.018, 0.02)),
        *(("c", x) for x in (0.018, 4.018, -0.982, 1.0)),
        *(("d", x) for x in (0.2444, 4.018, 3.036, 4.0, np.nan)),
        *(("e", x) for x in (0.018, 0.01815, 1.0)),
        *(("f", x) for x in (100, 50, 0.693, 200, 68, 71, [69, 69])),
    ],
)
def test_wrong_rungs(letter, value):
    best = dict(zip("abcdef", BEST, strict=True))
    assert check_gate_ladder(**best | {letter: value}).status == "wrong"
