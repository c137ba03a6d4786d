"""The ladder of the cache: right values in several forms pass, near misses do not."""

import numpy as np
import pytest

from attention_src.exercises.gqa import check_cache_ladder

BEST = (2048, 131072, 65536, 4, 1984, 4)


@pytest.mark.parametrize(
    "answers",
    [
        BEST,
        tuple(map(float, BEST)),
        tuple(np.int64(x) for x in BEST),
        (2 * 8 * 128, 2**17, 2**16, 32 / 8, 2**11 - 64, 4.0),
        tuple(np.array(x) for x in BEST),
        (2048, 128 * 1024, 64 * 1024, 4, 1984, 8 / 2),
    ],
)
def test_right_rungs(answers):
    assert check_cache_ladder(*answers).status == "passed"


@pytest.mark.parametrize(
    ("letter", "value"),
    [
        *(("a", x) for x in (1024, 8192, 4096, -2048, "2048")),
        *(("b", x) for x in (65536, 4096, 524288, 262144, np.nan)),
        *(("c", x) for x in (16384, 61035, 65535, 64)),
        *(("d", x) for x in (8, 0.25, 32, 2)),
        *(("e", x) for x in (2048, 960, 1920, 1985)),
        *(("f", x) for x in (1, 2, 8, 32, [4, 4])),
    ],
)
def test_wrong_rungs(letter, value):
    best = dict(zip("abcdef", BEST, strict=True))
    assert check_cache_ladder(**best | {letter: value}).status == "wrong"
