"""One rank of a ring: right answers pass, wrong ones do not and are told why."""

import numpy as np
import pytest
from rank_answers import WRONG, one_rank
from worked import assert_rejected, assert_worked

from attention_src.attention.reference import attention, attention_lse
from attention_src.exercises.longcontext import check_one_rank
from attention_src.exercises.longcontext.rank import ONE_RANK, drive
from attention_src.ring.reference import join


def test_worked_solution_and_stub():
    assert_worked("longcontext", check_one_rank, one_rank)


def test_the_cases_are_what_one_device_computes():
    for case in ONE_RANK.all_cases():
        q, k, v, i = case.args
        o, sent = drive(one_rank)(*case.args)
        flat = [x.reshape(-1, x.shape[-1]) for x in (q, k, v)]
        see = i.ravel() <= i.reshape(-1, 1)
        np.testing.assert_allclose(o.reshape(flat[2].shape), attention(*flat, mask=see), atol=1e-9)
        assert (sent == len(q) - 1).all()


# --- right -------------------------------------------------------------------------------------


def collects(q, k, v, i, n_ranks):
    """Keeps all that comes, and attends once, at the end: more memory, same answer."""
    parts = [(k, v, i)]
    for _ in range(n_ranks - 1):
        parts.append((yield parts[-1]))
    k, v, j = (np.concatenate(x) for x in zip(*parts, strict=True))
    return attention(q, k, v, mask=j <= i[:, None])


def by_state(q, k, v, i, n_ranks):
    """With m, l and acc."""
    m, l = np.full((len(q), 1), -np.inf), np.zeros((len(q), 1))
    acc, j = np.zeros((len(q), v.shape[1])), i
    for step in range(n_ranks):
        s = np.where(j <= i[:, None], q @ k.T / np.sqrt(q.shape[1]), -np.inf)
        new = np.maximum(m, s.max(axis=1, keepdims=True))
        safe = np.where(new == -np.inf, 0, new)
        e, old = np.exp(s - safe), np.exp(m - safe)
        m, l, acc = new, old * l + e.sum(axis=1, keepdims=True), old * acc + e @ v
        if step + 1 < n_ranks:
            k, v, j = yield k, v, j
    return acc / l


def sends_first(q, k, v, i, n_ranks):
    """Hands on before it computes."""
    here, o, lse = (k, v, i), 0, -np.inf
    o, lse = np.zeros((len(q), v.shape[1])), np.full(len(q), -np.inf)
    for step in range(n_ranks):
        coming = (yield here) if step < n_ranks - 1 else None
        k, v, j = here
        see = j <= i[:, None]
        o, lse = join(o, lse, attention(q, k, v, mask=see), attention_lse(q, k, mask=see))
        here = coming
    return o


def own_first(q, k, v, i, n_ranks):
    """Its own keys before the loop, so that lse is never −∞."""
    see = i <= i[:, None]
    o, lse = attention(q, k, v, mask=see), attention_lse(q, k, mask=see)
    j = i
    for _ in range(n_ranks - 1):
        k, v, j = yield (k, v, j)
        see = j <= i[:, None]
        part, part_lse = attention(q, k, v, mask=see), attention_lse(q, k, mask=see)
        both = np.logaddexp(lse, part_lse)
        o = np.exp(lse - both)[:, None] * o + np.exp(part_lse - both)[:, None] * part
        lse = both
    return o


def delegates(q, k, v, i, n_ranks):
    return (yield from one_rank(q, k, v, i, n_ranks))


RIGHT = [one_rank, collects, by_state, sends_first, own_first, delegates]


@pytest.mark.parametrize("answer", RIGHT)
def test_right_answers_pass(answer):
    assert check_one_rank(answer).status == "passed"


# --- wrong -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_one_rank, answer, spoken_of)
