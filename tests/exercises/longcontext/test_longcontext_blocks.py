"""Which blocks are needed: right answers pass, wrong ones do not and are told why.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.attention.masks import window_mask
from attention_src.costs.tiles import computed_pairs
from attention_src.exercises.longcontext import check_visible_blocks
from attention_src.exercises.longcontext.blocks import VISIBLE_BLOCKS
from attention_src.flash.visibility import Visibility


# The worked solution, in the words of the chapter.
def visible_blocks(n, block, window, sinks):
    first = np.arange(0, n, block)
    last = np.minimum(first + block, n) - 1
    past = first <= last[:, None]  # its first key, its last query
    near = last > first[:, None] - window
    return past & (near | (first < sinks))


def test_worked_solution_and_stub():
    assert_worked("longcontext", check_visible_blocks, visible_blocks)


def by_pairs(n, block, window, sinks):
    """From the table of pairs, as long as there is room for one."""
    if n > 5000:
        return visible_blocks(n, block, window, sinks)
    mask = window_mask(n, None, window, sinks)
    edges = range(0, n, block)
    return np.array([[mask[a : a + block, b : b + block].any() for b in edges] for a in edges])


def test_the_reference_agrees_with_pairs_and_with_the_bill():
    for case in VISIBLE_BLOCKS.all_cases():
        n, block, window, sinks = case.args
        needed = visible_blocks(*case.args)
        if n < 5000:
            np.testing.assert_array_equal(needed, by_pairs(*case.args))
        sizes = np.minimum(np.arange(0, n, block) + block, n) - np.arange(0, n, block)
        pairs = (needed * sizes[:, None] * sizes).sum()
        counted = computed_pairs(n, block=block, window=window, sinks=sinks)
        # The bill lets the keys of a tile end with its last query.
        assert pairs == counted or n % block


# --- right -------------------------------------------------------------------------------------


def loops(n, block, window, sinks):
    count = -(-n // block)
    needed = np.zeros((count, count), dtype=bool)
    for a in range(count):
        for b in range(a + 1):
            last_k = min((b + 1) * block, n) - 1
            needed[a, b] = last_k > a * block - window or b * block < sinks
    return needed


def by_package(n, block, window, sinks):
    see, count = Visibility(n, n, window=window, sinks=sinks), -(-n // block)
    needed = np.zeros((count, count), dtype=bool)
    for a in range(count):
        rows = slice(a * block, min((a + 1) * block, n))
        for keys in see.key_blocks(rows, block):
            needed[a, keys.start // block] = True
    return needed


def by_index(n, block, window, sinks):
    """On the numbers of blocks; every block that is a past one is whole but the last."""
    a = np.arange(-(-n // block))
    ahead = a[:, None] * block - window  # last key that is too old
    near = (a + 1) * block - 1 > ahead
    return (a <= a[:, None]) & (near | (a * block < sinks))


def by_rows(n, block, window, sinks):
    count = -(-n // block)
    rows = []
    for a in range(count):
        oldest = max(0, a * block - window + 1) // block
        row = np.zeros(count, dtype=bool)
        row[oldest : a + 1] = True
        row[: min(-(-sinks // block), a + 1)] = True
        rows.append(row)
    return np.array(rows)


def in_torch(n, block, window, sinks):
    torch = pytest.importorskip("torch")
    return torch.as_tensor(visible_blocks(n, block, window, sinks))


RIGHT = {
    "worked solution": visible_blocks,
    "pairs": by_pairs,
    "loops": loops,
    "package": by_package,
    "numbers": by_index,
    "rows": by_rows,
    "torch": in_torch,
    "lists": lambda *a: visible_blocks(*a).tolist(),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_visible_blocks(RIGHT[name]).status == "passed"


# --- wrong -------------------------------------------------------------------------------------


def with_table(n, block, window, sinks):
    """All pairs at once, which in the long case does not fit."""
    whole = np.zeros((n, n), dtype=bool)
    whole[-1, -1] = True
    return visible_blocks(n, block, window, sinks) | (whole.sum() > n * n)


def borders(query, key, early=True):
    def answer(n, block, window, sinks):
        first = np.arange(0, n, block)
        last = np.minimum(first + block, n) - 1
        of = {"first": first, "last": last}
        near = of[key] > of[query][:, None] - window
        return (first <= last[:, None]) & (near | ((first < sinks) & early))

    return answer


WRONG = {
    "causal": (lambda n, b, w, s: visible_blocks(n, b, n, s), "hides nothing"),
    "no sinks": (borders("first", "last", False), "sink"),
    "transposed": (lambda *a: visible_blocks(*a).T, "Queries go down"),
    "polarity": (lambda *a: ~visible_blocks(*a), "True ="),
    "too wide": (lambda n, b, w, s: visible_blocks(n, b, w + 1, s), "one key too many"),
    "too narrow": (lambda n, b, w, s: visible_blocks(n, b, w - 1, s), "one key too few"),
    "one sink more": (lambda n, b, w, s: visible_blocks(n, b, w, s + 1), "one block too many"),
    "last query": (borders("last", "last"), "moved on"),
    "first key": (borders("first", "first"), "Its last one may be"),
    "last query, first key": (borders("last", "first"), ""),
    "a table": (with_table, "memory"),
    "whole blocks alone": (
        lambda n, b, w, s: visible_blocks(max(n // b * b, b), b, w, s),
        "",
    ),
    "diagonal only": (lambda n, b, w, s: np.eye(-(-n // b), dtype=bool), ""),
    "all": (lambda n, b, w, s: np.ones((-(-n // b),) * 2, dtype=bool), ""),
    "pairs": (lambda n, b, w, s: window_mask(min(n, 99), None, w, s), ""),
    "window in blocks": (
        lambda n, b, w, s: window_mask(-(-n // b), None, max(w // b, 1), -(-s // b)),
        "",
    ),
    "window in blocks, rounded up": (
        lambda n, b, w, s: window_mask(-(-n // b), None, -(-w // b) + 1, -(-s // b)),
        "",
    ),
    "counts": (lambda *a: visible_blocks(*a).sum(axis=1), ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_visible_blocks, answer, spoken_of)


@pytest.mark.parametrize("mistake", VISIBLE_BLOCKS.mistakes, ids=lambda m: m.name)
def test_each_named_mistake_is_named(mistake):
    assert mistake.message[:30] in " ".join(VISIBLE_BLOCKS.run(mistake.wrong).message.split())
