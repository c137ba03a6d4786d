"""Attention over pages: right answers pass, wrong ones do not and are told why.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.attention.reference import attention
from attention_src.exercises.kvcache import check_paged_attention
from attention_src.kvcache.reference import merge_partials


# The worked solution, in the words of the chapter.
def paged_attention(q, k_pages, v_pages, table, length):
    size = k_pages.shape[1]
    m, l, acc = -np.inf, 0.0, np.zeros(v_pages.shape[2])
    for start in range(0, length, size):
        page, filled = table[start // size], min(size, length - start)
        s = k_pages[page, :filled] @ q / np.sqrt(len(q))
        m_new = max(m, s.max())
        e, old = np.exp(s - m_new), np.exp(m - m_new)
        l = old * l + e.sum()
        acc = old * acc + e @ v_pages[page, :filled]
        m = m_new
    return acc / l if l else acc


def test_worked_solution_and_stub():
    assert_worked("kvcache", check_paged_attention, paged_attention)


# --- right -------------------------------------------------------------------------------------


def in_two_passes(q, k_pages, v_pages, table, length):
    """All scores first, which are few; then the values page by page."""
    size = k_pages.shape[1]
    scores = np.empty(length)
    for i in range(0, length, size):
        n = min(size, length - i)
        scores[i : i + n] = k_pages[table[i // size], :n] @ q / np.sqrt(len(q))
    if not length:
        return np.zeros(v_pages.shape[2])
    e = np.exp(scores - scores.max())
    o = np.zeros(v_pages.shape[2])
    for i in range(0, length, size):
        n = min(size, length - i)
        o += e[i : i + n] @ v_pages[table[i // size], :n]
    return o / e.sum()


def token_by_token(q, k_pages, v_pages, table, length):
    size = k_pages.shape[1]
    m, l, acc = -np.inf, 0.0, np.zeros(v_pages.shape[2])
    for j in range(length):
        at = table[j // size], j % size
        s = k_pages[at] @ q / len(q) ** 0.5
        m, before = max(m, s), m
        l = l * np.exp(before - m) + np.exp(s - m)
        acc = acc * np.exp(before - m) + np.exp(s - m) * v_pages[at]
    return acc / max(l, 1e-300)


def by_merging(q, k_pages, v_pages, table, length):
    size, parts, lses = k_pages.shape[1], [np.zeros(v_pages.shape[2])], [-np.inf]
    for i in range(0, length, size):
        n = min(size, length - i)
        k, v = (x[table[i // size], :n] for x in (k_pages, v_pages))
        s = k @ q / np.sqrt(len(q))
        parts.append(attention(q[None], k, v)[0])
        lses.append(s.max() + np.log(np.exp(s - s.max()).sum()))
    return merge_partials(np.array(parts), np.array(lses))[0]


def backwards(q, k_pages, v_pages, table, length):
    """The last page first: the order does not matter."""
    size = k_pages.shape[1]
    m, l, acc = -1e300, 0.0, np.zeros(v_pages.shape[2])
    for i in reversed(range(0, length, size)):
        n = min(size, length - i)
        s = np.einsum("kd,d->k", k_pages[table[i // size], :n], q) * len(q) ** -0.5
        new = np.maximum(m, s.max())
        l, acc = l * np.exp(m - new), acc * np.exp(m - new)
        e = np.exp(s - new)
        l, acc, m = l + e.sum(), acc + e @ v_pages[table[i // size], :n], new
    return np.divide(acc, l, out=np.zeros_like(acc), where=l > 0)


def first_maximum(q, k_pages, v_pages, table, length):
    """The maximum in a pass of its own, then nothing has to be rescaled."""
    size, scale = k_pages.shape[1], len(q) ** -0.5
    spans = [(table[i // size], min(size, length - i)) for i in range(0, length, size)]
    if not spans:
        return np.zeros(v_pages.shape[2])
    m = max((k_pages[p, :n] @ q).max() for p, n in spans) * scale
    e = [np.exp(k_pages[p, :n] @ q * scale - m) for p, n in spans]
    o = sum(x @ v_pages[p, :n] for x, (p, n) in zip(e, spans, strict=True))
    return o / sum(x.sum() for x in e)


def in_torch(q, k_pages, v_pages, table, length):
    torch = pytest.importorskip("torch")
    size, acc, lse = k_pages.shape[1], torch.zeros(v_pages.shape[2]).double(), -torch.inf
    q = torch.as_tensor(q)
    for i in range(0, length, size):
        n = min(size, length - i)
        k, v = (torch.as_tensor(x[table[i // size], :n]) for x in (k_pages, v_pages))
        s = k @ q / len(q) ** 0.5
        both = torch.logaddexp(torch.as_tensor(lse).double(), torch.logsumexp(s, 0))
        acc = acc * torch.exp(lse - both) + torch.exp(s - both) @ v
        lse = both
    return acc


RIGHT = {
    "worked solution": paged_attention,
    "two passes": in_two_passes,
    "token by token": token_by_token,
    "merging": by_merging,
    "backwards": backwards,
    "first the maximum": first_maximum,
    "torch": in_torch,
    "a list": lambda *x: paged_attention(*x).tolist(),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_paged_attention(RIGHT[name]).status == "passed"


# --- wrong -------------------------------------------------------------------------------------


def gathered(pages=None, end=lambda n, size: n, attend=attention):
    def answer(q, k_pages, v_pages, table, length):
        size = k_pages.shape[1]
        used = table[: -(-length // size)]
        used = used if pages is None else pages(used)
        k, v = (x[used].reshape(-1, x.shape[2])[: end(length, size)] for x in (k_pages, v_pages))
        return attend(q[None], k, v)[0]

    return answer


def tiled(scale=lambda q, v: len(q) ** -0.5, rescale=True, shift=True, dtype=float, m=-np.inf):
    def answer(q, k_pages, v_pages, table, length, m=m):
        q, k_pages, v_pages = (x.astype(dtype) for x in (q, k_pages, v_pages))
        size, l = k_pages.shape[1], 0.0
        acc = np.zeros(v_pages.shape[2], dtype)
        for i in range(0, length, size):
            n = min(size, length - i)
            s = k_pages[table[i // size], :n] @ q * dtype(scale(q, v_pages))
            new = max(m, s.max()) if shift else 0.0
            e, old = np.exp(s - new), np.exp(m - new) if rescale and shift else 1.0
            l, acc, m = old * l + e.sum(), old * acc + e @ v_pages[table[i // size], :n], new
        return acc / l if l else acc

    return answer


def mean_of_pages(q, k_pages, v_pages, table, length):
    size = k_pages.shape[1]
    if not length:
        return np.zeros(v_pages.shape[2])
    ends = [(table[i // size], min(size, length - i)) for i in range(0, length, size)]
    return np.mean([attention(q[None], k_pages[p, :n], v_pages[p, :n])[0] for p, n in ends], axis=0)


def page_and_slot_swapped(q, k_pages, v_pages, table, length):
    size = k_pages.shape[1]
    j = np.arange(length)
    pages = table[(j % max(-(-length // size), 1))]
    slots = j // max(-(-length // size), 1)
    return attention(q[None], k_pages[pages, slots], v_pages[pages, slots])[0]


def sorted_table(q, k_pages, v_pages, table, length):
    used = np.sort(table[: -(-length // k_pages.shape[1])])
    return paged_attention(q, k_pages, v_pages, used, length)


def nan_to_num(q, k_pages, v_pages, table, length):
    """Whole pages, with unused slots as zeros: each of them has a weight."""
    k_pages, v_pages = np.nan_to_num(k_pages), np.nan_to_num(v_pages)
    size = k_pages.shape[1]
    return paged_attention(q, k_pages, v_pages, table, -(-length // size) * size)


def no_empty_text(q, k_pages, v_pages, table, length):
    o = paged_attention(q, k_pages, v_pages, table, length)
    return o if length else o * np.nan


def in_place(q, k_pages, v_pages, table, length):
    np.nan_to_num(k_pages, copy=False)
    return paged_attention(q, k_pages, v_pages, table, length)


WRONG = {
    "gathered": (gathered(), "side by side"),
    "pages of the pool": (gathered(lambda used: np.arange(len(used))), "The table says"),
    "whole pages": (gathered(end=lambda n, size: -(-n // size) * size), "unfilled slots"),
    "last page dropped": (gathered(end=lambda n, size: n // size * size), "last page"),
    "one short": (gathered(end=lambda n, size: max(n - 1, 0)), "newest token"),
    "reversed table": (gathered(lambda used: used[::-1]), ""),
    "not rescaled": (tiled(rescale=False), ""),
    "not shifted": (tiled(shift=False), ""),
    "maximum from 0": (tiled(m=0.0), ""),
    "maximum from -10,000": (tiled(m=-1e4), ""),
    "not scaled": (tiled(lambda q, v: 1), ""),
    "scaled by d_v": (tiled(lambda q, v: v.shape[2] ** -0.5), ""),
    "scaled twice": (tiled(lambda q, v: 1 / len(q)), ""),
    "float32 inside": (tiled(dtype=np.float32), ""),
    "mean of pages": (mean_of_pages, "average the pages"),
    "page and slot swapped": (page_and_slot_swapped, ""),
    "sorted table": (sorted_table, ""),
    "unused slots as zeros": (nan_to_num, ""),
    "NaN for no token": (no_empty_text, ""),
    "in place": (in_place, "in place"),
    "values of keys": (lambda q, k, v, t, n: paged_attention(q, k, k, t, n), ""),
    "with an axis": (lambda *x: paged_attention(*x)[None], "shape"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_paged_attention, answer, spoken_of)
