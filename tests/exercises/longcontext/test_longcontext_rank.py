"""One rank of a ring: right answers pass, wrong ones do not and are told why.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.attention.reference import attention, attention_lse
from attention_src.exercises.longcontext import check_one_rank
from attention_src.exercises.longcontext.rank import ONE_RANK, drive
from attention_src.ring.reference import join


# The worked solution, in the words of the chapter.
def one_rank(q, k, v, i, n_ranks):
    o, lse = np.zeros((len(q), v.shape[-1])), np.full(len(q), -np.inf)
    j = i
    for step in range(n_ranks):
        see = j <= i[:, None]
        part = attention(q, k, v, mask=see), attention_lse(q, k, mask=see)
        o, lse = join(o, lse, *part)
        if step < n_ranks - 1:
            k, v, j = yield k, v, j
    return o


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


def ring(see=lambda i, j: j <= i, joins=join, steps=0, scale=None, sends=None, ends=None):
    """The solution, wrong in the way that an argument says."""

    def answer(q, k, v, i, n_ranks):
        o, lse, j = np.zeros((len(q), v.shape[1])), np.full(len(q), -np.inf), i
        own = k, v, i
        for step in range(n_ranks + steps):
            mask = see(i[:, None], j)
            options = dict(mask=mask, scale=scale)
            part = attention(q, k, v, **options), attention_lse(q, k, **options)
            o, lse = joins(o, lse, *part)
            if step < n_ranks + steps - 1:
                k, v, j = yield (k, v, j) if sends is None else sends(own, (k, v, j))
        return o if ends is None else ends(o, lse)

    return answer


def averaged(q, k, v, i, n_ranks):
    o, j = np.zeros((len(q), v.shape[1])), i
    for step in range(n_ranks):
        o = o + attention(q, k, v, mask=j <= i[:, None]) / n_ranks
        if step < n_ranks - 1:
            k, v, j = yield k, v, j
    return o


def no_ring(q, k, v, i, n_ranks):
    return attention(q, k, v, mask=i <= i[:, None])


def deaf(q, k, v, i, n_ranks):
    for _ in range(n_ranks - 1):
        yield k, v, i
    return attention(q, k, v, mask=i <= i[:, None])


def home(q, k, v, i, n_ranks):
    o, lse = np.zeros((len(q), v.shape[1])), np.full(len(q), -np.inf)
    for step in range(n_ranks):
        see = i <= i[:, None]
        o, lse = join(o, lse, attention(q, k, v, mask=see), attention_lse(q, k, mask=see))
        if step < n_ranks - 1:
            k, v, _ = yield k, v, i
    return o


def last_unused(q, k, v, i, n_ranks):
    o, lse, j = np.zeros((len(q), v.shape[1])), np.full(len(q), -np.inf), i
    for step in range(n_ranks):
        if step < max(n_ranks - 1, 1):
            see = j <= i[:, None]
            o, lse = join(o, lse, attention(q, k, v, mask=see), attention_lse(q, k, mask=see))
        if step < n_ranks - 1:
            k, v, j = yield k, v, j
    return o


def endless(q, k, v, i, n_ranks):
    while True:
        k, v, i = yield k, v, i


def uneven(q, k, v, i, n_ranks):
    """Ranks with early tokens stop when nothing more can be seen."""
    j, o, lse = i, np.zeros((len(q), v.shape[1])), np.full(len(q), -np.inf)
    for step in range(n_ranks):
        see = j <= i[:, None]
        o, lse = join(o, lse, attention(q, k, v, mask=see), attention_lse(q, k, mask=see))
        if step < n_ranks - 1 and i.max() > len(i):
            k, v, j = yield k, v, j
        else:
            break
    return o


def two_parts(q, k, v, i, n_ranks):
    for _ in range(n_ranks - 1):
        k, v = yield k, v
    return v


def silent(q, k, v, i, n_ranks):
    yield from one_rank(q, k, v, i, n_ranks)


def added(o, lse, part, lse_part):
    return o + part, np.logaddexp(lse, lse_part)


def by_maximum(o, lse, part, lse_part):
    """The part with the larger lse takes it all."""
    more = (lse_part > lse)[:, None]
    return np.where(more, part, o), np.maximum(lse, lse_part)


def once_more(q, k, v, i, n_ranks):
    o = yield from one_rank(q, k, v, i, n_ranks)
    yield k, v, i
    return o


def plain_exp(o, lse, part, lse_part):
    """exp(lse) without a shift: overflows."""
    a, b = np.exp(lse)[:, None], np.exp(lse_part)[:, None]
    return (a * o + b * part) / (a + b), np.log(np.exp(lse) + np.exp(lse_part))


def swapped(q, k, v, i, n_ranks):
    """Values first: ranks of one's own understand one another, others would not."""
    o, lse, j = np.zeros((len(q), v.shape[1])), np.full(len(q), -np.inf), i
    for step in range(n_ranks):
        see = j <= i[:, None]
        o, lse = join(o, lse, attention(q, k, v, mask=see), attention_lse(q, k, mask=see))
        if step < n_ranks - 1:
            v, k, j = yield v, k, j
    return o


def hidden_by(penalty):
    """Hidden scores are made smaller, which is not enough where scores are large."""

    def answer(q, k, v, i, n_ranks):
        o, lse, j = np.zeros((len(q), v.shape[1])), np.full(len(q), -np.inf), i
        for step in range(n_ranks):
            s = q @ k.T / q.shape[1] ** 0.5 - penalty * (j > i[:, None])
            m = s.max(axis=1)
            p = np.exp(s - m[:, None])
            l = p.sum(axis=1)
            o, lse = join(o, lse, p @ v / l[:, None], m + np.log(l))
            if step < n_ranks - 1:
                k, v, j = yield k, v, j
        return o

    return answer


def in_text_order(q, k, v, i, n_ranks):
    o = yield from one_rank(q, k, v, i, n_ranks)
    return o[np.argsort(i)]


WRONG = {
    "values first": (swapped, "in this order"),
    "minus 1,000": (hidden_by(1e3), ""),
    "minus 10,000": (hidden_by(1e4), ""),
    "rows in the order of the text": (in_text_order, ""),
    "not causal": (ring(lambda i, j: j > -1 + 0 * i), "see later tokens"),
    "itself hidden": (ring(lambda i, j: j < i), "itself"),
    "no mask between ranks": (ring(lambda i, j: (j <= i) | (j[0] != i[0])), ""),
    "own only": (deaf, "never use what comes"),
    "places at home": (home, "your own positions"),
    "own sent": (ring(sends=lambda own, here: own), "your own keys each time"),
    "added": (ring(joins=added), "average of its own"),
    "averaged": (averaged, "not evenly"),
    "the larger": (ring(joins=by_maximum), ""),
    "overflow": (ring(joins=plain_exp), ""),
    "once more": (ring(steps=1), ""),
    "sent once more": (once_more, "R − 1 times"),
    "last unused": (last_unused, "not used"),
    "no scale": (ring(scale=1.0), ""),
    "lse returned": (ring(ends=lambda o, lse: lse), ""),
    "not a generator": (no_ring, "generator"),
    "endless": (endless, "none has returned"),
    "uneven": (uneven, "still wait"),
    "no result": (silent, "without a result"),
    "two parts": (two_parts, "three arrays"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_one_rank, answer, spoken_of)
