"""The ladder of the cache: each rung's value passes, and each known wrong one gets its reply."""

import inspect

import numpy as np
import pytest
from worked import BOOK

from attention_src.exercises.gqa import check_cache_ladder
from attention_src.exercises.gqa.cache import CACHE

PAGE = (BOOK / "gqa.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def first_try():
    CACHE.failures = {}


def test_the_page_s_solution_climbs_every_rung():
    solutions = [block.split("```")[0] for block in PAGE.split("```python\n")[1:]]
    [solution] = [code for code in solutions if "check_cache_ladder(" in code]
    names = {"check_cache_ladder": check_cache_ladder}
    last = solution.rindex("check_cache_ladder")
    exec(solution[:last], names)
    assert eval(solution[last:], names)


def test_each_known_wrong_value_gets_its_reply():
    letters = [rung.letter for rung in CACHE.rungs]
    assert list(inspect.signature(check_cache_ladder).parameters) == letters
    assert check_cache_ladder().status == "not started"
    for rung in CACHE.rungs:
        for reply in rung.replies:
            result = check_cache_ladder(**{rung.letter: reply.value()})
            assert result.status == "wrong"
            assert reply.message in " ".join(result.message.split())


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
