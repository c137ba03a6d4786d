"""The worked solution, and wrong answers.

WRONG: code, and what the message must speak of ("" = any message).
"""

import numpy as np

from attention_src.attention.reference import attention, attention_lse
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


def counted(q, k, v, i, n_ranks):
    """Counts the places that come, as if ranks held their tokens in order."""
    o, lse, j = np.zeros((len(q), v.shape[1])), np.full(len(q), -np.inf), i
    for step in range(n_ranks):
        see = (i - step * len(i)) % (n_ranks * len(i)) <= i[:, None]
        o, lse = join(o, lse, attention(q, k, v, mask=see), attention_lse(q, k, mask=see))
        if step < n_ranks - 1:
            k, v, j = yield k, v, j
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


def own_changed(which):
    """Its own array is other than before, once the answer is there."""

    def answer(q, k, v, i, n_ranks):
        own = (q, k, v, i)[which]
        o = yield from one_rank(q, k, v, i, n_ranks)
        own[:] = 0
        return o

    return answer


def scaled_in_place(q, k, v, i, n_ranks):
    q /= np.sqrt(q.shape[1])
    return (yield from ring(scale=1.0)(q, k, v, i, n_ranks))


WRONG = {
    "q scaled in place": (scaled_in_place, "its own q"),
    "k changed": (own_changed(1), "its own k"),
    "v changed": (own_changed(2), "its own v"),
    "places changed": (own_changed(3), "its own i"),
    "values first": (swapped, "in this order"),
    "minus 1,000": (hidden_by(1e3), ""),
    "minus 10,000": (hidden_by(1e4), ""),
    "rows in the order of the text": (in_text_order, ""),
    "not causal": (ring(lambda i, j: j > -1 + 0 * i), "see later tokens"),
    "itself hidden": (ring(lambda i, j: j < i), "itself"),
    "no mask between ranks": (ring(lambda i, j: (j <= i) | (j[0] != i[0])), ""),
    "own only": (deaf, "never use what comes"),
    "places counted": (counted, ""),
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
