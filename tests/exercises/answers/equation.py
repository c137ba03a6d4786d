"""Answers to the exercises on the equation: right ones written otherwise, and sly ones."""

import math

import numpy as np

from attention_src.exercises import equation as ex


def by_query(q, k, v, mask=None):
    o = np.zeros((*q.shape[:-1], v.shape[-1]))
    full = np.broadcast_to(True if mask is None else mask, (*q.shape[:-1], k.shape[-2]))
    for i in np.ndindex(q.shape[:-1]):
        front = i[:-1]
        keys = [j for j in range(k.shape[-2]) if full[i][j]]
        s = [float(q[i] @ k[front][j]) / math.sqrt(q.shape[-1]) for j in keys]
        e = [math.exp(x - max(s)) for x in s]
        for j, x in zip(keys, e, strict=True):
            o[i] += x / math.fsum(e) * v[front][j]
    return o


ATTENTIONS = """
einsum:
    - s = q @
    + s = np.einsum("...qd,...kd->...qk", q, k) / np.sqrt(q.shape[-1])
    return np.einsum("...qk,...kd->...qd", e / np.where(l == 0, 1, l), v)
divided at the end, where it can be:
    return np.divide(e @ v, l, out=np.zeros((*s.shape[:-1], v.shape[-1])), where=l > 0)
powers of 2: e = np.exp2((s - np.where(m == -np.inf, 0, m)) / np.log(2))
added:
    s = s + np.where(mask, 0.0, -np.inf)
    e = np.exp(s - m)
    return np.nan_to_num(e / l) @ v
low, then zeroed:
    s = np.where(mask, s, -1e30)
    return e / l * (1 if mask is None else mask) @ v
"""


SIZES = {
    "different": ((5, 7), (20, 7), (20, 3)),
    "square": ((6, 7), (6, 7), (6, 3)),
    "cube": ((4, 4, 4),) * 3,
}


def draw(name, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=size) for size in SIZES[name]]


def large(seed=0):
    q, k, v = draw("cube", seed)
    return q * np.array([1000, 1, 300, 50])[:, None], k, v


def a_test(
    names=tuple(SIZES),
    big=True,
    atol=1e-5,
    big_atol=1e-2,
    oracle=ex.my_attention,
    seeds=1,
    looks=3,
    same_shape=True,
):
    def my_attention_test(attention):
        for seed in range(seeds):
            for name in names:
                q, k, v = draw(name, seed)
                kept = [x.copy() for x in (q, k, v)]
                o, right = attention(q, k, v), oracle(*kept)
                assert np.allclose(o, right, rtol=0, atol=atol), name
                assert not same_shape or o.shape == right.shape
                assert all(map(np.array_equal, kept[:looks], (q, k, v)))
            if big:
                q, k, v = large(seed)
                right = oracle(q, k, v)
                assert np.allclose(attention(q, k, v), right, rtol=0, atol=big_atol)

    return my_attention_test


def probes(attention):
    """With the identity as values the output is the weights."""
    q, k, _ = draw("different", 20)
    e = np.exp(q @ k.T / np.sqrt(7))
    assert np.allclose(attention(q, k, np.eye(20)), e / e.sum(1, keepdims=True), atol=1e-5)
    a_test(("square", "cube"))(attention)


def locked(attention):
    """Hands over arrays that nobody may write to."""
    for name in SIZES:
        q, k, v = draw(name)
        for x in (q, k, v):
            x.flags.writeable = False
        try:
            o = attention(q, k, v)
        except ValueError:
            raise AssertionError("it writes to its inputs") from None
        assert o.ndim == q.ndim
        assert abs(o - ex.my_attention(q, k, v)).max() < 1e-5
    a_test(())(attention)


RIGHT = {
    ex.check_attention: [ATTENTIONS, [by_query]],
    ex.check_attention_by_rows: """
joined:
    o = []
    o.append(e @ v / e.sum(axis=1, keepdims=True))
    return np.concatenate(o)
one by one: for i, rows in enumerate([1] * len(q)):
from the end: for i in reversed(range(0, len(q), rows)):
weights first:
    s = q[i : i + rows] / np.sqrt(q.shape[1]) @ k.T
    o[i : i + rows] = e / e.sum(axis=1, keepdims=True) @ v
a running softmax, which the exercise does not ask for:
    - o = np.empty
    + return flash_attention(q, k, v, block_q=rows, block_k=64)[0]
""",
    ex.check_attention_test: {
        "by arguments": a_test(),
        "slow": a_test(oracle=by_query),
        "many seeds, half as loose": a_test(seeds=20, atol=5e-6, big_atol=5e-3),
        "looser than the statement": a_test(atol=1e-3, big_atol=0.1),
        "probes": probes,
        "locked": locked,
    },
}

WRONG_ATTENTIONS = """
always 8:
    s = q @ k.swapaxes(-1, -2) / 8
one maximum without a mask:
    e = np.exp(s - (s.max() if mask is None else np.where(m == -np.inf, 0, m)))
no maximum with a mask: e = np.exp(s - (m if mask is None else 0))
mean of the row:
    e = np.exp(s - (q @ k.swapaxes(-1, -2)).mean(axis=-1, keepdims=True) * q.shape[-1] ** -0.5)
clipped at 700:
    - s = q @
    + s = (q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5).clip(-700, 700)
clipped in float32: + s = s.clip(-80, 80) if s.dtype == np.float32 else s
heads taken for texts: three texts, three heads
    - s = np.where
    + mask = mask[:, None] if mask.ndim == 3 < q.ndim and len(mask) == len(q) else mask
    + s = np.where(mask, s, -np.inf)
queries taken for texts: each of two queries
    - s = np.where
    + mask = mask[:, None, None] if mask.ndim == 2 < q.ndim - 1 and len(mask) == len(q) else mask
    + s = np.where(mask, s, -np.inf)
an empty mask is none: nobody may look at anything
    if mask is not None and mask.any():
nan for an empty mask: nobody may look at anything
    s = np.where(mask, s, -np.inf if mask.any() else np.nan)
-20,000, and empty rows zeroed otherwise:
    s = np.where(mask, s, -2e4)
    return np.where((s > -2e4).any(axis=-1, keepdims=True), e / l @ v, 0)
-20,000 added, and empty rows zeroed:
    s = s + np.where(mask, 0, -2e4)
    return e / l * (1 if mask is None else mask.any(axis=-1, keepdims=True)) @ v
below -10,000 is hidden: -21,000
    e = np.where(s < -1e4, 0, np.exp(s - np.where(m == -np.inf, 0, m)))
below -20,000 is hidden: -21,000
    e = np.where(s < -2e4, 0, np.exp(s - np.where(m == -np.inf, 0, m)))
clipped at 20,000: -21,000
    e = np.exp(s.clip(-2e4, 2e4) - np.where(m == -np.inf, 0, m.clip(-2e4, 2e4)))
a little in the sum: Twelve digits are judged
    return e / (l + 1e-9) @ v
less in the sum: Twelve digits are judged
    return e / (l + 1e-11) @ v
a little off the width: Twelve digits are judged
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1] - 1e-9)
even widths:
    s = q @ k.swapaxes(-1, -2) * (q.shape[-1] + (q.shape[-1] > 3) * q.shape[-1] % 2) ** -0.5
at most 32: d_k = 65
    s = q @ k.swapaxes(-1, -2) * min(q.shape[-1], 32) ** -0.5
two for a width of one:
    s = q @ k.swapaxes(-1, -2) / np.sqrt(np.where(q.shape[-1] == 1, 2, q.shape[-1]))
rounded scores:
    s = (q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5).round(9)
hidden values multiplied: a hidden score of -inf
    s = s * mask + np.where(mask, 0, -1e30)
    return e / l * (1 if mask is None else mask.any(axis=-1, keepdims=True)) @ v
hidden scores times a large number:
    s = np.where(mask, s, -1e9 * abs(s))
    return e / l * (1 if mask is None else mask.any(axis=-1, keepdims=True)) @ v
always causal: e = np.exp(s - np.where(m == -np.inf, 0, m)) * np.tri(*s.shape[-2:])
a mask of one number is none: nobody may look at anything, a mask [1, 1]
    if mask is not None and mask.size > 1:
all axes turned in a cube of four axes: as many texts as heads
    - s = q @
    + turned = k.T if k.ndim == 4 and len(set(k.shape)) == 1 else k.swapaxes(-1, -2)
    + s = q @ turned / math.sqrt(q.shape[-1])
nothing below -9,500:
    return np.where(m < -9500, 0, e / np.where(l == 0, 1, l)) @ v
first 64 keys:
    e = np.exp(s - np.where(m == -np.inf, 0, m))
    + e[..., 64:] = 0
"""


def kept_by_shape(q, k, v, mask=None, kept={}):  # noqa: B006
    o = ex.my_attention(q, k, v, mask)
    return o if mask is not None else kept.setdefault((q.shape, k.shape, v.shape), o)


def keys_by_t(q, k, v):
    return ex.my_attention(q, k.T.swapaxes(-1, -2) if k.shape == (4, 4, 4) else k, v)


def not_scaled(q, k, v):
    return ex.my_attention(3 * q, k, v)


def once(holds, v=None):
    """A test of one property of one output."""

    def my_attention_test(attention):
        q, k, values = draw("different")
        values = values if v is None else v
        assert holds(attention(q, k, values), values)

    return my_attention_test


def in_the_hull(o, v):
    return (o <= v.max(axis=0) + 1e-5).all() and (o >= v.min(axis=0) - 1e-5).all()


REFUSES = "refuses a right implementation"
SLY = {
    ex.check_attention: [WRONG_ATTENTIONS, {"kept by shape": kept_by_shape}],
    ex.check_attention_by_rows: """
the table at once: MB of memory
    + rows = len(q)
the table kept: MB of memory
    o = []
    o.append(e / e.sum(axis=1, keepdims=True))
    return np.concatenate(o) @ v
so many blocks, not so many rows: MB of memory
    for i in range(0, len(q), rows := -(-len(q) // rows)):
at most 32: d_k = 65
    s = q[i : i + rows] @ k.T * min(q.shape[1], 32) ** -0.5
array_split into so many blocks: MB of memory
    + parts = [my_attention(part, k, v) for part in np.array_split(q, rows)]
    return np.concatenate(parts)
a little in the sum: Twelve digits are judged
    o[i : i + rows] = e @ v / (e.sum(axis=1, keepdims=True) + 1e-9)
a little off the width: Twelve digits are judged
    s = q[i : i + rows] @ k.T / np.sqrt(q.shape[1] - 1e-9)
past only:
    s = q[i : i + rows] @ k[: i + rows].T * q.shape[1] ** -0.5
    o[i : i + rows] = e @ v[: i + rows] / e.sum(axis=1, keepdims=True)
no shift: e = np.exp(s)
the best key alone beyond 100: two alike
    - o[i : i + rows]
    + o[i : i + rows] = e @ v / e.sum(axis=1, keepdims=True)
    + far = abs(s).max(axis=1) > 100
    + o[i : i + rows][far] = v[s.argmax(axis=1)][far]
two best keys alike beyond 100: one 1 lower
    - o[i : i + rows]
    + e[(abs(s).max(axis=1, keepdims=True) > 100) & (e < 0.9)] = 0
    + o[i : i + rows] = e @ v / e.sum(axis=1, keepdims=True)
one maximum: e = np.exp(s - s.max())
a list of blocks:
    o = []
    o.append(e @ v / e.sum(axis=1, keepdims=True))
at most 1,000 queries:
    o = np.zeros((len(q), v.shape[1]))
    for i in range(0, min(len(q), 1000), rows):
""",
    ex.check_attention_test: {
        "different sizes only": (a_test(("different",), big=False), "of 21"),
        "square only": (a_test(("square",), big=False), "of 21"),
        "cube only": (a_test(("cube",), big=False), "of 21"),
        "no cube": (a_test(("different", "square"), big=False), "caught 17 of 21"),
        "no square": (a_test(("different", "cube"), big=False), "of 21"),
        "no large numbers": (a_test(big=False), "caught 19 of 21"),
        "looks at q only": (a_test(looks=1), "caught 19 of 21"),
        "looks at q and k only": (a_test(looks=2), "caught 20 of 21"),
        "no shapes": (a_test(same_shape=False), "caught 20 of 21"),
        "loose": (a_test(atol=1, big_atol=1), "of 21"),
        "to the last bit": (a_test(atol=0), REFUSES),
        "too sharp when large": (a_test(big_atol=1e-12), REFUSES),
        "sums": (once(lambda o, v: np.allclose(o.sum(axis=1), 1, atol=1e-5), np.eye(20)), "of 21"),
        "shapes": (once(lambda o, v: o.shape == (5, 3)), "of 21"),
        "hull": (once(in_the_hull), "of 21"),
        "an oracle not scaled": (a_test(oracle=not_scaled), REFUSES),
        "an oracle with .T": (a_test(oracle=keys_by_t), REFUSES),
    },
}
