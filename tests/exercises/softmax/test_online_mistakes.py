"""Mistakes that people make in the online softmax are named by its check."""

import numpy as np
import pytest
from worked import assert_rejected

from attention_src.exercises.softmax import check_online_softmax


def my_online_softmax(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m_new = max(m, np.max(block))
        if m_new == -np.inf:  # nothing visible so far
            continue
        l = l * np.exp(m - m_new) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def my_softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def forgets_to_rescale(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m = max(m, block.max())
        if m > -np.inf:
            l += np.exp(block - m).sum()
    return m, l


def forgets_to_rescale_and_to_guard(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m = max(m, block.max())
        l = l + np.exp(block - m).sum()
    return m, l


def rescales_upside_down(blocks):
    first = next(blocks)
    m, l = first.max(), np.exp(first - first.max()).sum()
    for block in blocks:
        m_new = max(m, block.max())
        l = l * np.exp(m_new - m) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def rescales_upside_down_from_nothing(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m_new = max(m, block.max())
        l = l * np.exp(m_new - m) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def maximum_of_the_last_block(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m_new = block.max()
        if m_new == -np.inf:
            continue
        l = l * np.exp(m - m_new) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def blocks_against_their_own_maximum(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        top = block.max()
        if top == -np.inf:
            continue
        l = l * np.exp(m - max(m, top)) + np.exp(block - top).sum()
        m = max(m, top)
    return m, l


def starts_at_zero(blocks):
    m, l = 0.0, 0.0
    for block in blocks:
        m_new = max(m, block.max())
        l = l * np.exp(m - m_new) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def sums_raw_exponentials(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m = max(m, block.max())
        l += np.exp(block).sum()
    return m, l


def no_guard(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m_new = max(m, block.max())
        l = l * np.exp(m - m_new) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def overwrites(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m = max(m, block.max())
        if m > -np.inf:
            l = np.exp(block - m).sum()
    return m, l


def returns_lse(blocks):
    m, l = my_online_softmax(blocks)
    return m, m + np.log(l)


def swapped(blocks):
    m, l = my_online_softmax(blocks)
    return l, m


def returns_weights(blocks):
    return my_softmax(np.concatenate(list(blocks)))


def loops_twice(blocks):
    m = max(block.max() for block in blocks)
    return m, sum(np.exp(block - m).sum() for block in blocks)


def keeps_the_blocks(blocks):
    blocks = list(blocks)
    m = max(block.max() for block in blocks)
    return m, 0.0 if m == -np.inf else sum(np.exp(block - m).sum() for block in blocks)


def subtracts_in_place(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m_new = max(m, block.max())
        if m_new > -np.inf:
            block -= m_new
            l = l * np.exp(m - m_new) + np.exp(block).sum()
            m = m_new
    return m, l


def takes_it_for_a_list(blocks):
    return my_online_softmax(blocks[i] for i in range(len(blocks)))


WRONG = {
    forgets_to_rescale: "forgot to rescale the running sum",
    forgets_to_rescale_and_to_guard: "forgot to rescale the running sum",
    rescales_upside_down: "the old sum must shrink",
    rescales_upside_down_from_nothing: "the old sum must shrink",
    maximum_of_the_last_block: "The running maximum never falls",
    blocks_against_their_own_maximum: "each block's own maximum",
    starts_at_zero: "Start from −inf",
    sums_raw_exponentials: "without subtracting the maximum",
    no_guard: "−inf − (−inf) is not a number. While only −inf has been seen",
    overwrites: "Your sum holds the last block only",
    returns_lse: "log-sum-exp",
    swapped: "the maximum first",
    returns_weights: "should return (m, l); it returned",
    loops_twice: "They come once",
    keeps_the_blocks: "0.1 MB is ample",
    subtracts_in_place: "changed its input blocks in place",
    takes_it_for_a_list: "has no len()",
}


@pytest.mark.parametrize("answer", WRONG, ids=lambda f: f.__name__)
def test_wrong_answers_that_people_give(answer):
    assert_rejected(check_online_softmax, answer, WRONG[answer])
