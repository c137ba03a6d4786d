"""The learner's test of a cache is graded: right tests pass, wrong ones do not."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.attention.reference import attention
from attention_src.exercises.kvcache import check_cache_test
from attention_src.exercises.kvcache.graded import CACHE_TEST
from attention_src.rope.reference import rotate

PORTIONS = (5, 1, 1, 4, 1, 8, 1, 11)


def whole(text):
    q, k = (rotate(x, np.arange(text.shape[1])) for x in text[:2])
    return attention(q, k, text[2], causal=True)


def feed(start, texts, portions, reuse=True):
    """What a cache returns for texts that go on in turn, one [n, d_v] each."""
    under_way = [start() for _ in texts]
    found = [[] for _ in texts]
    n = 0
    for n_new in portions:
        for text, go_on, rows in zip(texts, under_way, found, strict=True):
            new = text[:, n : n + n_new].copy()
            rows.append(np.array(go_on(*new)))
            if reuse:
                new[:] = 7
        n += n_new
    return [np.concatenate(rows) for rows in found]


def draw(n_texts=2, n=32, d=8, seed=0):
    return np.random.default_rng(seed).normal(size=(n_texts, 3, n, d))


@pytest.mark.parametrize("wrong", CACHE_TEST.wrong, ids=lambda one: one.name)
def test_each_wrong_one_is_wrong(wrong):
    texts = draw()
    found = feed(wrong.function, texts, PORTIONS)
    off = [
        abs(rows - whole(text)).max() if rows.shape == whole(text).shape else np.inf
        for rows, text in zip(found, texts, strict=True)
    ]
    assert max(off) > 1e-2


@pytest.mark.parametrize("one", CACHE_TEST.right, ids=lambda one: one.name)
@pytest.mark.parametrize("portions", [PORTIONS, (1,) * 32, (32,), (3, 29)])
def test_right_ones_are_right(one, portions):
    texts = draw(seed=1)
    for rows, text in zip(feed(one.function, texts, portions), texts, strict=True):
        assert abs(rows - whole(text)).max() < 5e-6


# --- right -------------------------------------------------------------------------------------


def a_test(portions=PORTIONS, n_texts=2, reuse=True, atol=1e-5, look=lambda o: o, **sizes):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_cache_test(start):
        texts = draw(n_texts, n=sum(portions), **sizes)
        found = feed(start, texts, portions, reuse)
        for rows, text in zip(found, texts, strict=True):
            assert np.allclose(look(rows), look(whole(text)), rtol=0, atol=atol)

    return my_cache_test


def by_two_ways(start):
    """At once and in portions must agree, and at once must be causal attention."""
    texts = draw()
    together = feed(start, texts, (32,))
    for portions in (PORTIONS, (1,) * 32):
        for a, b in zip(feed(start, texts, portions), together, strict=True):
            assert abs(a - b).max() < 1e-5
    for rows, text in zip(together, texts, strict=True):
        assert abs(rows - whole(text)).max() < 1e-5


def by_rows(start):
    """Each new row by itself, with the formula written out."""
    a_test((2,) * 16)(start)
    text, other = draw()
    go_on, next_door = start(), start()
    for n in range(32):
        next_door(*other[:, n : n + 1])
        new = text[:, n : n + 1].copy()
        row = go_on(*new)[0]
        new += 1
        q, k = (rotate(x[: n + 1], np.arange(n + 1)) for x in text[:2])
        s = k @ q[-1] / np.sqrt(8)
        p = np.exp(s - s.max())
        np.testing.assert_allclose(row, p / p.sum() @ text[2, : n + 1], atol=1e-5)


RIGHT = {
    "worked solution": None,
    "right": a_test(),
    "three texts": a_test((4, 1, 3, 1, 7, 16), n_texts=3),
    "narrow": a_test(d=4, seed=3),
    "two ways": by_two_ways,
    "row by row": by_rows,
    "loose": a_test(atol=1e-4),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_tests_pass(name):
    given = (
        RIGHT[name]
        or run_exercise("kvcache", "ex:kvcache-test", attention=attention)["my_cache_test"]
    )
    assert check_cache_test(given).status == "passed"


# --- wrong -------------------------------------------------------------------------------------


def raises(start):
    start()(*draw()[0])
    raise AssertionError


def unrotated(start):
    text = draw()[0]
    assert np.allclose(start()(*text), attention(*text, causal=True), atol=1e-5)


def not_causal(start):
    text = draw()[0]
    q, k = (rotate(x, np.arange(32)) for x in text[:2])
    assert np.allclose(start()(*text), attention(q, k, text[2]), atol=1e-5)


def one_after_the_other(start):
    """The second text begins when the first has ended: nothing is left of a shared position."""
    for text in draw():
        rows = feed(start, text[None], PORTIONS)[0]
        assert np.allclose(rows[:5], whole(text)[:5], atol=1e-5)


WRONG = {
    "looks at nothing": (lambda start: start()(*draw()[0]), "caught 0"),
    "refuses all": (raises, "refuses a right"),
    "forgets rotation": (unrotated, "refuses a right"),
    "forgets the mask": (not_causal, "refuses a right"),
    "all at once": (a_test((32,)), "caught"),
    "single tokens only": (a_test((1,) * 32), "caught"),
    "one text": (a_test(n_texts=1), "caught 14 of 16"),
    "arrays not used again": (a_test(reuse=False), "caught 15 of 16"),
    "short": (a_test((5, 1, 1, 3)), "caught"),
    "twelve tokens": (a_test((5, 1, 1, 4, 1)), "caught"),
    "shape only": (a_test(look=np.shape), "caught 0"),
    "far too loose": (a_test(atol=10), "caught 0"),
    "exact": (a_test(atol=0), "refuses a right"),
    "the mean": (a_test(look=lambda o: o.mean(), atol=2e-2), "caught"),
    "first rows of each": (one_after_the_other, "caught"),
    "returns False": (lambda start: bool(start()(*draw()[0]).sum() > 1e9), "assert"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tests_are_rejected(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_cache_test, answer, spoken_of)


def test_a_test_that_calls_nothing_is_not_started():
    assert check_cache_test(lambda start: None).status == "not started"
