"""The learner's test of chunks is graded, and the ladder knows its wrong rungs."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.exercises.linear import check_chunk_test, check_room_ladder
from attention_src.exercises.linear.graded import CHUNK_TEST

SIZES = ((19, 4), (8, 3), (5, 16))


def draw(n, d_k=6, d_v=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, d)) for d in (d_k, d_k, d_v)]


def wanted(q, k, v):
    return np.tril(q @ k.T) @ v


@pytest.mark.parametrize("one", CHUNK_TEST.wrong, ids=lambda one: one.name)
def test_each_wrong_one_is_wrong(one):
    off = []
    for n, C in SIZES:
        given, (q, k, v) = draw(n), draw(n)
        off += [abs(one.function(*given, C) - wanted(q, k, v)).max()]
        off += [abs(x - y).max() for x, y in zip(given, (q, k, v), strict=True)]
    assert max(off) > 1e-2


@pytest.mark.parametrize("one", CHUNK_TEST.right, ids=lambda one: one.name)
def test_right_ones_are_right(one):
    for n, C in SIZES:
        q, k, v = draw(n)
        assert abs(one.function(q, k, v, C) - wanted(q, k, v)).max() < 5e-5


def a_test(
    sizes=SIZES, atol=1e-4, oracle=wanted, look=lambda o: o, unchanged="qkv", draw=draw, **shape
):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_chunk_test(form):
        for n, C in sizes:
            q, k, v = draw(n, **shape)
            before = [x.copy() for x in (q, k, v)]
            o = form(q, k, v, C)
            assert np.allclose(look(o), look(oracle(*before)), rtol=0, atol=atol)
            for name, x, y in zip("qkv", (q, k, v), before, strict=True):
                assert name not in unchanged or np.array_equal(x, y)

    return my_chunk_test


def token_by_token(form):
    given, (q, k, v), state = draw(23), draw(23), 0
    o = form(*given, 5)
    for t in range(23):
        state = state + np.outer(k[t], v[t])
        assert abs(o[t] - q[t] @ state).max() < 1e-4
    assert all(map(np.array_equal, given, (q, k, v)))


def by_prefixes(form):
    """The output of a prefix is a prefix of the output, and the last row is a plain sum."""
    given, (q, k, v) = draw(17), draw(17)
    whole = form(*given, 3)
    assert all(map(np.array_equal, given, (q, k, v)))
    for n in range(1, 18):
        part = form(q[:n].copy(), k[:n].copy(), v[:n].copy(), 3)
        assert np.allclose(part, whole[:n], atol=1e-4)
        assert np.allclose(part[-1], q[n - 1] @ (k[:n].T @ v[:n]), atol=1e-4)


RIGHT = {
    "worked solution": None,
    "right": a_test(),
    "one size": a_test(((19, 4),)),
    "another draw": a_test(seed=5),
    "token by token": token_by_token,
    "prefixes": by_prefixes,
    "chunks of 1 too": a_test(((9, 1), (19, 4))),
    "loose": a_test(atol=1e-3),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_tests_pass(name):
    given = RIGHT[name] or run_exercise("linear", "ex:linear-test")["my_chunk_test"]
    assert check_chunk_test(given).status == "passed"


def all_ones(n):
    """Keys that cannot be told from queries."""
    return [np.ones((n, d)) for d in (3, 3, 2)]


def no_queries(n):
    q, k, v = draw(n)
    return [0 * q, k, v]


def against_itself(form):
    """Two sizes of chunk agree, right or wrong."""
    assert np.allclose(form(*draw(19), 4), form(*draw(19), 5), atol=1e-4)


def refuses_all(form):
    form(*draw(19), 4)
    raise AssertionError


WRONG = {
    "calls only": (lambda form: form(*draw(19), 4), "caught 0"),
    "refuses all": (refuses_all, ""),
    "one chunk": (a_test(((5, 16),)), "caught"),
    "two chunks": (a_test(((8, 4),)), "caught"),
    "three chunks": (a_test(((12, 4),)), "caught"),
    "divides": (a_test(((20, 4),)), "caught"),
    "chunks of 1": (a_test(((9, 1),)), "caught"),
    "exact": (a_test(atol=0), ""),
    "1e-9": (a_test(atol=1e-9), "float32"),
    "far too loose": (a_test(atol=1e3), "caught"),
    "shape only": (a_test(look=np.shape), "caught"),
    "first row": (a_test(look=lambda o: o[0]), "caught"),
    "inputs may change": (a_test(unchanged=""), "caught"),
    "keys may change": (a_test(unchanged="qv"), "caught 18"),
    "values may change": (a_test(unchanged="qk"), "caught 18"),
    "mean of all": (a_test(look=np.mean), "caught 18"),
    "all ones": (a_test(draw=all_ones), "caught 18"),
    "no features": (a_test(draw=no_queries), "caught"),
    "last row": (a_test(look=lambda o: o[-1]), "caught"),
    "against itself": (against_itself, "caught"),
    "sums over rows": (a_test(look=lambda o: o.sum(axis=0)), "caught 18"),
    "not causal": (a_test(oracle=lambda q, k, v: q @ k.T @ v), ""),
    "divided": (a_test(oracle=lambda q, k, v: wanted(q, k, v) / len(q)), ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tests_are_rejected(name):
    answer, words = WRONG[name]
    assert_rejected(check_chunk_test, answer, words)


ANSWERS = dict(a=16384, b=64, c=128, d=4.0, e=64.0, f=64.0)


@pytest.mark.parametrize(
    "rung, value, words",
    [
        ("a", 256, "row for each channel"),
        ("b", 128, "a key and a value"),
        ("b", 16384, "256 of them"),
        ("c", 16384, "orthogonal keys"),
        ("c", 64, "directions"),
        ("d", 16, "variance"),
        ("d", 0.25, "Turn it over"),
        ("d", (2049 / 128) ** 0.5, "no crosstalk"),
        ("e", 1 / 64, "turn it over"),
        ("e", 8192, "width 1"),
        ("f", 8192, "4 d²"),
        ("f", 128, "two products"),
        ("f", 1, "128 rows"),
    ],
)
def test_the_ladder_names_a_wrong_rung(rung, value, words):
    result = check_room_ladder(**(ANSWERS | {rung: value}))
    assert result.status == "wrong" and words in " ".join(result.message.split())
