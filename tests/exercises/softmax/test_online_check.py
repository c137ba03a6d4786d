"""The check of the online softmax: right answers of every style pass, wrong ones are refused."""

import numpy as np
import pytest
from worked import assert_worked

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


def score_by_score(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        for x in block.tolist():
            if x > m:
                m, l = x, l * np.exp(m - x) + 1
            elif x > -np.inf:
                l += np.exp(x - m)
    return m, l


def two_passes(blocks):
    m = max(block.max() for block in blocks)
    return m, 0.0 if m == -np.inf else sum(np.exp(block - m).sum() for block in blocks)


def by_pairs(blocks):
    m, l = my_online_softmax([next(blocks)])
    for block in blocks:
        m_b, l_b = my_online_softmax([block])
        top = max(m, m_b)
        l = 0.0 if top == -np.inf else l * np.exp(m - top) + l_b * np.exp(m_b - top)
        m = top
    return m, l


def by_logarithms(blocks):
    m = lse = -np.inf
    for block in blocks:
        m, lse = max(m, block.max()), np.logaddexp(lse, np.logaddexp.reduce(block))
    return m, 0.0 if m == -np.inf else np.exp(lse - m)


def with_where(blocks):
    m, l = np.array(-np.inf), np.array(0.0)
    for block in blocks:
        m_new = np.maximum(m, block.max())
        safe = np.where(m_new == -np.inf, 0, m_new)
        l = l * np.exp(m - safe) + np.exp(block - safe).sum()
        m = m_new
    return m, l


def by_torch(blocks):
    torch = pytest.importorskip("torch")
    m, l = torch.tensor(-torch.inf, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64)
    for block in map(torch.tensor, blocks):
        m_new = torch.maximum(m, block.max())
        if m_new > -torch.inf:
            l = l * torch.exp(m - m_new) + torch.exp(block - m_new).sum()
            m = m_new
    return m, l


RIGHT = {
    "score by score": score_by_score,
    "by pairs": by_pairs,
    "logaddexp": by_logarithms,
    "np.where": with_where,
    "torch": by_torch,
    "a list": lambda blocks: list(my_online_softmax(blocks)),
}


def skips_equal(blocks):
    m = -np.inf
    for block in blocks:
        if block.max() != m:
            yield block
        m = max(m, block.max())


def first(n):
    return lambda blocks: my_online_softmax([b for i, b in enumerate(blocks) if i < n])


def changed(m_of=lambda m: m, l_of=lambda l: l):
    """Right but for what is done to m and l at the end."""

    def answer(blocks):
        m, l = my_online_softmax(blocks)
        return m_of(m), l_of(l)

    return answer


def on(f):
    """Right but for what is done to the blocks first."""
    return lambda blocks: my_online_softmax(f(block) for block in blocks)


def remembers():
    seen = []

    def answer(blocks):
        seen.extend(blocks)
        return my_online_softmax(seen)

    return answer


def stops_at_a_hidden_block(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m_new = max(m, block.max())
        if m_new == -np.inf:
            break
        l = l * np.exp(m - m_new) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def finite_start(blocks):
    m, l = -1e9, 0.0
    for block in blocks:
        m_new = max(m, block.max())
        l = l * np.exp(m - m_new) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


SLY = {
    "whole maxima": changed(lambda m: int(m) if np.isfinite(m) else m),
    "two passes": two_passes,
    "two passes over a kept list": lambda blocks: two_passes(list(blocks)),
    "from the end of a kept list": lambda blocks: my_online_softmax(list(blocks)[::-1]),
    "the first two blocks": first(2),
    "the first hundred blocks": first(100),
    "the first hundred scores": on(lambda block: block[:100]),
    "joined": lambda blocks: my_online_softmax([np.concatenate(list(blocks))]),
    "stops at a hidden block": stops_at_a_hidden_block,
    "starts from −10^9": finite_start,
    "−inf taken for −10^4": on(lambda block: np.maximum(block, -1e4)),
    "equal scores skipped": lambda blocks: my_online_softmax(skips_equal(blocks)),
    "NaN if all is hidden": changed(l_of=lambda l: l if l else np.nan),
    "1 if all is hidden": changed(l_of=lambda l: l if l else 1.0),
    "0 if all is hidden": changed(m_of=lambda m: m if m > -np.inf else 0.0),
    "blocks with a hidden key skipped": lambda blocks: my_online_softmax(
        [b for b in blocks if np.isfinite(b).all()] or [np.array([-np.inf])]
    ),
    "clipped": on(lambda block: np.clip(block, -1000, 1000)),
    "float32 inside": on(lambda block: block.astype(np.float32).astype(float)),
    "doubles lost": on(np.unique),
    "arrays of one": changed(np.atleast_1d, np.atleast_1d),
    "remembers the last case": remembers(),
    "blocks stacked": lambda blocks: my_online_softmax(list(np.stack(list(blocks)))),
    "sorted in place": on(lambda block: (block.sort(), block)[1]),
}


def test_the_worked_solution_and_a_stub():
    assert_worked("softmax", check_online_softmax, my_online_softmax)


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_written_differently(name):
    assert check_online_softmax(RIGHT[name]), name


@pytest.mark.parametrize("name", SLY)
def test_answers_that_are_nearly_right(name):
    assert check_online_softmax(SLY[name]).status == "wrong", name
