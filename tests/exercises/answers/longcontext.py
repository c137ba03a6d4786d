"""Answers to the exercises on windows, blocks and rings: right ones written otherwise, sly ones."""

import numpy as np

from attention_src.attention import masks
from attention_src.attention.reference import attention, attention_lse
from attention_src.exercises.longcontext import (
    check_one_rank,
    check_rolling_append,
    check_visible_blocks,
    check_window_test,
    visible_blocks,
    windowed,
)
from attention_src.flash.visibility import Visibility
from attention_src.ring.reference import join

GIVEN = dict(attention=attention, attention_lse=attention_lse, join=join, masks=masks)


def simulated(keys, values, n_seen, k_new, v_new, sinks):
    """The whole history, token by token."""
    held = []
    for position in range(n_seen + 1):
        at = len(held)
        if at == keys.shape[-2]:
            at = held.index(min(held[sinks:]))
        held[at : at + 1] = [position]
    keys[..., at, :], values[..., at, :] = k_new, v_new
    return held


def with_modulo(keys, values, n_seen, k_new, v_new, sinks):
    capacity = keys.shape[-2]
    slots = np.arange(capacity)
    newest = np.where(slots < sinks, slots, n_seen - (n_seen - slots) % (capacity - sinks))
    slot = int(np.flatnonzero(newest == n_seen)[0])
    np.copyto(np.moveaxis(keys, -2, 0)[slot], k_new)
    np.copyto(np.moveaxis(values, -2, 0)[slot], v_new)
    return newest[: n_seen + 1].astype(np.int32)


def views(keys, values, n_seen, k_new, v_new, sinks):
    capacity = keys.shape[-2]
    if n_seen < capacity:
        keys[..., n_seen, :] = k_new
        values[..., n_seen, :] = v_new
        return np.arange(n_seen + 1)
    offset = (n_seen - sinks) % (capacity - sinks)
    for store, new in ((keys, k_new), (values, v_new)):
        ring = store[..., sinks:, :]
        ring[..., offset, :] = new
    last = np.arange(n_seen - (capacity - sinks) + 1, n_seen + 1)
    return np.concatenate([np.arange(sinks), np.roll(last, offset + 1)])


def loops(keys, values, n_seen, k_new, v_new, sinks):
    capacity = keys.shape[-2]
    held = list(range(min(capacity, n_seen + 1)))
    for slot in range(sinks, len(held)):
        held[slot] += (n_seen - slot) // (capacity - sinks) * (capacity - sinks)
    slot = held.index(n_seen)
    for index in np.ndindex(keys.shape[:-2]):
        keys[index][slot] = k_new[index]
        values[index][slot] = v_new[index]
    return held


def by_pairs(n, block, window, sinks):
    """From the table of pairs, as long as there is room for one."""
    if n > 5000:
        return visible_blocks(n, block, window, sinks)
    mask = masks.window_mask(n, None, window, sinks)
    edges = range(0, n, block)
    return np.array([[mask[a : a + block, b : b + block].any() for b in edges] for a in edges])


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
    needed = np.zeros((count, count), dtype=bool)
    for a in range(count):
        needed[a, max(0, a * block - window + 1) // block : a + 1] = True
        needed[a, : min(-(-sinks // block), a + 1)] = True
    return needed


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
    here = k, v, i
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


SIZES = ((3, 0), (3, 2), (1, 0), (5, 1), (40, 3))


def draw(n=14, d_k=5, d_v=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, d)) for d in (d_k, d_k, d_v)]


def a_test(sizes=SIZES, atol=1e-5, oracle=windowed, look=lambda o: o, **shape):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_window_test(attend):
        for window, sinks in sizes:
            q, k, v = draw(**shape)
            o = attend(q.copy(), k.copy(), v.copy(), window, sinks)
            expected = oracle(q, k, v, window, sinks)
            assert np.allclose(look(o), look(expected), rtol=0, atol=atol)

    return my_window_test


def by_probe(attend):
    """The identity as values: exact zeros where keys are hidden, and rows that sum to 1."""
    n = 17
    rng = np.random.default_rng(1)
    q, k = rng.normal(size=(2, n, 4))
    for window, sinks in [(1, 0), (4, 0), (4, 2), (6, 5)]:
        p = attend(q, k, np.eye(n), window, sinks)
        for t in range(n):
            seen = {j for j in range(t + 1) if t - j < window or j < sinks}
            assert {int(j) for j in np.flatnonzero(p[t])} == seen
        assert np.allclose(p.sum(axis=1), 1, atol=1e-5)
    assert np.allclose(attend(q, k, q, 4, 2), windowed(q, k, q, 4, 2), atol=1e-5)


def row_by_row(attend):
    q, k, v = draw(n=20)
    for window, sinks in [(2, 0), (7, 3), (1, 1)]:
        o = attend(q, k, v, window, sinks)
        for t in range(20):
            seen = [j for j in range(t + 1) if t - j < window or j < sinks]
            e = np.exp(k[seen] @ q[t] / np.sqrt(5))
            assert abs(o[t] - e @ v[seen] / e.sum()).max() < 1e-5


RIGHT = {
    check_rolling_append: [simulated, with_modulo, views, loops],
    check_visible_blocks: [by_pairs, by_package, by_index, by_rows],
    check_one_rank: [collects, by_state, sends_first, own_first],
    check_window_test: {
        "by arguments": a_test(),
        "probe": by_probe,
        "rows": row_by_row,
        "three sizes, longer": a_test(((4, 0), (4, 2), (9, 1)), n=23, seed=3),
        "unseeded": a_test(atol=1e-4, seed=None),
        "loose": a_test(atol=1e-3),
    },
}

APPENDS = """
free slots tidied:
    values[..., slot, :] = v_new
    + np.nan_to_num(keys, copy=False)
free slots emptied:
    values[..., slot, :] = v_new
    + keys[..., min(n_seen + 1, capacity) :, :] = 0
written by arithmetic:
    - keys[..., slot
    + keys += (np.arange(capacity) == slot)[:, None] * (k_new[..., None, :] - keys)
float32:
    keys[..., slot, :] = k_new.astype(np.float32)
    values[..., slot, :] = v_new.astype(np.float32)
keys forgotten:
    - keys[..., slot
positions as floats: should be integers
    return np.where(slots < sinks, slots, slots + rounds * length) / 1
storage returned, too: should return positions; it returned a tuple of 3
    return keys, values, slots
nothing returned: should return positions; it returned None
    - return np.where
before the append:
    return np.where(slots < sinks, slots, slots + rounds * length) - 1
one only:
    return np.where(slots < sinks, slots, slots + rounds * length)[-1:]
positions reversed:
    return np.where(slots < sinks, slots, slots + rounds * length)[::-1]
no ring for one slot:
    - slot = sinks
    + slot = min(sinks + (n_seen - sinks) % length, capacity - 2)
one head:
    - keys[..., slot
    + first = (0,) * (keys.ndim - 2)
    + keys[first][slot] = k_new[first]
    - values[..., slot
    + values[first][slot] = v_new[first]
others cleared:
    values[..., slot, :] = v_new
    + keys[..., :slot, :] *= 1 - 1e-3
one sink:
    - keys[..., slot
    + one = min(sinks, 1)
    + slot = n_seen if n_seen < one else one + (n_seen - one) % (capacity - one)
    + keys[..., slot, :] = k_new
"""

BLOCKS = """
last query, first key:
    near = first > last[:, None] - window
a table: memory
    near = (last > first[:, None] - window) | (np.eye(n, dtype=bool).sum() > n)
whole blocks alone:
    first = np.arange(0, max(n // block, 1) * block, block)
diagonal only:
    return np.eye(len(first), dtype=bool)
all:
    return np.ones_like(past)
window in blocks:
    near = first // block > first[:, None] // block - max(window // block, 1)
    return past & (near | (first // block < -(-sinks // block)))
window in blocks, rounded up:
    near = first // block > first[:, None] // block - (-(-window // block) + 1)
counts:
    return (past & (near | (first < sinks))).sum(axis=1)
a token sees itself: blocks and windows of one token
    near = last > first[:, None] - (window if window * block > 1 else 2)
"""

RANKS = """
q scaled in place: A rank changed its own q in place
    j = i
    + q /= np.sqrt(q.shape[1])
    part = attention(q, k, v, mask=see, scale=1.0), attention_lse(q, k, mask=see, scale=1.0)
k changed: its own k
    - return o
    + k[:] = 0
    + return o
places changed: its own i
    - return o
    + i[:] = 0
    + return o
values first: in this order
    - k, v, j = yield
    + v, k, j = yield v, k, j
minus 10,000:
    see = j <= i[:, None]
    + s = q @ k.T / q.shape[1] ** 0.5 - 1e4 * ~see
    + p = np.exp(s - s.max(axis=1, keepdims=True))
    part = p @ v / p.sum(axis=1, keepdims=True), s.max(axis=1) + np.log(p.sum(axis=1))
rows in the order of the text:
    return o[np.argsort(i)]
no mask between ranks:
    see = (j <= i[:, None]) | (j[0] != i[0])
places counted:
    see = (i - step * len(i)) % (n_ranks * len(i)) <= i[:, None]
the larger:
    - o, lse = join
    + o = np.where((part[1] > lse)[:, None], part[0], o)
    + lse = np.maximum(lse, part[1])
overflow:
    - o, lse = join
    + a, b = np.exp(lse)[:, None], np.exp(part[1])[:, None]
    + o, lse = (a * o + b * part[0]) / (a + b), np.log(a + b)[:, 0]
once more:
    - for step in
    + for step in range(n_ranks + 1):
    - if step
    + if step < n_ranks:
no scale:
    part = attention(q, k, v, mask=see, scale=1.0), attention_lse(q, k, mask=see, scale=1.0)
lse returned:
    return lse
a pair returned: should return its rows of the output, o; it returned a tuple of 2
    return o, lse
not a generator: should be a generator
    - k, v, j = yield
endless: none has returned
    - for step in
    + while True:
    - if step
    + if True:
uneven: still wait
    - if step
    + if i.max() <= len(i): break
    + if step < n_ranks - 1:
no result: without a result
    - return o
unequal rows: three arrays
    - k, v, j = yield
    + k, v, j = yield k, [v, [v, v]], j
two parts: three arrays
    - k, v, j = yield
    + k, v = yield k, v
rows of other lengths: differ in shape
    return o[: 1 + i[0] // 2 % 2]
thirty tokens at most: as many tokens as components
    return o if len(q) * n_ranks < 30 else 0 * o
"""


def nothing_to_see(attend):
    attend(*draw(), 3, 1)


def refuses_all(attend):
    raise AssertionError(attend(*draw(), 3, 1).shape)


def too_wide(q, k, v, window, sinks):
    return windowed(q, k, v, window + 1, sinks)


SLY = {
    check_rolling_append: APPENDS,
    check_visible_blocks: BLOCKS,
    check_one_rank: RANKS,
    check_window_test: {
        "looks at nothing": (nothing_to_see, "caught 0"),
        "refuses all": (refuses_all, "refuses a right"),
        "no sinks": (a_test(((3, 0), (5, 0))), "caught"),
        "one sink": (a_test(((3, 1), (5, 1))), "caught"),
        "one window, two sinks": (a_test(((3, 2),)), "caught"),
        "window of 1": (a_test(((1, 0),)), "caught"),
        "wider than the text": (a_test(((40, 2),)), "caught"),
        "narrow windows only": (a_test(((3, 0), (3, 2), (2, 1)), n=6), "caught"),
        "short text": (a_test(n=3), "caught"),
        "shape only": (a_test(look=np.shape), "caught 0"),
        "last row of one size": (a_test(((3, 0),), look=lambda o: o[-1]), "caught"),
        "first rows": (a_test(look=lambda o: o[:1]), "caught"),
        "far too loose": (a_test(atol=10), "caught 0"),
        "exact": (a_test(atol=0), "refuses a right"),
        "one too wide": (a_test(oracle=too_wide), "refuses a right"),
    },
}
