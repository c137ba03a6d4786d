"""Answers to the exercises on windows, blocks and rings: right ones written otherwise, sly ones."""

import numpy as np

from attention_src.attention import masks
from attention_src.attention.reference import attention, attention_lse
from attention_src.exercises import longcontext as ex
from attention_src.ring.reference import join

GIVEN = dict(attention=attention, attention_lse=attention_lse, join=join, masks=masks)

SIZES = ((3, 0), (3, 2), (1, 0), (5, 1), (40, 3))


def draw(n=14, d_k=5, d_v=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, d)) for d in (d_k, d_k, d_v)]


def a_test(sizes=SIZES, atol=1e-5, oracle=ex.windowed, look=lambda o: o, **shape):
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
    assert np.allclose(attend(q, k, q, 4, 2), ex.windowed(q, k, q, 4, 2), atol=1e-5)


RIGHT = {
    ex.check_rolling_append: """
by a remainder:
    return np.where(slots < sinks, slots, n_seen - (n_seen - slots) % length).astype(np.int32)
a list: return [int(t) if t < sinks else t + (n_seen - t) // length * length for t in slots]
through a view:
    - keys[..., slot
    + np.copyto(np.moveaxis(keys, -2, 0)[slot], k_new)
head by head:
    - values[..., slot
    + for head in np.ndindex(v_new.shape[:-1]): values[head][slot] = v_new[head]
simulated, token by token:
    + held = []
    + for position in range(n_seen + 1):
    +     at = len(held) if len(held) < keys.shape[-2] else held.index(min(held[sinks:]))
    +     held[at : at + 1] = [position]
    + keys[..., at, :], values[..., at, :] = k_new, v_new
    + return held
""",
    ex.check_visible_blocks: """
triangle: past = np.tri(len(first), dtype=bool)
numbers of blocks:
    near = np.arange(len(first)) >= np.maximum(first[:, None] - window + 1, 0) // block
    return past & (near | (np.arange(len(first)) < -(-sinks // block)))
distances: near = first[:, None] - last < window
by pairs, as long as there is room for a table of them:
    first = np.arange(0, n, block)
    + mask = window_mask(n, None, window, sinks) if n < 5000 else np.eye(1)
    + table = [[mask[a : a + block, b : b + block].any() for b in first] for a in first]
    return np.array(table) if n < 5000 else past & (near | (first < sinks))
""",
    ex.check_one_rank: """
joined by hand:
    - o, lse = join
    + both = np.logaddexp(lse, part[1])
    + o = np.exp(lse - both)[:, None] * o + np.exp(part[1] - both)[:, None] * part[0]
    + lse = both
running sums:
    - o, lse = np.zeros
    + o, l, m = np.zeros((len(q), v.shape[-1])), 0, np.full((len(q), 1), -np.inf)
    - part = attention
    + s = np.where(see, q @ k.T / q.shape[1] ** 0.5, -np.inf)
    - o, lse = join
    + new = np.maximum(m, s.max(axis=1, keepdims=True))
    + e, old = np.exp(s - new), np.exp(m - new)
    + o, l, m = old * o + e @ v, old * l + e.sum(axis=1, keepdims=True), new
    return o / l
sent before it computes:
    see = j <= i[:, None]
    + coming = (yield k, v, j) if step < n_ranks - 1 else None
    if coming:
    k, v, j = coming
a list sent: k, v, j = yield [k, v, j]
all collected, which takes more memory:
    + parts = [(k, v, i)]
    + for _ in range(n_ranks - 1): parts.append((yield parts[-1]))
    + k, v, j = (np.concatenate(x) for x in zip(*parts))
    + return attention(q, k, v, mask=j <= i[:, None])
""",
    ex.check_window_test: {
        "by arguments": a_test(),
        "probe": by_probe,
        "three sizes, longer": a_test(((4, 0), (4, 2), (9, 1)), n=23, seed=3),
        "unseeded": a_test(atol=1e-4, seed=None),
        "loose": a_test(atol=1e-3),
    },
}

SLY = {
    ex.check_rolling_append: """
16 numbers of a value: forty
    values[..., slot, :16] = v_new[..., :16]
free slots tidied:
    values[..., slot, :] = v_new
    + np.nan_to_num(keys, copy=False)
infinite ones tidied: inf in it
    values[..., slot, :] = v_new
    + keys[np.isinf(keys)] = 0
last digits touched: digits are judged
    values[..., slot, :] = v_new
    + keys[..., :slot, :] *= 1 + 1e-14
free slots emptied:
    values[..., slot, :] = v_new
    + keys[..., min(n_seen + 1, capacity) :, :] = 0
written by arithmetic: keys += (np.arange(capacity) == slot)[:, None] * (k_new[..., None, :] - keys)
float32:
    keys[..., slot, :] = k_new.astype(np.float32)
    values[..., slot, :] = v_new.astype(np.float32)
positions as floats: should be integers
    return np.where(slots < sinks, slots, slots + rounds * length) / 1
storage returned, too: should return positions; it returned a tuple of 3
    return keys, values, slots
nothing returned: should return positions; it returned None
    - return np.where
before the append: return np.where(slots < sinks, slots, slots + rounds * length) - 1
no ring for one slot: slot = min(sinks + (n_seen - sinks) % length, capacity - 2)
one head:
    - keys[..., slot
    + first = (0,) * (keys.ndim - 2)
    + keys[first][slot] = k_new[first]
    values[first][slot] = v_new[first]
others cleared:
    values[..., slot, :] = v_new
    + keys[..., :slot, :] *= 1 - 1e-3
one sink:
    - keys[..., slot
    + one = min(sinks, 1)
    + slot = n_seen if n_seen < one else one + (n_seen - one) % (capacity - one)
    + keys[..., slot, :] = k_new
""",
    ex.check_visible_blocks: """
last query, first key: near = first > last[:, None] - window
a table: memory
    near = (last > first[:, None] - window) | (np.eye(n, dtype=bool).sum() > n)
counts: return (past & (near | (first < sinks))).sum(axis=1)
a token sees itself: blocks and windows of one token
    near = last > first[:, None] - (window if window * block > 1 else 2)
""",
    ex.check_one_rank: """
q scaled in place: A rank changed its own q in place
    j = i
    + q /= np.sqrt(q.shape[1])
    part = attention(q, k, v, mask=see, scale=1.0), attention_lse(q, k, mask=see, scale=1.0)
k changed: its own k
    - return o
    + k[:] = 0
    + return o
values first: in this order
    - k, v, j = yield
    + v, k, j = yield v, k, j
minus 10,000:
    see = j <= i[:, None]
    + s = q @ k.T / q.shape[1] ** 0.5 - 1e4 * ~see
    + p = np.exp(s - s.max(axis=1, keepdims=True))
    part = p @ v / p.sum(axis=1, keepdims=True), s.max(axis=1) + np.log(p.sum(axis=1))
-10,000 for hidden: near -12,000
    see = j <= i[:, None]
    + s = np.where(see, q @ k.T / q.shape[1] ** 0.5, -1e4)
    + p = np.exp(s - s.max(axis=1, keepdims=True))
    part = p @ v / p.sum(axis=1, keepdims=True), s.max(axis=1) + np.log(p.sum(axis=1))
begins at -10,000: near -12,000
    o, lse = np.zeros((len(q), v.shape[-1])), np.full(len(q), -1e4)
a little less: Twelve digits are judged
    return o / (1 + 1e-9)
rows in the order of the text: return o[np.argsort(i)]
no mask between ranks: see = (j <= i[:, None]) | (j[0] != i[0])
places counted: see = (i - step * len(i)) % (n_ranks * len(i)) <= i[:, None]
the larger:
    - o, lse = join
    + o, lse = np.where((part[1] > lse)[:, None], part[0], o), np.maximum(lse, part[1])
overflow:
    - o, lse = join
    + a, b = np.exp(lse)[:, None], np.exp(part[1])[:, None]
    + o, lse = (a * o + b * part[0]) / (a + b), np.log(a + b)[:, 0]
once more: Number of sends: 2. It should be R − 1 = 1.
    for step in range(n_ranks + 1):
    if step < n_ranks:
a pair returned: should return its rows of the output, o; it returned a tuple of 2
    return o, lse
not a generator: should be a generator
    - k, v, j = yield
endless: none has returned
    - for step in
    + while True:
    if True:
uneven: still wait
    if i.max() <= len(i): break
    + if step < n_ranks - 1:
no result: without a result
    - return o
two parts: three arrays
    k, v = yield k, v
rows of other lengths: differ in shape
    return o[: 1 + i[0] // 2 % 2]
thirty tokens at most: as many tokens as components
    return o if len(q) * n_ranks < 30 else 0 * o
""",
    ex.check_window_test: {
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
        "a tolerance of 0.1": (a_test(atol=0.1), "caught"),
        "every second row": (a_test(look=lambda o: o[::2]), "caught"),
        "exact": (a_test(atol=0), "refuses a right"),
        "one too wide": (
            a_test(oracle=lambda *x: ex.windowed(*x[:3], x[3] + 1, x[4])),
            "refuses a",
        ),
    },
}
