"""The learner's test of who shares with whom is graded: right tests pass, wrong ones do not."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.attention.reference import attention
from attention_src.exercises.gqa import check_sharing_test
from attention_src.exercises.gqa.graded import SHARING_TEST

SIZES = ((6, 2), (8, 2), (5, 1), (3, 3))


def draw(H, H_kv, n_q=4, n_k=7, d_k=5, d_v=3, seed=0):
    rng = np.random.default_rng(seed)
    shapes = ((H, n_q, d_k), (H_kv, n_k, d_k), (H_kv, n_k, d_v))
    return [rng.normal(size=shape) for shape in shapes]


def right(q, k, v):
    r = len(q) // len(k)
    return np.stack([attention(q[h], k[h // r], v[h // r]) for h in range(len(q))])


@pytest.mark.parametrize("wrong", [one.function for one in SHARING_TEST.wrong])
def test_each_wrong_one_is_wrong(wrong):
    off = [abs(wrong(*draw(*sizes)) - right(*draw(*sizes))).max() for sizes in SIZES]
    assert max(off) > 1e-2


@pytest.mark.parametrize("one", [one.function for one in SHARING_TEST.right])
def test_right_ones_are_right(one):
    for sizes in SIZES:
        assert abs(one(*draw(*sizes)) - right(*draw(*sizes))).max() < 5e-6


def a_test(sizes=SIZES, atol=1e-5, oracle=right, look=lambda o: o, **shape):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_sharing_test(grouped):
        for H, H_kv in sizes:
            q, k, v = draw(H, H_kv, **shape)
            o = grouped(q.copy(), k.copy(), v.copy())
            assert np.allclose(look(o), look(oracle(q, k, v)), rtol=0, atol=atol)

    return my_sharing_test


def by_constants(grouped):
    """Each value head holds its own number, so the output says who was asked."""
    q, k, v = draw(6, 2)
    v = v * 0 + np.array([1.0, 2.0])[:, None, None]
    assert np.allclose(grouped(q, k, v)[:, 0, 0], [1, 1, 1, 2, 2, 2], atol=1e-5)
    a_test(((6, 2),))(grouped)


def by_changing(grouped):
    """A key head or value head is changed: the heads of its group move, the others do not."""
    q, k, v = draw(6, 2)
    o = grouped(q, k, v)
    for part in (1, 2):
        for g in range(2):
            changed = [q.copy(), k.copy(), v.copy()]
            changed[part][g] += np.random.default_rng(g).normal(size=changed[part][g].shape)
            moved = abs(grouped(*changed) - o).max(axis=(1, 2)) > 1e-5
            assert moved.tolist() == [h // 3 == g for h in range(6)]
    for n, h in enumerate([0, 1, 2, 3, 4, 5]):
        assert np.allclose(o[n], attention(q[h], k[h // 3], v[h // 3]), atol=1e-5)


def by_repeat(grouped):
    for seed in range(3):
        q, k, v = draw(12, 4, seed=seed)
        copies = (np.repeat(x, 3, axis=0) for x in (k, v))
        np.testing.assert_allclose(grouped(q, k, v), attention(q, *copies), atol=1e-5)


def unseeded(grouped):
    q, k, v = draw(6, 2, seed=None)
    assert abs(grouped(q, k, v) - right(q, k, v)).max() < 1e-4


RIGHT = {
    "worked solution": None,
    "right": a_test(),
    "one size": a_test(((6, 2),)),
    "constants": by_constants,
    "changes": by_changing,
    "repeat": by_repeat,
    "unseeded": unseeded,
    "one pair of sizes, loose": a_test(((10, 2),), atol=1e-3),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_tests_pass(name):
    given = (
        RIGHT[name] or run_exercise("gqa", "ex:gqa-test", attention=attention)["my_sharing_test"]
    )
    assert check_sharing_test(given).status == "passed"


def empty(grouped):
    assert grouped is not None


def raises(grouped):
    grouped(*draw(6, 2))
    raise AssertionError


def tiled(q, k, v):
    copies = (np.tile(x, (len(q) // len(x), 1, 1)) for x in (k, v))
    return attention(q, *copies)


WRONG = {
    "looks at nothing": (lambda grouped: grouped(*draw(6, 2)), "caught 0"),
    "refuses all": (raises, ""),
    "squares only": (a_test(((9, 3), (4, 2))), "caught"),
    "one key/value head": (a_test(((5, 1),)), "caught"),
    "no groups": (a_test(((3, 3),)), "caught"),
    "pairs only": (a_test(((4, 2), (8, 4))), "caught"),
    "shape only": (a_test(look=np.shape), "caught 0"),
    "first head only": (a_test(look=lambda o: o[0]), "caught"),
    "one query": (a_test(n_q=1), "caught"),
    "one key": (a_test(n_k=1), "caught"),
    "the mean": (a_test(look=lambda o: o.mean(axis=0)), "caught"),
    "far too loose": (a_test(atol=10), "caught 0"),
    "exact": (a_test(atol=0), "float32"),
    "tiled": (
        a_test(oracle=tiled),
        "",
    ),
    "scores of zero": (
        lambda grouped: a_test(((6, 2),), look=lambda o: o * 0)(grouped),
        "caught 0",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tests_are_rejected(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_sharing_test, answer, spoken_of)


def test_a_test_that_calls_nothing_is_not_started():
    assert not check_sharing_test(empty)
