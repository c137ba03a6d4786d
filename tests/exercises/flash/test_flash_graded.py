"""The learner's test of a tiled attention is graded."""

import numpy as np
import pytest
from worked import BOOK, run_exercise

from attention_src.attention.reference import attention
from attention_src.exercises.flash import check_tiled_test
from attention_src.exercises.flash.graded import TILED_TEST

PAGE = (BOOK / "flash.md").read_text(encoding="utf-8")
TILES = ((2, 3), (3, 2))


def numbers(n_q, n_k, d_k=4, d_v=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v))]


FALLING = (np.ones((3, 1)), -1000.0 * np.arange(1, 8)[:, None], numbers(3, 7, 1, 2)[2])
NORMAL = [numbers(7, 11), numbers(11, 7), numbers(8, 8)]
LARGE = [(1000 * q, k, v) for q, k, v in NORMAL]


def worst(tiled, inputs, tiles=TILES, causals=(False, True)):
    """The largest error of an implementation; infinite for NaN and for a changed input."""
    off = 0.0
    for q, k, v in inputs:
        for causal in causals:
            for block_q, block_k in tiles:
                given = [q.copy(), k.copy(), v.copy()]
                with np.errstate(all="ignore"):
                    o = tiled(*given, block_q, block_k, causal=causal)
                error = np.abs(o - attention(q, k, v, causal=causal)).max()
                changed = any((a != b).any() for a, b in zip(given, (q, k, v), strict=True))
                off = max(off, np.inf if np.isnan(error) or changed else error)
    return off


@pytest.mark.parametrize("one", TILED_TEST.right, ids=lambda one: one.name)
def test_right_ones_are_right(one):
    many = [numbers(n_q, n_k, seed=s) for s, (n_q, n_k) in enumerate([(1, 1), (2, 9), (9, 2)])]
    assert worst(one.function, [*NORMAL, *many, FALLING]) < 1e-5
    assert worst(one.function, LARGE) < 0.02


@pytest.mark.parametrize("one", TILED_TEST.wrong, ids=lambda one: one.name)
def test_wrong_ones_show_where_the_exercise_says(one):
    assert "Each shows on arrays with at most {given}`11` rows" in PAGE
    assert worst(one.function, [*NORMAL, FALLING]) > 4e-4 or worst(one.function, LARGE) > 0.1


def test_the_page_counts_them():
    assert len(TILED_TEST.right) == 7 and "Seven are right." in PAGE
    assert len(TILED_TEST.wrong) == 19 and "Nineteen are wrong" in PAGE


def a_test(
    inputs=(*NORMAL[:2], FALLING),
    tiles=TILES,
    causals=(False, True),
    keep=True,
    nan=True,
    scales=(1,),
):
    """A learner's test, right by default, poorer in the way that an argument says."""

    def my_tiled_test(tiled):
        for scale in scales:
            tolerance = 1e-4 if scale == 1 else 0.02
            for q, k, v in inputs:
                for causal in causals:
                    for block_q, block_k in tiles:
                        asked = scale * q if abs(k).max() < 100 else q.copy()
                        right = attention(asked, k, v, causal=causal)
                        before = asked.copy()
                        o = tiled(asked, k, v, block_q, block_k, causal=causal)
                        assert not keep or (asked == before).all()
                        off = np.abs(o - right).max()
                        assert off <= tolerance if nan else not off > tolerance

    return my_tiled_test


def by_weights(tiled):
    """With the identity as values, outputs are weights: rows sum to 1 or 0, hidden ones are 0."""
    a_test()(tiled)
    for n_q, n_k in ((7, 11), (11, 7)):
        q, k, _ = numbers(n_q, n_k)
        p = tiled(q, k, np.eye(n_k), 3, 2, causal=True)
        seen = np.arange(n_k) <= np.arange(n_q)[:, None] + n_k - n_q
        assert np.allclose(p[~seen], 0) and np.allclose(p.sum(axis=1), seen.any(axis=1), atol=1e-5)


def unseeded(tiled):
    rng = np.random.default_rng()
    drawn = [
        [rng.normal(size=s) for s in ((n_q, 5), (n_k, 5), (n_k, 2))]
        for n_q, n_k in ((7, 10), (10, 7))
    ]
    a_test([*drawn, FALLING], tiles=((2, 3), (3, 2)))(tiled)


RIGHT_TESTS = [
    a_test(),
    a_test(scales=(1, 1000)),
    a_test(tiles=((2, 3), (5, 4), (3, 20))),
    a_test([numbers(10, 11), numbers(9, 5), FALLING]),
    a_test([numbers(7, 11, 3, 5, 1), NORMAL[1], FALLING]),
    by_weights,
    unseeded,
]


@pytest.mark.parametrize("test", RIGHT_TESTS)
def test_right_tests_pass(test):
    with np.errstate(all="ignore"):
        assert check_tiled_test(test)


def test_the_solution_passes_and_the_stub_is_not_started():
    names = run_exercise("flash", "ex:flash-test", attention=attention)
    assert check_tiled_test(names["my_tiled_test"]).status == "passed"

    def stub(tiled):
        raise NotImplementedError

    assert check_tiled_test(stub).status == "not started"


def shapes_alone(tiled):
    q, k, v = NORMAL[0]
    assert tiled(q, k, v, 2, 3, causal=True).shape == (7, 3)


def to_the_bit(tiled):
    q, k, v = NORMAL[0]
    assert (tiled(q, k, v, 2, 3) == attention(q, k, v)).all()


def without_blind_rows(tiled):
    """Refuses a right one: it expects NaN where nothing is seen."""
    q, k, v = NORMAL[1]
    assert np.isnan(tiled(q, k, v, 2, 3, causal=True)[0]).all()


def a_verdict(tiled):
    q, k, v = NORMAL[0]
    return bool(np.allclose(tiled(q, k, v, 2, 3), attention(q, k, v) + 1))


def needs_float64(tiled):
    q, k, v = NORMAL[0]
    assert tiled(q, k, v, 2, 3).dtype == np.float64


def between_tiles(tiled):
    """Compares an implementation with itself: other tiles, same output."""
    for q, k, v in (*NORMAL, FALLING):
        for causal in (False, True):
            outputs = [tiled(q, k, v, *tile, causal=causal) for tile in TILES]
            assert all(np.allclose(o, outputs[0], atol=1e-4, equal_nan=True) for o in outputs)


WRONG_TESTS = {
    "no mask": (a_test(causals=(False,)), "caught 14 of 19"),
    "as many queries as keys": (a_test([NORMAL[2], FALLING]), "caught 17 of 19"),
    "never more queries than keys": (a_test([NORMAL[0], FALLING]), "caught 18 of 19"),
    "tiles that fit": (a_test([numbers(8, 8), FALLING], tiles=((2, 2), (4, 4))), "caught"),
    "one tile": (a_test(tiles=((16, 16),)), "caught"),
    "normal scores alone": (a_test(NORMAL), "caught 17 of 19"),
    "q is not looked at": (a_test(keep=False), "caught 18 of 19"),
    "forgets NaN": (a_test(nan=False), "caught"),
    "shapes alone": (shapes_alone, "caught 0 of 19"),
    "to the last bit": (to_the_bit, "refuses a right implementation"),
    "wants NaN": (without_blind_rows, "refuses a right implementation"),
    "wants float64": (needs_float64, "refuses a right implementation (float32)"),
    "a verdict": (a_verdict, "returned False"),
    "with itself": (between_tiles, "caught"),
}


@pytest.mark.parametrize("name", WRONG_TESTS)
def test_poor_tests_are_told_what_they_miss(name):
    test, words = WRONG_TESTS[name]
    with np.errstate(all="ignore"):
        result = check_tiled_test(test)
    assert result.status == "wrong"
    assert words in " ".join(result.message.split())
