"""Tiled attentions that a learner's test meets are as right and wrong as the exercise says."""

import numpy as np
import pytest
from worked import BOOK, run_exercise

from attention_src.attention.reference import attention
from attention_src.exercises.flash import check_tiled_test, check_traffic

PAGE = (BOOK / "flash.md").read_text(encoding="utf-8")


def numbers(n_q, n_k, d_k=4, d_v=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v))]


FALLING = (np.ones((3, 1)), -1000.0 * np.arange(1, 8)[:, None], numbers(3, 7, 1, 2)[2])
NORMAL = [numbers(7, 11), numbers(11, 7), numbers(8, 8)]
LARGE = [(1000 * q, k, v) for q, k, v in NORMAL]


def worst(tiled, inputs):
    """The largest error of an implementation; infinite for NaN and for a changed input."""
    off = 0.0
    for q, k, v in inputs:
        for causal, tile in ((c, tile) for c in (False, True) for tile in ((2, 3), (3, 2))):
            given = [q.copy(), k.copy(), v.copy()]
            with np.errstate(all="ignore"):
                o = tiled(*given, *tile, causal=causal)
            error = np.abs(o - attention(q, k, v, causal=causal)).max()
            changed = any((a != b).any() for a, b in zip(given, (q, k, v), strict=True))
            off = max(off, np.inf if np.isnan(error) or changed else error)
    return off


@pytest.mark.parametrize("one", check_tiled_test.right, ids=lambda one: one.name)
def test_right_ones_are_right(one):
    many = [numbers(n_q, n_k, seed=s) for s, (n_q, n_k) in enumerate([(1, 1), (2, 9), (9, 2)])]
    assert worst(one.function, [*NORMAL, *many, FALLING]) < 1e-5
    assert worst(one.function, LARGE) < 0.02


@pytest.mark.parametrize("one", check_tiled_test.wrong, ids=lambda one: one.name)
def test_wrong_ones_show_where_the_exercise_says(one):
    assert "Each shows on arrays with at most {given}`11` rows" in PAGE
    assert worst(one.function, [*NORMAL, FALLING]) > 4e-4 or worst(one.function, LARGE) > 0.1


def test_the_page_counts_them():
    assert len(check_tiled_test.right) == 7 and "Seven are right." in PAGE
    assert len(check_tiled_test.wrong) == 19 and "Nineteen are wrong" in PAGE


def test_three_digits_are_enough_but_counts_are_exact():
    assert check_traffic(2**16, 2**8, 2**5, 5.03e7, 5.33, 148).status == "passed"
    near = dict(a=65535, b=255, c=33, d=5.1e7, e=5.4, f=150)
    for letter, value in near.items():
        assert check_traffic(**{letter: value}).status == "wrong", letter


def test_the_open_exercise_prints_what_the_page_says(capsys):
    run_exercise("flash", "ex:flash-shape")
    assert capsys.readouterr().out.split("\n")[:2] == [
        "128 x 128: 224.0 KB; 140.5 17.4",
        "(256, 16) 216.0 73.4 17.7",
    ]
