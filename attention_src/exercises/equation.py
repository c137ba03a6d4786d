"""The checks of the chapter on the equation."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from attention_src.exercises.engine import Case, Check, Ladder, Rung, TestCheck
from attention_src.flash.reference import flash_attention  # noqa: F401  a right answer calls it

Array = np.ndarray

# --- Shapes -----------------------------------------------------------------------------------

check_shapes = Ladder("shapes", [
    Rung("a", "the shape of the scores", (6, 9), {
        (9, 6): "Transposed: a row for each query, not each key.",
        (4, 4): "d_k is what the product sums over; it is gone.",
        (6, 6): "Only where the queries and keys are equally many.",
        (9, 9): "Only where the queries and keys are equally many.",
    }, hint="One score for each pair of query and key."),
    Rung("b", "the shape of the output", (6, 7), {
        (9, 7): "Who asks gets an answer: one row for each query.",
        (6, 4): "Answers are made of values, so they are as wide as those.",
        (6, 9): "This is the shape of the weights.",
    }, hint="One row for each query, as wide as a value."),
    Rung("c", "the shape of w_v", (12, 7), {
        (12, 4): "This one makes keys. A value has d_v = 7 numbers, whatever d_k is.",
        (7, 12): "Transposed: tokens stand on the left, x @ w_v.",
    }, hint="[12] times [12, what?] gives one value."),
    Rung("d", "the shape of the keys, turned", (2, 3, 4, 9), {
        (4, 9, 3, 2): "This is what .T gives: it turns all four axes, and mixes texts and heads.",
        (2, 3, 9, 4): "As they are, queries and keys meet on the wrong axis.",
    }, hint="Only the last two axes change places."),
    Rung("e", "operations of both products", 2 * 6 * 9 * (4 + 7), {
        6 * 9 * (4 + 7): "You counted a multiplication and its addition as one; here they are two.",
        2 * 6 * 9 * (4 + 7)
        - (6 * 9 + 6 * 7): "Exact; by custom the first addition, to 0, is counted too.",
        2 * 6 * 9 * 4: "This is the first product. The second meets V.",
        2 * 6 * 9 * (4 + 4): "The second product is with V, whose rows have 7 numbers.",
        2 * 9 * 9 * (4 + 7): "There are 6 queries, not 9.",
    }, hint="For each entry of a product: how many multiplications, how many additions?",
         rtol=1e-6),
    Rung("f", "GiB of scores in one layer", 32 * 4096**2 * 2 / 2**30, {
        32 * 4096**2 / 2**30: "So many numbers, in units of 2^30; each takes 2 bytes.",
        4096**2 * 2 / 2**30: "One head. There are 32.",
        32 * 4096**2 * 2 / 2**20: "Those are MiB.",
        32 * 4096**2 * 2: "Those are bytes.",
        32 * 4096**2 * 2 / 1e9: "Those are GB, of 10^9 bytes. A GiB has 2^30.",
        32 * 4096**2 * 8 / 2**30: "This is in float64.",
        32 * 4096**2 * 4 / 2**30: "This is in float32.",
    }, hint="4,096 is 2^12, so its square is 2^24; 32 is 2^5."),
], asks="the rungs of the ladder; `...` = not answered yet")  # fmt: skip

# --- The line, to keep ------------------------------------------------------------------------


def my_attention(q, k, v, mask=None):
    s = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(m == -np.inf, 0, m))
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l == 0, 1, l) @ v


def _numbers(seed: int, *shapes: tuple[int, ...], dtype: Any = np.float64) -> tuple[Array, ...]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=shape).astype(dtype) for shape in shapes)


def _queries_and_keys(rng: np.random.Generator, q_shape: tuple, k_shape: tuple) -> tuple:
    """Of one of five kinds; scores reach about 10^4."""
    q, k = rng.normal(size=q_shape), rng.normal(size=k_shape)
    kind = rng.choice(["usual", "float32", "whole", "large", "far"], p=[0.4, 0.1, 0.1, 0.2, 0.2])
    if kind == "usual":
        return rng.choice([0.3, 1.0, 3.0, 30.0]) * q, k
    if kind == "float32":
        return q.astype(np.float32), k.astype(np.float32)
    if kind == "whole":  # float32 holds these scores exactly, if the root of d_k is whole
        return tuple(rng.integers(-10, 11, size).astype(np.float32) for size in (q_shape, k_shape))
    if kind == "far":  # rows far apart, above 0 and below, and in each row scores close together
        k = rng.choice([-1.0, 1.0]) + 1e-3 * k
    return 1500 * q, k


def _mask(rng: np.random.Generator, front: tuple[int, ...], n_q: int, n_k: int) -> Array | None:
    """None, or a mask with any number of the axes in front, some of them of length 1."""
    if rng.random() < 0.3:
        return None
    shape = [1 if rng.random() < 0.3 else n for n in (*front, n_q, n_k)]
    shape = shape[int(rng.integers(0, len(front) + 1)) :]
    return rng.random(shape) < rng.choice([0.3, 0.7, 1.0])


def _draw(rng: np.random.Generator) -> tuple:
    front = tuple(int(n) for n in rng.integers(1, 4, size=rng.integers(0, 3)))
    n_q, n_k = (int(n) for n in rng.choice([1, 2, 3, 5, 7], 2))
    d_k, d_v = (int(n) for n in rng.choice([1, 2, 3, 4, 5, 6, 9], 2))
    if rng.random() < 0.1:
        n_k = 130
    q, k = _queries_and_keys(rng, (*front, n_q, d_k), (*front, n_k, d_k))
    if q.dtype == np.float32 and d_k not in (1, 4):  # else a score may round to another
        q, k = q.clip(-1, 1), k.clip(-1, 1)
    v = rng.normal(size=(*front, n_k, d_v)).astype(q.dtype)
    return q, k, v, _mask(rng, front, n_q, n_k)


def _case(name: str, qkv: Iterable[Array], mask: Any = None, rtol: float | None = None) -> Case:
    return Case(name, (*qkv, None if mask is None else np.array(mask, dtype=bool)), rtol=rtol)


def _heads(seed: int, n_texts: int = 2) -> tuple[Array, ...]:
    return _numbers(seed, *((n_texts, 3, *last) for last in ((4, 2), (5, 2), (5, 3))))


def _arrays(*lists: list) -> tuple[Array, ...]:
    return tuple(np.array(rows, dtype=np.float64) for rows in lists)


_SMALL = _arrays(
    [[2, 0, 2, 0], [0, 0, 0, 4]], [[2, 1, 1, 0], [0, 2, 1, 0], [0, 0, 0, 2]], [[3], [1], [40]]
)
_LARGE = _arrays([[300, 0], [-300, 9]], [[40, 1], [-41, 3]], [[1], [5]])
# A row of scores near 10^4, a row near -10^4; d_k = 1, so these are q k.
_APART = _arrays([[1e4], [-1e4]], [[1], [0.9999], [0.99]], [[1, 0], [2, 5], [4, 7]])
_HUNDRED = _arrays([[1], [-1]], [[100], [90]], [[1], [5]])
_LOW = _arrays([[-1]], [[1e4], [0]], [[1, 0], [0, 1]])
_LOWER = _arrays([[-1], [-1]], [[21_000], [20_999], [0]], [[1, 0], [2, 5], [4, 7]])
# A loud hidden score, which a number added to it must outdo.
_LOUD = _arrays([[1]], [[-1e4], [-10_001], [1e4]], [[1], [5], [40]])
# d_k = 1 and small scores: a little in the sum or under the root shows in the tenth digit.
_CLOSELY = _arrays([[1.5], [-0.7]], [[0.3], [1.1], [-2]], [[1, 20], [2, 5], [4, -7]])
_NOWHERE = _arrays([[2], [1]], [[1], [-np.inf], [0.5]], [[1], [5], [3]])
_ENDS = np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]])[:, None, None]
_THREE = np.random.default_rng(8).random((3, 4, 5)) < 0.6

check_attention = Check(
    "attention",
    my_attention,
    asks="f(q [..., n_q, d_k], k [..., n_k, d_k], v [..., n_k, d_v], mask=None) -> o",
    cases=[
        _case("two guests, three goods, no mask", _SMALL),
        _case("d_v wider than d_k", _numbers(0, (5, 2), (7, 2), (7, 3))),
        _case("one hidden good each", _SMALL, [[1, 1, 0], [1, 0, 1]]),
        _case("the second guest may look at nothing", _SMALL, [[1, 0, 1], [0, 0, 0]]),
        _case("large scores", _LARGE),
        _case("large scores, rows far apart", _APART),
        _case("large scores below 0", (_APART[0][1:], *_APART[1:])),
        _case("large scores, a mask that hides nothing", _APART, np.ones((2, 3))),
        _case("large scores, the best key hidden", _APART, [[0, 0, 1], [1, 0, 0]]),
        _case("a visible score of -10^4", _LOW, [[1, 0]]),
        _case("visible scores of -21,000, and nothing", _LOWER, [[1, 1, 0], [0, 0, 0]]),
        _case("visible scores of -10^4, the hidden one of 10^4", _LOUD, [[1, 1, 0]]),
        _case("two texts, three heads", _heads(1)),
        _case("as many texts as tokens as numbers", _numbers(2, *[(4, 4, 4)] * 3)),
        _case("as many texts as heads as tokens as numbers", _numbers(2, *[(3, 3, 3, 3)] * 3)),
        _case("two texts, three heads, a mask [2, 1, 1, n_k] for their ends", _heads(3), _ENDS),
        _case("one mask [n_q, n_k] for three heads", _numbers(4, *[(3, 4, 2)] * 3), np.tri(4)),
        _case("two texts, three heads, a mask [3, n_q, n_k] for the heads", _heads(7), _THREE),
        _case("three texts, three heads, a mask [3, n_q, n_k] for the heads", _heads(8, 3), _THREE),
        _case(
            "two texts, each of two queries, one mask [n_q, n_k]",
            _numbers(13, (2, 3, 2, 2), (2, 3, 4, 2), (2, 3, 4, 3)),
            [[0, 1, 1, 1], [1, 1, 0, 1]],
        ),
        _case("float32", _numbers(5, (3, 4), (2, 4), (2, 5), dtype=np.float32)),
        _case("float32, scores of 100 and 90, and below 0", (x.astype("f4") for x in _HUNDRED)),
        _case("float32, scores in the thousands", (x.astype("f4") for x in _LARGE)),
        _case("one query, one key", _numbers(6, (1, 3), (1, 3), (1, 2)), [[1]]),
        _case("nobody may look at anything", _SMALL, np.zeros((2, 3))),
        _case("nobody may look at anything, a mask [1, 1]", _SMALL, [[0]]),
        _case("two guests, three goods, other numbers", _numbers(9, (2, 4), (3, 4), (3, 1))),
        _case("d_k = 65", _numbers(11, (2, 65), (3, 65), (3, 2))),
        _case("forty queries, d_v = 40", _numbers(12, (40, 3), (6, 3), (6, 40))),
        _case("d_k = 1, to twelve digits", _CLOSELY, rtol=1e-12),
        _case("d_k = 1 and a mask, to twelve digits", _CLOSELY, [[1, 0, 1], [1, 1, 0]], rtol=1e-12),
        _case("a hidden score of -inf", _NOWHERE, [[1, 0, 1], [1, 0, 1]]),
    ],
    draw=_draw,
    mistakes="""
wrong axis: You normalised over the queries: each column of weights sums to 1. Each query has its \
own budget: reduce over the last axis.
    m = s.max(axis=-2, keepdims=True)
    l = e.sum(axis=-2, keepdims=True)
one softmax for the whole table: All queries of a table share one sum. Each row has its own: \
axis=-1, keepdims=True.
    m = s.max(axis=(-2, -1), keepdims=True)
    l = e.sum(axis=(-2, -1), keepdims=True)
not scaled: The scores are not divided by the square root of d_k.
    s = q @ k.swapaxes(-1, -2)
scaled twice: You divided by d_k, or twice by its root; once by the root is right.
    s = q @ k.swapaxes(-1, -2) / q.shape[-1]
scaled by the values' width: You took the root of d_v. The scores are sums over d_k, the width of \
q and k.
    s = q @ k.swapaxes(-1, -2) / math.sqrt(v.shape[-1])
scaled by the number of keys: You took the root of n_k, an axis of positions. The width is the \
last axis.
    s = q @ k.swapaxes(-1, -2) / math.sqrt(k.shape[-2])
mask not used: This is attention without its mask. Where the mask is False the score is -inf.
    - s = np.where
reversed polarity: You hid the keys that the mask allows. True means: may look.
    s = np.where(mask, -np.inf, s)
zeroed after softmax: Hidden keys still count in the sum of the softmax, so the visible weights no \
longer sum to 1. Set scores to -inf before it.
    - s = np.where
    return e / l * (1 if mask is None else mask) @ v
zeroed after softmax, then divided: You set hidden weights to 0 after the softmax and divided by \
what is left. Beside a much larger hidden score the visible weights have become 0 by then. Hide \
before the softmax.
    - s = np.where
    + seen = True if mask is None else mask
    l = (e * seen).sum(axis=-1, keepdims=True)
    return e * seen / np.where(l == 0, 1, l) @ v
zeroed after softmax, then divided: You set hidden weights to 0 after the softmax and divided by \
what is left. That is 0 / 0 where nothing is visible, and beside a much larger hidden score. Hide \
before the softmax, and divide by 1 where the sum is 0.
    - s = np.where
    + seen = True if mask is None else mask
    l = (e * seen).sum(axis=-1, keepdims=True)
    return e * seen / l @ v
score set to 0: A hidden key has score 0 in yours, as s * mask makes it. exp(0) = 1 is not \
nothing: its score must become -inf.
    s = np.where(mask, s, 0)
mask added: You added the mask to the scores: True counts as 1, so visible scores grow by 1 and \
hidden ones stay. Hidden scores must become -inf: np.where(mask, s, -np.inf).
    s = s + mask
indexed by the mask: s[~mask] asks for a mask of the very shape of s. It may have fewer axes, and \
axes of length 1: np.where(mask, s, -np.inf) broadcasts.
    s[~mask] = -np.inf
indexed by the mask: A row with nothing to see computes -inf - (-inf); its output should be 0. And \
s[~mask] asks for a mask of the very shape of s, where np.where(mask, s, -np.inf) broadcasts.
    s[~mask] = -np.inf
    e = np.exp(s - m)
    return e / l @ v
-1e9 added: You added a large finite number to hidden scores. In a row where every key is hidden \
it is the same for all, softmax ignores it, and the hidden keys are back. Use -inf; and the output \
of such a row is 0.
    s = s + np.where(mask, 0, -1e9)
nan where nothing is visible: A row with nothing to see computes -inf - (-inf). Its output should \
be 0.
    e = np.exp(s - m)
a mean where nothing is visible: With -1e9 for every key, all scores of a row are the same, and \
the hidden keys share the weight. With -inf, and a guard, the output is 0.
    s = np.where(mask, s, -1e9)
no maximum subtracted: exp of a large score overflows. Subtract the largest score of each row first.
    e = np.exp(s)
maximum from 0: Your maximum begins at 0. In a row far below 0 every exponential is then 0. It \
begins at -inf: take the maximum of the row's own scores.
    m = np.maximum(s.max(axis=-1, keepdims=True), 0)
maximum from 0: Your maximum begins at 0. In a row far below 0 every exponential is then 0, and \
0 / 0 is not a number. Take the maximum of the row's own scores.
    m = np.maximum(s.max(axis=-1, keepdims=True), 0)
    return e / l @ v
one maximum for the table: You subtracted the largest score of the whole table. In a row far below \
it every exponential is 0. Each row has its own maximum: axis=-1, keepdims=True.
    e = np.exp(s - s.max())
one maximum for the table: You subtracted the largest score of the whole table. In a row far below \
it every exponential is 0. Each row has its own maximum: axis=-1, keepdims=True.
    m = s.max(keepdims=True)
one maximum for the table: You subtracted the largest score of the whole table. In a row far below \
it every exponential is 0. Each row has its own maximum: axis=-1, keepdims=True.
    m = s.max(axis=(-2, -1), keepdims=True)
one maximum for the table: You subtracted the largest score of the whole table, and in a row far \
below it, or with nothing to see, 0 / 0 is not a number. Each row has its own maximum; and where a \
sum is 0, divide by 1.
    e = np.exp(s - s.max())
    return e / l @ v
the maximum of hidden scores: You took each row's maximum before the mask. A hidden score far \
above the visible ones makes all their exponentials 0. Mask first, then take the maximum.
    m = (q @ k.swapaxes(-1, -2)).max(axis=-1, keepdims=True) / math.sqrt(q.shape[-1])
all axes turned: k.T turns all axes; a batch needs k.swapaxes(-1, -2).
    s = q @ k.T / math.sqrt(q.shape[-1])
no maximum subtracted: exp of a large score overflows. Subtract the largest score of each row \
first; and where nothing is visible, the sum is 0: divide by 1 there.
    e = np.exp(s)
    return e / l @ v
no maximum subtracted: exp of a large score overflows. Subtract the largest score of each row first.
    e = np.exp(s)
    return np.where((s > -np.inf).any(axis=-1, keepdims=True), e / l, 0) @ v
hidden by a finite number: A hidden score must be below any visible one, and those reach -10^4: \
-inf. Where nothing is visible, the output is 0.
    s = np.where(mask, s, -1e4)
hidden by a finite number: A hidden score must be below any visible one: -inf. Where nothing is \
visible, the output is 0.
    s = np.where(mask, s, -1e3)
-1e4 added: A hidden score must be below any visible one, and those reach -10^4: use -inf. And \
where nothing is visible, the output is 0.
    s = s + np.where(mask, 0, -1e4)
-1e4 added: A hidden score must be below any visible one, and those reach -10^4: use -inf.
    s = s + np.where(mask, 0, -1e4)
    return e / l * (1 if mask is None else mask.any(axis=-1, keepdims=True)) @ v
hidden by a finite number: Visible scores reach -10^4. A hidden one must be below all of them: -inf.
    s = np.where(mask, s, -1e4)
    return e / l * (1 if mask is None else mask.any(axis=-1, keepdims=True)) @ v
hidden by a finite number: Visible scores lie even lower than yours for hidden ones: use -inf.
    s = np.where(mask, s, -2e4)
    return e / l * (1 if mask is None else mask.any(axis=-1, keepdims=True)) @ v
""",
)

# --- The same digits, in less memory ----------------------------------------------------------


def my_attention_by_rows(q, k, v, rows):
    o = np.empty((len(q), v.shape[1]))
    for i in range(0, len(q), rows):
        s = q[i : i + rows] @ k.T / math.sqrt(q.shape[1])  # (rows, n_k)
        e = np.exp(s - s.max(axis=1, keepdims=True))
        o[i : i + rows] = e @ v / e.sum(axis=1, keepdims=True)
    return o


def _rows_case(seed: int, *sizes: int, rows: int) -> tuple:
    """Queries, keys and values of sizes n_q, n_k, d_k, d_v; how many queries at a time."""
    n_q, n_k, d_k, d_v = sizes
    return *_numbers(seed, (n_q, d_k), (n_k, d_k), (n_k, d_v)), rows


def _draw_rows(rng: np.random.Generator) -> tuple:
    sizes = (int(n) for n in rng.choice([1, 2, 3, 5, 7], 4))
    q, *kv, _ = _rows_case(int(rng.integers(1000)), *sizes, rows=0)
    return rng.choice([0.3, 1.0, 30.0, 3e4]) * q, *kv, int(rng.integers(1, 9))


_LARGE_ROWS = (*(900 * x for x in _rows_case(4, 3, 4, 2, 2, rows=0)[:3]), 2)
_BELOW = (-1e3 * np.ones((3, 1)), np.array([[900.0], [800.0]]), np.eye(2), 2)
# Two scores alike and one a little lower, at the top of what scores reach, and below 0.
_TIED = _arrays([[1e6], [-1e6]], [[1], [1], [0.999999]], [[1, 0], [2, 5], [4, 7]])
_MANY, _FEW = (_rows_case(5, 1501, 1501, 8, 4, rows=rows) for rows in (50, 4))
_ROWS_CLOSELY = (*_CLOSELY, 1)

check_attention_by_rows = Check(
    "attention_by_rows",
    my_attention_by_rows,
    asks="f(q [n_q, d_k], k [n_k, d_k], v [n_k, d_v], rows) -> o [n_q, d_v], in little memory",
    cases=[
        Case("4 queries, 2 at a time", _rows_case(0, 4, 5, 3, 2, rows=2)),
        Case("5 queries, 2 at a time", _rows_case(1, 5, 3, 2, 4, rows=2)),
        Case("3 queries, 8 at a time", _rows_case(2, 3, 7, 2, 1, rows=8)),
        Case("1 query", _rows_case(3, 1, 4, 2, 3, rows=1)),
        Case("large scores", _LARGE_ROWS),
        Case("large scores below 0", _BELOW),
        Case("scores of 10^6, two alike and one 1 lower", (*_TIED, 1)),
        Case("1,501 queries and keys, 50 at a time", _MANY, max_bytes=4_000_000),
        Case("1,501 queries and keys, 4 at a time", _FEW, max_bytes=4_000_000),
        Case("d_k = 65", _rows_case(7, 3, 4, 65, 2, rows=2)),
        Case("other numbers, 2 at a time", _rows_case(6, 4, 5, 3, 2, rows=2)),
        Case("d_k = 1, to twelve digits", _ROWS_CLOSELY, rtol=1e-12),
    ],
    draw=_draw_rows,
    mistakes="""
last queries lost: The last block is shorter when `rows` does not divide the number of queries. \
Slices may reach past the end; range(0, n_q, rows) gives every start.
    o = np.zeros((len(q), v.shape[1]))
    for i in range(0, len(q) - rows + 1, rows):
each block has its own keys: You cut the keys as well. Every query looks at all of them.
    o = np.zeros((len(q), v.shape[1]))
    for i in range(0, min(len(q), len(k)), rows):
    s = q[i : i + rows] @ k[i : i + rows].T / math.sqrt(q.shape[1])
    o[i : i + rows] = e @ v[i : i + rows] / e.sum(axis=1, keepdims=True)
keys in blocks: You cut the keys, so each block's weights sum to 1 by themselves. Cut the queries: \
a row of scores must stay whole for its softmax.
    o = np.zeros((len(q), v.shape[1]))
    for i in range(0, len(k), rows):
    s = q @ k[i : i + rows].T / math.sqrt(q.shape[1])
    - o[i : i + rows]
    + o += e @ v[i : i + rows] / e.sum(axis=1, keepdims=True)
wrong axis: You normalised over the queries of a block. Each row of scores has its own budget.
    e = np.exp(s - s.max(axis=0, keepdims=True))
    o[i : i + rows] = e / e.sum(axis=0, keepdims=True) @ v
not scaled: The scores are not divided by the root of d_k.
    s = q[i : i + rows] @ k.T
maximum from 0: Your maximum begins at 0. In a row far below 0 every exponential is then 0, and \
0 / 0 is not a number. Take the maximum of the row's own scores.
    e = np.exp(s - np.maximum(s.max(axis=1, keepdims=True), 0))
order: The blocks come out in the opposite order.
    o[max(len(q) - i - rows, 0) : len(q) - i] = e @ v / e.sum(axis=1, keepdims=True)
""",
)

# --- Catch the wrong line ---------------------------------------------------------------------


def by_line(q, k, v):
    scale = q.shape[-1] ** -0.5
    s = q @ k.swapaxes(-1, -2) * scale
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - m)
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ v


check_attention_test = TestCheck(
    "my_attention_test",
    asks="test(attention), which raises AssertionError if attention(q, k, v) is wrong",
    of=by_line,
    right="""
the line: it is the line of the chapter
einsum: it scales the queries instead of scores
    s = np.einsum("...qd,...kd->...qk", q * scale, k)
    return np.einsum("...qk,...kd->...qd", p, v)
query by query: queries do not need each other
    + each = [my_attention(q[..., [i], :], k, v) for i in range(q.shape[-2])]
    return np.concatenate(each, axis=-2)
powers of 2: it takes powers of 2 of scores divided by ln 2, and divides at the end
    s = q @ k.swapaxes(-1, -2) * scale / np.log(2)
    e = np.exp2(s - m)
    return e @ v / e.sum(axis=-1, keepdims=True)
tiles: a running softmax is exact
    return flash_attention(q, k, v, block_k=8)[0]
float32: it computes in float32: allow for 1e-5, and for 0.01 where scores are in the thousands
    + q, k, v = (x.astype(np.float32) for x in (q, k, v))
""",
    wrong="""
over queries: its columns of weights sum to 1, not its rows
    m = s.max(axis=-2, keepdims=True)
    p = e / e.sum(axis=-2, keepdims=True)
one softmax for the table: all queries share one sum
    m = s.max(axis=(-2, -1), keepdims=True)
    p = e / e.sum(axis=(-2, -1), keepdims=True)
not scaled: its scores are plain dot products
    scale = 1.0
scaled twice: it divides by the root of d_k two times
    scale = 1 / q.shape[-1]
always by 8: it divides by 8, whatever d_k is. Do you try a d_k other than 64?
    scale = 1 / 8
by the values' width: it divides by the root of d_v. Do d_k and d_v differ in your test?
    scale = v.shape[-1] ** -0.5
causal: it hides later keys, unasked
    s = q @ k.swapaxes(-1, -2) * scale
    + s = np.where(np.tri(*s.shape[-2:], max(s.shape[-1] - s.shape[-2], 0)) > 0, s, -np.inf)
hardmax: its best key takes all
    e = np.where(s == m, 1.0, 0.0)
roles swapped: where q and k have one shape, keys ask and queries answer. Is n_q = n_k in one of \
your cases?
    + q, k = (k, q) if q.shape == k.shape else (q, k)
weights transposed: where the table of weights is square, it is transposed. Is n_q = n_k in one of \
your cases?
    return (p.swapaxes(-1, -2) if p.shape[-2] == p.shape[-1] else p) @ v
last key lost: it never looks at the last key
    s = (q @ k.swapaxes(-1, -2) * scale)[..., : max(1, k.shape[-2] - 1)]
    return p @ v[..., : p.shape[-1], :]
first 16 keys: it is blind beyond the 16th key. How many keys have you?
    s = (q @ k.swapaxes(-1, -2) * scale)[..., :16]
    return p @ v[..., :16, :]
no maximum: large scores overflow. Do you try scores in the thousands?
    e = np.exp(s)
one maximum: it subtracts one maximum from all rows, so that a row of much lower scores underflows \
to 0 / 0. Do your rows lie far apart?
    m = s.max()
small weights dropped: it drops weights below 0.01. Are there enough keys for weights to be small, \
and is your tolerance small enough?
    return np.where(p < 0.01, 0, p) @ v
k.T: k.T turns all axes. With two axes that is right; with more it shows where all are equally \
long. Do you try 4 texts of 4 tokens of width 4?
    s = q @ (k.T if len(set(k.shape)) == 1 else k.swapaxes(-1, -2)) * scale
an axis too many: it returns [1, ..., n_q, d_v]. Do you compare shapes?
    return (p @ v)[None]
first text: in a batch, all texts look into the first one. Do you try a batch?
    + k, v = (x[:1] if x.ndim > 2 else x for x in (k, v))
queries changed: it divides the caller's queries in place. Do you look at q after the call?
    p = e / e.sum(axis=-1, keepdims=True)
    + q *= scale if q.dtype.kind == "f" else 1
keys changed: it divides the caller's keys in place. Do you look at k after the call?
    p = e / e.sum(axis=-1, keepdims=True)
    + k *= scale if k.dtype.kind == "f" else 1
values changed: it sorts the caller's values in place. Do you look at v after the call?
    p = e / e.sum(axis=-1, keepdims=True)
    + o = p @ v
    + v.sort(axis=-2)
    return o
""",
)
