"""The check of merging partial results: right answers pass, wrong ones do not and are named.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.flash import check_merge


# The worked solution, in the words of the chapter.
def my_merge(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = np.maximum(m_a, m_b)  # [..., n_q]
    safe = np.where(m == -np.inf, 0, m)  # −∞ − (−∞) is NaN
    a, b = np.exp(m_a - safe), np.exp(m_b - safe)
    acc = a[..., None] * acc_a + b[..., None] * acc_b
    return m, a * l_a + b * l_b, acc


def test_worked_solution_and_stub():
    assert_worked("flash", check_merge, my_merge)


# --- right -------------------------------------------------------------------------------------


def row_by_row(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m, l, acc = np.empty_like(m_a), np.empty_like(l_a), np.empty_like(acc_a)
    for i in np.ndindex(m_a.shape):
        m[i] = max(m_a[i], m_b[i])
        if m[i] == -np.inf:
            l[i], acc[i] = 0, 0
            continue
        a, b = np.exp(m_a[i] - m[i]), np.exp(m_b[i] - m[i])
        l[i], acc[i] = a * l_a[i] + b * l_b[i], a * acc_a[i] + b * acc_b[i]
    return m, l, acc


def the_larger_first(m_a, l_a, acc_a, m_b, l_b, acc_b):
    swap = m_b > m_a
    pick = lambda x, y: np.where(swap if x.ndim == swap.ndim else swap[..., None], x, y)  # noqa: E731
    gap = np.where(m_a == m_b, 0, -np.abs(np.nan_to_num(m_a - m_b, nan=0)))
    e = np.exp(gap)
    l = pick(l_b, l_a) + e * pick(l_a, l_b)
    return np.maximum(m_a, m_b), l, pick(acc_b, acc_a) + e[..., None] * pick(acc_a, acc_b)


def nan_to_zero(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = np.maximum(m_a, m_b)
    a, b = np.nan_to_num(np.exp(m_a - m)), np.nan_to_num(np.exp(m_b - m))
    return m, a * l_a + b * l_b, a[..., None] * acc_a + b[..., None] * acc_b


def in_base_2(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = np.maximum(m_a, m_b)
    safe = np.where(np.isfinite(m), m, 0)
    a, b = (np.exp2((x - safe) / np.log(2)) for x in (m_a, m_b))
    return m, a * l_a + b * l_b, np.expand_dims(a, -1) * acc_a + np.expand_dims(b, -1) * acc_b


def in_torch(*parts):
    torch = pytest.importorskip("torch")
    m_a, l_a, acc_a, m_b, l_b, acc_b = map(torch.from_numpy, parts)
    m = torch.maximum(m_a, m_b)
    safe = m.masked_fill(m == -torch.inf, 0)
    a, b = (m_a - safe).exp(), (m_b - safe).exp()
    return m, a * l_a + b * l_b, a[..., None] * acc_a + b[..., None] * acc_b


def by_einsum(m_a, l_a, acc_a, m_b, l_b, acc_b):
    ms, ls = np.stack([m_a, m_b]), np.stack([l_a, l_b])
    m = ms.max(axis=0)
    e = np.exp(ms - np.where(m == -np.inf, 0, m))
    acc = np.einsum("p...,p...d->...d", e, np.stack([acc_a, acc_b]))
    return m, (e * ls).sum(axis=0), acc


RIGHT = {
    "worked solution": my_merge,
    "row by row": row_by_row,
    "the larger first": the_larger_first,
    "NaN to zero": nan_to_zero,
    "base 2": in_base_2,
    "torch": in_torch,
    "einsum": by_einsum,
    "lists": lambda *a: [x.tolist() for x in my_merge(*a)],
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_merge(RIGHT[name]).status == "passed"


# --- wrong -------------------------------------------------------------------------------------


def variant(factors, top=np.maximum, last=lambda m, l, acc: (m, l, acc)):
    def f(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = top(m_a, m_b)
        a, b = factors(m_a, m_b, m)
        return last(m, a * l_a + b * l_b, a[..., None] * acc_a + b[..., None] * acc_b)

    return f


def safe_factors(m_a, m_b, m):
    safe = np.where(m == -np.inf, 0, m)
    return np.exp(m_a - safe), np.exp(m_b - safe)


def one_maximum(m_a, m_b, m):
    top = m.max()
    top = 0 if top == -np.inf else top
    return np.exp(m_a - top), np.exp(m_b - top)


def acc_left(*p):
    m, l, _ = my_merge(*p)
    return m, l, p[2] + p[5]


def l_left(*p):
    m, _, acc = my_merge(*p)
    return m, p[1] + p[4], acc


def guard_one_side(*p):
    if np.all(p[0] == -np.inf):
        return p[3:]
    return variant(lambda m_a, m_b, m: (np.exp(m_a - m), np.exp(m_b - m)))(*p)


def in_place(m_a, l_a, acc_a, m_b, l_b, acc_b):
    answer = my_merge(m_a, l_a, acc_a, m_b, l_b, acc_b)
    l_a += 1
    return answer


def float32_inside(*p):
    return tuple(x.astype(np.float64) for x in my_merge(*(y.astype(np.float32) for y in p)))


def wrong_axis(*p):
    m, l, acc = my_merge(*p)
    a, b = safe_factors(p[0], p[3], m)
    return m, l, a * p[2] + b * p[5] if p[2].shape[-1] == a.shape[-1] else acc


def two_axes_only(*p):
    if p[0].ndim > 1:
        return tuple(np.zeros_like(x) for x in p[:3])
    return my_merge(*p)


def by_lse(*p):
    """Treats acc as an output: mixes by the softmax of the two log-sum-exps."""
    with np.errstate(divide="ignore"):
        a, b = (x + np.log(y) for x, y in ((p[0], p[1]), (p[3], p[4])))
    m, l, _ = my_merge(*p)
    w = np.exp(a - np.logaddexp(a, b))
    return m, l, w[..., None] * p[2] + (1 - w)[..., None] * p[5]


def finite_minimum(*p):
    m_a, m_b = np.maximum(p[0], -1e4), np.maximum(p[3], -1e4)
    return my_merge(m_a, p[1], p[2], m_b, p[4], p[5])


def first_on_ties(*p):
    m, l, acc = my_merge(*p)
    tie = p[0] == p[3]
    return m, np.where(tie, p[1], l), np.where(tie[..., None], p[2], acc)


def nothing_on_ties(m_a, m_b, m):
    """A guard for −∞ − (−∞) that takes equal maxima for two parts without keys."""
    same = m_a == m_b
    return tuple(np.where(same, 0, np.exp(np.where(same, 0, x - m))) for x in (m_a, m_b))


seen = {}


def kept_by_shape(*p):
    return seen.setdefault(p[2].shape, my_merge(*p))


WRONG = {
    "not rescaled": (variant(lambda a, b, m: (np.ones_like(m),) * 2), "not rescaled"),
    "only the first": (
        variant(lambda a, b, m: (np.exp(a - m), np.ones_like(m))),
        "only one is rescaled",
    ),
    "turned": (variant(lambda a, b, m: (np.exp(m - a), np.exp(m - b))), "wrong way"),
    "swapped": (variant(lambda a, b, m: (np.exp(b - m), np.exp(a - m))), "swapped"),
    "acc left": (acc_left, "acc not rescaled"),
    "l left": (l_left, "l not rescaled"),
    "unguarded": (variant(lambda a, b, m: (np.exp(a - m), np.exp(b - m))), "no guard"),
    "minimum": (
        variant(lambda a, b, m: (np.exp(a - m), np.exp(b - m)), np.minimum),
        "smaller maximum",
    ),
    "divided": (
        variant(
            safe_factors,
            last=lambda m, l, acc: (m, l, acc / np.where(l == 0, 1, l)[..., None]),
        ),
        "divided",
    ),
    "one maximum for all rows": (variant(one_maximum), ""),
    "guard on one side": (guard_one_side, ""),
    "changes its input": (in_place, "in place"),
    "float32 inside": (float32_inside, ""),
    "factors along d_v": (wrong_axis, ""),
    "no leading axes": (two_axes_only, ""),
    "mixed as outputs": (by_lse, ""),
    "−10,000 for −∞": (finite_minimum, ""),
    "the first on ties": (first_on_ties, "ties"),
    "nothing on ties": (variant(nothing_on_ties), ""),
    "kept by shape": (kept_by_shape, ""),
    "two things": (lambda *p: my_merge(*p)[1:], "should return (m, l, acc)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, words = WRONG[name]
    with np.errstate(all="ignore"):
        assert_rejected(check_merge, answer, words)
