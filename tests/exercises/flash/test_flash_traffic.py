"""The ladder of traffic, and the numbers of the open exercise."""

import numpy as np
import pytest
from worked import run_exercise

from attention_src.exercises.flash import check_traffic

EXACT = (65536, 256, 32, 50331648, 16 / 3, (65536 / 3) ** 0.5)


@pytest.mark.parametrize(
    "answers",
    [
        EXACT,
        tuple(np.float64(EXACT)),
        tuple(np.array(x) for x in EXACT),
        (2**16, 2**8, 2**5, 3 * 2**24, 5.33, 148),
        (65536.0, 256.0, 32.0, 5.03e7, 5.333, 147.8),
        (np.int64(65536), np.int32(256), 32, 50_331_648, 5.3333, 147.8),
    ],
)
def test_right_rungs(answers):
    assert check_traffic(*answers).status == "passed"


@pytest.mark.parametrize(
    "letter, value",
    [
        *(("a", x) for x in (131072, 64000, 65000, 128)),
        *(("b", x) for x in (1024, 64, 250, 512)),
        *(("c", x) for x in (128, 33, 8)),
        *(("d", x) for x in (16777216, 100663296, 1572864)),
        *(("e", x) for x in (0.1875, 1.333, 5)),
        *(("f", x) for x in (256, 21845, 64, "148 wide")),
    ],
)
def test_wrong_rungs(letter, value):
    assert check_traffic(**{letter: value}).status == "wrong"


def test_the_open_exercise_prints_what_the_page_says(capsys):
    run_exercise("flash", "ex:flash-shape")
    assert capsys.readouterr().out.split("\n")[:2] == [
        "128 x 128: 224.0 KB; 140.5 17.4",
        "(256, 16) 216.0 73.4 17.7",
    ]
