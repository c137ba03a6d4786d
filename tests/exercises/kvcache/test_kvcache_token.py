"""The ladder on what a token costs: right numbers in several forms pass, near misses do not."""

import numpy as np
import pytest

from attention_src.exercises.kvcache import check_token_ladder

BEST = (4.776, 131072, 122070.3, 15.03, 4257.0, 6461.0)


@pytest.mark.parametrize(
    "answers",
    [
        BEST,
        (4.78, 131_072, 122_000, 15.0, 4260, 6460),
        tuple(map(np.float64, BEST)),
        tuple(np.array(x) for x in BEST),
        (16 / 3.35, 2**17, 16e9 / 2**17, 15.04, 64e3 / 15.033, 6462),
        (4.77, 131072.0, 122071, 15.02, 4255, 6455),
    ],
)
def test_right_rungs(answers):
    assert check_token_ladder(*answers).status == "passed"


@pytest.mark.parametrize(
    ("letter", "value"),
    [
        *(("a", x) for x in (0.00478, 2.39, 4.5, -4.78)),
        *(("b", x) for x in (65536, 4096, 524288, 131071)),
        *(("c", x) for x in (61035, 122, 124_000)),
        *(("d", x) for x in (4.94, 316, 10.3, 16)),
        *(("e", x) for x in (66.5, 13_400, 4200)),
        *(("f", x) for x in (8514, 8716, "6461")),
    ],
)
def test_wrong_rungs(letter, value):
    best = dict(zip("abcdef", BEST, strict=True))
    assert check_token_ladder(**best | {letter: value}).status == "wrong"
