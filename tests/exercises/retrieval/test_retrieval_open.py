"""The ladder by hand, the dictionary on a circle, and the open exercise."""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked, run_exercise

from attention_src.exercises.retrieval import check_by_hand, check_round_dictionary

RIGHT = {"a": 0.8, "b": 1.386, "c": 0.2925, "d": 7.143, "e": 5}
WRONG = {
    "a": [0.2, 0.9, 0.75, -0.8, "much", [0.8]],
    "b": [4, -1.386, 0.6, 2, 0.602, -0.223],
    "c": [3.42, 0.562, 0.25, 0.405],
    "d": [8, 6.667, 10, 7.5, 5],
    "e": [3, 4, 6, 5.5],
}


def test_rounded_rungs_pass():
    assert check_by_hand(**RIGHT).status == "passed"


@pytest.mark.parametrize("letter", WRONG)
def test_wrong_rungs_are_refused(letter):
    for value in WRONG[letter]:
        result = check_by_hand(**{**RIGHT, letter: value})
        assert result.status == "wrong", value
        assert "4 of 5 rungs hold" in result.message


def test_known_mistakes_get_a_reply():
    assert "ratio of the weights" in check_by_hand(b=4).message
    assert "the output with one banana" in check_by_hand(d=8).message


def my_round_dictionary(n):
    angle = 2 * np.pi * np.arange(n) / n
    keys = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    gap = 1 - np.cos(2 * np.pi / max(n, 2))
    return keys, gap / 30


def half_circle(n):
    angle = np.pi * np.arange(n) / n
    return [[np.cos(a), np.sin(a)] for a in angle], 1e-6


def complex_roots(n):
    z = np.exp(2j * np.pi * np.arange(n)[::-1] / n)
    return np.array([z.real, z.imag]).T, np.float64(2e-5)


def searched(n):
    keys, _ = my_round_dictionary(n)
    for t in 0.5 ** np.arange(40.0):
        s = keys @ keys.T / t
        e = np.exp(s - s.max(axis=1, keepdims=True))
        if (np.diag(e) / e.sum(axis=1) > 1 - 1e-7).all():
            return keys, t
    raise AssertionError


def turned(n):
    angle = 1 + 2 * np.pi * np.arange(n) / n
    return list(zip(np.cos(angle), np.sin(angle), strict=True)), 1e-5


def in_float32(n):
    keys, _ = my_round_dictionary(n)
    return keys.astype(np.float32), 1e-5


def in_torch(n):
    import torch

    return torch.tensor(my_round_dictionary(n)[0]), 1e-5


def test_right_dictionaries_pass():
    assert_worked("retrieval", check_round_dictionary, my_round_dictionary)
    for f in (half_circle, complex_roots, searched, turned, in_float32, in_torch):
        assert check_round_dictionary(f).status == "passed", f


def changed(keys=lambda k: k, t=lambda t, n: t):
    def f(n):
        k, temperature = my_round_dictionary(n)
        return keys(k), t(temperature, n)

    return f


WRONG_DICTIONARIES = {
    "too warm": (changed(t=lambda t, n: 1.0), "cold enough"),
    "fixed and just too warm": (changed(t=lambda t, n: 2e-4), "cold enough"),
    "gap to the opposite": (changed(t=lambda t, n: 2 / 30), "cold enough"),
    "linear in n": (changed(t=lambda t, n: 0.05 / n), "cold enough"),
    "end met twice": (
        lambda n: (np.array([[np.cos(a), np.sin(a)] for a in np.linspace(0, 2 * np.pi, n)]), 1e-5),
        "cold enough",
    ),
    "one size forgotten": (changed(t=lambda t, n: 1.0 if n == 97 else t), "for n = 97"),
    "long keys": (changed(keys=lambda k: 2 * k), "has length 2"),
    "random": (
        lambda n: (
            (k := np.random.default_rng(0).normal(size=(n, 2)))
            / np.linalg.norm(k, axis=1)[:, None],
            1e-3,
        ),
        "cold enough",
    ),
    "one-hot": (lambda n: (np.eye(n), 0.01), "shape (1, 2)"),
    "transposed": (changed(keys=lambda k: k.T), "shape"),
    "hot": (changed(t=lambda t, n: 1 / t), "cold enough"),
    "negative": (changed(t=lambda t, n: -t), "one positive number"),
    "zero": (changed(t=lambda t, n: 0.0), "one positive number"),
    "one a key": (changed(t=lambda t, n: np.full(n, 1e-5)), "one positive number"),
    "keys alone": (lambda n: my_round_dictionary(n)[0], "two things"),
    "swapped": (lambda n: my_round_dictionary(n)[::-1], "shape"),
    "degrees": (
        lambda n: (np.array([[np.cos(a), np.sin(a)] for a in 360 * np.arange(n) / n]), 1e-3),
        "cold enough",
    ),
    "nan": (changed(keys=lambda k: k * np.nan), "has length nan"),
}


@pytest.mark.parametrize("name", WRONG_DICTIONARIES)
def test_wrong_dictionaries_are_refused(name):
    f, words = WRONG_DICTIONARIES[name]
    assert_rejected(check_round_dictionary, f, words)


def test_what_is_no_function_is_an_error():
    with pytest.raises(ValueError, match="f is int, it should be a function"):
        check_round_dictionary(3)


def test_the_open_exercise_finds_what_it_says():
    given = run_exercise("retrieval", "ex:retrieval-open", **chapter_names())
    assert given["leave_one_out"](np.arange(3.0), np.array([1.0, 1, 1]), 0.5) < 1e-20


def chapter_names():
    """What the open exercise uses from the chapter above it."""
    weights = lambda s: (e := np.exp(s - s.max(axis=-1, keepdims=True))) / e.sum(-1, keepdims=True)  # noqa: E731
    curve = lambda x: np.sin(2 * x) + x / 2  # noqa: E731

    def measured(seed, n=50):
        rng = np.random.default_rng(seed)
        places = np.sort(rng.uniform(0, 5, n))
        return places, curve(places) + rng.normal(0, 0.4, n)

    def regress(x, places, heights, h):
        return weights(-((x[:, None] - places) ** 2) / 2 / h**2) @ heights

    return {
        "weights": weights,
        "curve": curve,
        "measured": measured,
        "regress": regress,
        "x": np.linspace(0.2, 4.8, 70),
        "bandwidths": np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2]),
    }
