"""The chapter on why attention was invented: its ladder, its contexts and its scores by hand.

In the tables of wrong answers: name, code, what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.history import check_budget, check_contexts, check_reversal

# --- the ladder --------------------------------------------------------------------------------


BITS, ROOT = np.log(26) / np.log(2), np.exp(np.log(0.07) / 8)
RIGHT_RUNGS = {
    "rounded": (4.7, 37.6, 11, 0.717, 384),
    "one digit more": (4.70, 37.60, 11.0, 0.7172, 384.0),
    "other logarithms": (BITS, np.log2(26.0**8), 11, ROOT, 384),
    "arrays": (np.array(4.7), np.array(37.6), np.int64(11), np.float32(0.717), np.int32(384)),
    "from the rounded bits": (4.7004, 37.604, 52 // 4.7, 0.07**0.125, 48 * 8),
    "sums": (BITS, sum([BITS] * 8), 11, 10 ** (np.log10(0.07) / 8), sum([48] * 8)),
}


@pytest.mark.parametrize("name", RIGHT_RUNGS)
def test_right_rungs_hold(name):
    assert check_budget(*RIGHT_RUNGS[name]).status == "passed"


@pytest.mark.parametrize(
    ("rung", "answer", "words"),
    [
        ("a", np.log(26), "natural logarithm"),
        ("a", 5, "fewer will do"),
        ("a", 26, "yes-or-no answers"),
        ("b", 26**8, "Take the logarithm"),
        ("b", np.log2(208), "Choices multiply"),
        ("b", 40, "5 bits for each letter"),
        ("b", 38, "Rounded too far"),
        ("b", 37, "Yours: 37"),
        ("c", 52 / np.log2(26), "Whole letters only"),
        ("c", 12, "more than 52 bits"),
        ("c", 10, "can share bits"),
        ("c", [11, 11], "Expected one number"),
        ("d", 0.07 / 8, "multiply"),
        ("d", 0.56, "multiply"),
        ("d", 0.93 ** (1 / 8), "They are the right ones"),
        ("d", 1 - 0.07 ** (1 / 8), "share of wrong letters"),
        ("d", 71.7, "in per cent"),
        ("d", 0.765, "that the page printed"),
        ("d", 0.7, "Rounded too far"),
        ("e", 48, "each of the eight"),
        ("e", 416, "states of 48"),
        ("e", 64, "These are the weights"),
        ("e", 385, "Yours: 385"),
    ],
)
def test_a_wrong_rung_gets_its_reply(rung, answer, words):
    assert_rejected(lambda value: check_budget(**{rung: value}), answer, words)


# --- contexts ----------------------------------------------------------------------------------


def my_contexts(s, h):
    e = np.exp(s)
    p = e / e.sum(axis=1, keepdims=True)
    return p @ h


def test_the_worked_contexts_pass():
    assert_worked("history", check_contexts, my_contexts)


def by_loops(s, h):
    c = np.zeros((len(s), h.shape[1]))
    for i in range(len(s)):
        total = sum(np.exp(x) for x in s[i])
        for j in range(len(h)):
            c[i] += np.exp(s[i, j]) / total * h[j]
    return c


def by_torch(s, h):
    torch = pytest.importorskip("torch")
    return torch.softmax(torch.from_numpy(s), dim=-1) @ torch.from_numpy(h)


RIGHT_CONTEXTS = {
    "loops": by_loops,
    "torch": by_torch,
    "minus the maximum": lambda s, h: my_contexts(s - s.max(axis=1, keepdims=True), h),
    "divided at the end": lambda s, h: (np.exp(s) @ h) / np.exp(s).sum(1)[:, None],
    "einsum": lambda s, h: np.einsum("mn,nd,m->md", np.exp(s), h, 1 / np.exp(s).sum(1)),
    "by logarithms": lambda s, h: np.exp(s - np.log(np.exp(s).sum(1, keepdims=True))) @ h,
    "lists": lambda s, h: [list(np.exp(row) / np.exp(row).sum() @ h) for row in s],
    "powers of 2": lambda s, h: np.exp2(s / np.log(2)) @ h / np.exp(s).sum(1, keepdims=True),
}


@pytest.mark.parametrize("name", RIGHT_CONTEXTS)
def test_right_contexts_pass(name):
    assert check_contexts(RIGHT_CONTEXTS[name]).status == "passed"


def weights(s, axis=1):
    return np.exp(s) / np.exp(s).sum(axis=axis, keepdims=True)


SEEN = {}


def kept_by_shape(s, h):
    return SEEN.setdefault((s.shape, h.shape), my_contexts(s, h))


def in_place(s, h):
    s -= s.max(axis=1, keepdims=True)
    return my_contexts(s, h)


WRONG_CONTEXTS = {
    "wrong axis": (lambda s, h: weights(s, 0) @ h, "sum to 1 over the steps"),
    "one sum": (lambda s, h: weights(s, None) @ h, "All your weights together"),
    "no keepdims": (lambda s, h: np.exp(s) / np.exp(s).sum(axis=1) @ h, ""),
    "not divided": (lambda s, h: np.exp(s) @ h, "must sum to 1"),
    "scores": (lambda s, h: s @ h, "These are scores"),
    "no exponential": (lambda s, h: s / s.sum(axis=1, keepdims=True) @ h, "np.exp"),
    "hard": (lambda s, h: h[s.argmax(axis=1)], "largest score"),
    "mean": (lambda s, h: np.tile(h.mean(axis=0), (len(s), 1)), "plain mean"),
    "last": (lambda s, h: np.tile(h[-1], (len(s), 1)), "one vector"),
    "weights": (lambda s, h: weights(s), ""),
    "powers of 2": (lambda s, h: np.exp2(s) @ h / np.exp2(s).sum(1, keepdims=True), ""),
    "float32": (lambda s, h: my_contexts(s.astype(np.float32), h.astype(np.float32)), ""),
    "first step": (lambda s, h: my_contexts(s[:1], h), "shape"),
    "squeezed": (lambda s, h: np.squeeze(my_contexts(s, h)), "shape"),
    "transposed": (lambda s, h: my_contexts(s, h).T, ""),
    "kept by shape": (kept_by_shape, ""),
    "in place": (in_place, "in place"),
    "rounded": (lambda s, h: my_contexts(s, h).round(3), ""),
    "absolute": (lambda s, h: my_contexts(abs(s), h), ""),
    "clipped": (lambda s, h: my_contexts(np.clip(s, -10, 10), h), ""),
    "three states": (lambda s, h: my_contexts(s[:, :3], h[:3]), ""),
}


@pytest.mark.parametrize("name", WRONG_CONTEXTS)
def test_wrong_contexts_are_rejected(name):
    assert_rejected(check_contexts, *WRONG_CONTEXTS[name])


# --- scores by hand ----------------------------------------------------------------------------


def my_reversal(n):
    return 20.0 * np.eye(n)[::-1]


def test_the_worked_reversal_passes():
    assert_worked("history", check_reversal, my_reversal)
    with pytest.raises(ValueError, match="it should be a function"):
        check_reversal(my_reversal(3))


def as_lists(n):
    return [[15 if i + j == n - 1 else -10 for j in range(n)] for i in range(n)]


def by_distance(n):
    i = np.arange(n)
    return np.maximum(-12.0 * abs(i[:, None] + i - (n - 1)), -50)


RIGHT_REVERSALS = {
    "flipped": lambda n: np.fliplr(np.eye(n)) * 12,
    "lists": as_lists,
    "by distance": by_distance,
    "from -50 to 50": lambda n: 100 * np.eye(n)[::-1] - 50,
    "whole numbers": lambda n: 30 * np.eye(n, dtype=int)[:, ::-1],
    "no more than needed": lambda n: (np.log(99 * max(n - 1, 1)) + 1e-6) * np.eye(n)[::-1],
    "exactly what is needed": lambda n: np.log(max(99 * (n - 1), 1)) * np.eye(n)[::-1],
    "float32": lambda n: np.float32(20) * np.eye(n, dtype=np.float32)[::-1],
    "rows shifted": lambda n: 20 * np.eye(n)[::-1] + np.linspace(-20, 20, n)[:, None],
}


@pytest.mark.parametrize("name", RIGHT_REVERSALS)
def test_right_reversals_pass(name):
    assert check_reversal(RIGHT_REVERSALS[name]).status == "passed"


WRONG_REVERSALS = {
    "forwards": (lambda n: 20 * np.eye(n), "that of letter 0"),
    "four": (lambda n: 4 * np.eye(n)[::-1], "make your score larger"),
    "nine": (lambda n: 9 * np.eye(n)[::-1], "n = 101"),
    "eleven": (lambda n: 11 * np.eye(n)[::-1], "n = 1000"),
    "one": (lambda n: np.eye(n)[::-1], "make your score larger"),
    "weights": (lambda n: np.eye(n)[::-1] * 0.99, "make your score larger"),
    "negative": (lambda n: -20 * np.eye(n)[::-1], ""),
    "one ahead": (lambda n: np.roll(20 * np.eye(n)[::-1], 1, axis=1), "the largest"),
    "rotated": (lambda n: 20 * np.roll(np.eye(n), 1, axis=0), ""),
    "infinite": (lambda n: np.where(np.eye(n)[::-1] > 0, 0, -np.inf), "finite"),
    "a thousand": (lambda n: 1000 * np.eye(n)[::-1], "from -50 to 50"),
    "not a number": (lambda n: np.full((n, n), np.nan), "finite"),
    "five letters": (lambda n: 20 * np.eye(5)[::-1], "expected shape"),
    "a row": (lambda n: 20 * np.eye(n)[-1], "expected shape"),
    "equal": (lambda n: np.zeros((n, n)), "n = 3"),
    "second half": (lambda n: 20 * np.eye(n)[::-1] * (np.arange(n) >= n // 2), ""),
    "up to 300": (lambda n: 20 * np.eye(n)[::-1] if n <= 300 else np.zeros((n, n)), "n = 1000"),
    "0.989": (lambda n: np.log(89 * max(n - 1, 1)) * np.eye(n)[::-1], "make your score larger"),
    "not at 640": (lambda n: (20 if not 500 < n < 900 else 5) * np.eye(n)[::-1], "n = 640"),
    "text": (lambda n: "backwards", ""),
}


@pytest.mark.parametrize("name", WRONG_REVERSALS)
def test_wrong_reversals_are_rejected(name):
    assert_rejected(check_reversal, *WRONG_REVERSALS[name])
