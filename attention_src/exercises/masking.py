"""The checks of the chapter on masking. True means "may attend"."""

import math
from typing import Any

import numpy as np

from attention_src.exercises.engine import Case, Check, DesignCheck, TestCheck
from attention_src.exercises.engine.answers import to_array
from attention_src.exercises.engine.cases import any_scores, any_shape

INF = np.inf

# --- Your own masked softmax ------------------------------------------------------------------


def my_masked_softmax(scores, mask):
    s = np.where(mask, scores, -np.inf)
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(m == -np.inf, 0, m))
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l == 0, 1, l)


def _draw(rng: np.random.Generator) -> tuple:
    """Scores with 2 to 4 axes, some of them -inf, and a mask that broadcasts to them."""
    shape = any_shape(rng, fewest=2, most=4)
    if rng.random() < 0.1:
        shape = (*shape[:-1], 130)
    scores = any_scores(rng, shape, np.float32 if rng.random() < 0.2 else np.float64)
    if rng.random() < 0.3:
        scores[rng.random(shape) < 0.3] = -INF
    mask_shape = list(shape)
    for axis in range(len(shape)):
        if rng.random() < 0.3:
            mask_shape[axis] = 1
    if rng.random() < 0.5:
        mask_shape = mask_shape[int(rng.integers(len(shape))) :]
    return scores, rng.random(mask_shape) < rng.choice([0.3, 0.7])


def _masked(name: str, scores: Any, mask: Any, rtol: float | None = None) -> Case:
    return Case(name, (np.array(scores), np.array(mask, dtype=bool)), rtol=rtol)


SCORES = np.random.default_rng(1).normal(0, 2, (2, 3, 2, 3))
PADDED = [[[[1, 1, 1]]], [[[1, 1, 0]]]]
TWO_ROWS = [[0.5, 2.0, -1.0], [1.5, 0.0, 3.0]]

check_masked_softmax = Check(
    "masked_softmax",
    my_masked_softmax,
    asks="f(scores [..., n_q, n_k], mask broadcastable to it) -> weights, of the shape of scores",
    cases=[
        _masked("one hidden key", [[2.0, 1.0, 3.0]], [[1, 1, 0]]),
        _masked("nothing hidden", [[2.0, 1.0, 3.0]], [[1, 1, 1]]),
        _masked(
            "two queries, and the second may see nothing",
            [[2.0, 1.0, 3.0], [2.0, 0.0, 1.0]],
            [[1, 0, 1], [0, 0, 0]],
        ),
        _masked(
            "small weights count", [[0.0, -8.0, 5.0, -15.0, -25.0]], [[1, 1, 0, 1, 1]], rtol=1e-12
        ),
        _masked("large scores", [[1e4, 9999.0, -1e4]], [[1, 1, 0]]),
        _masked("large scores, the largest hidden", [[1e4, -1e4, 9999.0, -9999.0]], [[0, 1, 0, 1]]),
        _masked("rows far apart", [[1e4, 9998.0, 0.0], [-9999.0, -1e4, 7.0]], [[1, 1, 0]] * 2),
        _masked(
            "visible scores of -inf, in the second row no others",
            [[1.0, -INF, 2.0, 0.0], [-INF, 5.0, 3.0, -INF]],
            [[1, 1, 0, 1], [1, 0, 0, 1]],
        ),
        _masked(
            "visible scores of -21,000, and nothing",
            [[-21_000.0, -20_999.0, 0.0]] * 2,
            [[1, 1, 0], [0, 0, 0]],
        ),
        _masked(
            "visible scores of -10^4, the hidden one of 10^4", [[-1e4, -10_001, 1e4]], [1, 1, 0]
        ),
        _masked("one mask [n_k] for two queries", TWO_ROWS, [0, 1, 1]),
        _masked(
            "a mask of one row for two queries, in a batch of two",
            [TWO_ROWS, [[2.5, 1.0, 0.0], [0.0, 4.0, 1.0]]],
            [[[1, 1, 0]], [[0, 1, 1]]],
        ),
        _masked("two sentences, three heads, padding [B, 1, 1, n_k]", SCORES, PADDED),
        _masked(
            "one mask [n_q, n_k] for two sentences, each with two queries",
            SCORES[:, :2],
            [[0, 1, 1], [1, 1, 0]],
        ),
        _masked("the same mask and shapes, other scores", -SCORES[:, 1:], [[0, 1, 1], [1, 1, 0]]),
        _masked("six axes", SCORES[:, None, :, None], [[1, 0, 1], [1, 1, 0]]),
        _masked("one query, one key", [[[[3.0]]]], [[[[1]]]]),
        _masked("to twelve digits", SCORES[0, 0], [[1, 1, 0], [1, 1, 1]], rtol=1e-12),
    ],
    draw=_draw,
    mistakes="""
reversed polarity: You hid the keys that the mask allows. Here True means: may attend.
    s = np.where(mask, -np.inf, scores)
reversed polarity: You hid the keys that the mask allows: True means may attend, and you add to it.
    s = scores + mask * -1e9
    e = np.exp(s - m)
mask not used: This is the plain softmax: nothing was hidden.
    s = scores
    e = np.exp(s - m)
zeroed after softmax: You set hidden weights to 0 after the softmax: the rest no longer sums to 1, \
and hidden scores still count in the denominator. Hide before you normalise.
    s = scores
    e = np.exp(s - m)
    return e / l * mask
score set to 0: You multiplied the scores by the mask. A hidden key then has score 0, and \
exp(0) = 1 is not nothing. Its score must become -inf.
    s = scores * mask
    e = np.exp(s - m)
score set to 0: A hidden key has score 0 in yours, and exp(0) = 1 is not nothing. Its score must \
become -inf.
    s = np.where(mask, scores, 0)
mask added: You added the mask to the scores: True counts as 1, so visible scores grow by 1 and \
hidden ones stay. Hidden scores must become -inf: np.where(mask, scores, -np.inf).
    s = scores + mask
mask added: You added the mask to the scores: True counts as 1, so visible scores grow by 1 and \
hidden ones stay. Hidden scores must become -inf: np.where(mask, scores, -np.inf).
    s = scores + mask
    e = np.exp(s - m)
indexed by the mask: s[~mask] asks for a mask of the very shape of the scores. It may have fewer \
axes, and axes of length 1: np.where(mask, scores, -np.inf) broadcasts.
    s = scores.copy()
    + s[~mask] = -np.inf
indexed by the mask: A row with nothing to see computes -inf - (-inf); it should give 0. And \
s[~mask] asks for a mask of the very shape of the scores, where np.where(mask, scores, -np.inf) \
broadcasts.
    s = scores.copy()
    + s[~mask] = -np.inf
    e = np.exp(s - m)
    return e / l
wrong axis: You normalised over the queries: each column sums to 1. Each query has its own budget, \
so each row should. Reduce over the last axis.
    m = s.max(axis=-2, keepdims=True)
    l = e.sum(axis=-2, keepdims=True)
nan in a fully masked row: A row with nothing to see computes -inf - (-inf), or 0 / 0. It should \
give 0.
    e = np.exp(s - m)
uniform fully masked row: A query that may see nothing attends to every hidden key equally, \
because all its scores became the same finite number. Its weights should be 0.
    s = np.where(mask, scores, -1e9)
    e = np.exp(s - m)
uniform fully masked row: In a row where every key is hidden, all scores became the same finite \
number, so no NaN arises that nan_to_num could mend: the hidden keys share the weight. Use -inf.
    s = np.where(mask, scores, -1e9)
zeroed after softmax: You set hidden weights to 0 after the softmax: the rest no longer sums to 1, \
and hidden scores still count in the denominator. Hide before you normalise.
    s = scores
    e = np.exp(s - m)
    return np.where(mask, e / l, 0)
zeroed after softmax, then divided: You set hidden weights to 0 after the softmax and divided by \
what is left. That is 0 / 0 where nothing is visible, and beside a much larger hidden score. Hide \
before you normalise, and divide by 1 where the sum is 0.
    s = scores
    e = np.exp(s - m) * mask
    return e / e.sum(axis=-1, keepdims=True)
uniform fully masked row: A query that may see nothing attends to every hidden key equally, \
because all its scores became the same finite number. Its weights should be 0.
    s = np.where(mask, scores, -1e4)
    e = np.exp(s - m)
uniform fully masked row: In a row where every key is hidden, all scores became the same finite \
number, so no NaN arises that a guard could mend: the hidden keys share the weight. Use -inf.
    s = np.where(mask, scores, -1e4)
-1e9 added: You added a large finite number. In a row where every key is hidden the number is the \
same for all, softmax ignores it, and the hidden keys are back: no guard sees them. Use -inf.
    s = scores + np.where(mask, 0, -1e9)
-1e9 added: You added a large finite number. In a row where every key is hidden the number is the \
same for all, softmax ignores it, and the hidden keys are back.
    s = scores + np.where(mask, 0, -1e9)
    e = np.exp(s - m)
maximum of hidden scores: You subtracted a maximum that belongs to a hidden key. The visible \
exponentials all became 0. Take the maximum over what is visible.
    e = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
zeroed after softmax, then divided: You set hidden weights to 0 after the softmax and divided by \
what is left. That is right on paper; beside a much larger hidden score the visible weights round \
to 0. Hide before you normalise.
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    + e = np.nan_to_num(e / e.sum(axis=-1, keepdims=True)) * mask
maximum from 0: Your maximum begins at 0. In a row far below 0 every exponential is then 0. Take \
the maximum of the row's own visible scores.
    e = np.exp(s - np.maximum(m, 0))
maximum from 0: Your maximum begins at 0. In a row far below 0 every exponential is then 0, and \
0 / 0 is not a number. Take the maximum of the row's own visible scores.
    e = np.exp(s - np.maximum(m, 0))
    return e / l
hidden by a finite number: Visible scores lie even lower than yours for hidden ones: use -inf.
    s = np.where(mask, scores, -2e4)
    return e / l * np.any(mask & (scores > -np.inf), axis=-1, keepdims=True)
no maximum subtracted: exp of a large score overflows, exp of a low one vanishes. Subtract the \
largest visible score of each row first.
    e = np.where(mask, np.exp(scores), 0)
no maximum subtracted: exp of a large score overflows, and infinity times 0 is not a number. \
Subtract the largest visible score of each row first.
    e = np.exp(scores) * mask
no maximum subtracted: exp of a large score overflows, and infinity times 0 is not a number; nor \
is 0 / 0, in a row with nothing to see. Subtract the largest visible score of each row first.
    e = np.exp(scores) * mask
    return e / l
zero times infinity: (1 - mask) * -inf is 0 times infinity where a key is visible, and that is \
not a number. np.where(mask, scores, -np.inf) chooses, and multiplies nothing.
    s = scores + (1 - mask) * -np.inf
zero times infinity: (1 - mask) * -inf is 0 times infinity where a key is visible, and that is \
not a number. np.where(mask, scores, -np.inf) chooses, and multiplies nothing.
    s = scores + (1 - mask) * -np.inf
    e = np.exp(s - m)
    return e / l
no softmax: You hid the keys and returned the scores. Turn each row into weights.
    return s
visible scores alone: scores[mask] takes the visible scores out of their table, into one long \
list: rows and columns are gone. Hide with np.where(mask, scores, -np.inf), which keeps the shape.
    s = scores[mask]
two axes put in: mask[:, None, None, :] is for a mask of shape [B, n_k]. Yours comes with its axes \
where they belong, and np.where lines them up from the right.
    s = np.where(mask[:, None, None, :], scores, -np.inf)
two axes put in: mask[:, None, None, :] is for a mask of shape [B, n_k]. Yours comes with its axes \
where they belong, and np.where lines them up from the right.
    s = np.where(mask[:, None, None, :], scores, -np.inf)
    e = np.exp(s - m)
    return e / l
masked array: What a masked array hides is still in it. Give weights of 0 there, with .filled(0), \
or hide with np.where(mask, scores, -np.inf).
    s = np.ma.array(scores, mask=~np.broadcast_to(mask, scores.shape))
    e = np.exp(s - m)
    return e / l
in-place change: Your function writes -inf into the caller's scores. Use np.where, which makes a \
new array.
    + scores[~np.broadcast_to(mask, scores.shape)] = -np.inf
""",
)

# --- Packed documents -------------------------------------------------------------------------


def my_packed_causal_mask(document_ids):
    ids = np.asarray(document_ids)
    same_document = ids[:, None] == ids[None, :]
    return same_document & np.tri(len(ids), dtype=bool)


ADDITIVE = (
    "additive mask: This is an additive mask, to be added to the scores. The exercise asks for a "
    "boolean one, True = may attend."
)

# Apart, though equal modulo 1000, 2^16, 997, 10^9 + 7 and so on, or to Python's hash.
FAR = (math.factorial(20), 997 * 1009 * 10007 * 65537, 10**9 + 7, 2**61 - 1)


def _draw_documents(rng: np.random.Generator) -> tuple:
    """Documents in one piece or in many, with ids of every kind that an int64 holds."""
    n = int(rng.integers(1, 10) if rng.random() < 0.9 else rng.integers(65, 150))
    which = rng.integers(0, max(1, n // int(rng.integers(1, 4))), n)
    if rng.random() < 0.5:
        which = rng.permutation(n)[np.sort(which)]  # in one piece each, names in no order
    which = which.astype(np.int64)  # in the page NumPy's own integers have 32 bits
    step = int(rng.choice([1, 1, 10, 256, 2**32, *FAR]))
    if step in FAR:
        return (-(2**62) + step * (which % 4),)
    first = int(rng.choice([0, -step, -(n // 2) * step, 2**61]))
    if first + step * n > 5000:  # a table with a row for each id up to this one: too large by far
        first = 2**61
    return (first + step * which,)


def _packed(name: str, *ids: int) -> Case:
    return Case(name, (np.array(ids),))


check_packed_causal_mask = Check(
    "packed_causal_mask",
    my_packed_causal_mask,
    asks="f(document_ids [n]) -> bool [n, n]: causal within each document",
    cases=[
        _packed("two documents", 0, 0, 0, 1, 1),
        _packed("three documents, ids in no order", 7, 7, -2, 5, 5, 5),
        _packed("two documents that take turns", 4, 4, 9, 4, 9, 9),
        _packed("one document", 4, 4, 4),
        _packed("every token its own document", 3, 1, 2, 0),
        _packed("ids that float64 cannot tell apart", 2**60, 2**60 + 1, 2**60, -(2**60)),
        _packed("ids 2^31 - 1 apart", 5, 5 + 2**31 - 1, 5),
        _packed("the largest and the smallest id", 2**63 - 1, -(2**63), 0, 2**63 - 1, -(2**63)),
        _packed("one token", 6),
    ],
    draw=_draw_documents,
    mistakes=f"""
reversed polarity: True and False are swapped. Here True means: may attend.
    return ~(same_document & np.tri(len(ids), dtype=bool))
same document, not causal: You compare the ids, but a query still sees later tokens of its own \
document. Compose with the causal mask.
    return same_document
causal, documents ignored: You built the causal mask, but a query still reads the documents packed \
before its own. Compare the ids as well.
    return np.tri(len(ids), dtype=bool)
upside down: Rows are queries and columns are keys. Yours is transposed: each query sees the \
future and not the past.
    return same_document & np.tri(len(ids), dtype=bool).T
own key hidden: You hid the diagonal, off by one: a query may see its own key, so j <= i and not \
j < i. The first token of a document would see nothing.
    return same_document & np.tri(len(ids), k=-1, dtype=bool)
or instead of and: You joined the two rules with OR. A key must pass both: use &.
    return same_document | np.tri(len(ids), dtype=bool)
ids ordered: You compare ids with >=. Earlier documents then stay visible; ids are names, only == \
means anything.
    same_document = ids[:, None] >= ids[None, :]
pieces, not documents: You start a new document wherever the id changes. A document that comes \
back is the same one: compare the ids themselves.
    ids = np.cumsum(np.append(0, document_ids[1:] != document_ids[:-1]))
{ADDITIVE}
    return np.where(same_document & np.tri(len(ids), dtype=bool), 0.0, -np.inf)
""",
)

# --- A window with sinks ----------------------------------------------------------------------


def my_window_mask(n_q, n_k, window, sinks):
    position = np.arange(n_q)[:, None] + n_k - n_q
    key = np.arange(n_k)[None, :]
    in_window = key > position - window
    return (key <= position) & (in_window | (key < sinks))


def _draw_window(rng: np.random.Generator) -> Case:
    """Few and many keys, with 1 to n_k queries; windows and sinks may exceed the keys."""
    n_k = int(rng.integers(1, 10) if rng.random() < 0.9 else rng.integers(65, 150))
    n_q = n_k if rng.random() < 0.3 else int(rng.integers(1, n_k + 1))
    window = 1000 if rng.random() < 0.1 else int(rng.integers(1, n_k + 3))
    sinks = 0 if rng.random() < 0.2 else int(rng.integers(0, n_k + 3))
    args = (n_q, n_k, window, sinks)
    return Case(f"drawn: n_q={n_q}, n_k={n_k}, window={window}, sinks={sinks}", args)


check_window_mask = Check(
    "window_mask",
    my_window_mask,
    asks="f(n_q, n_k, window, sinks) -> bool [n_q, n_k]: causal, bottom-right",
    cases=[
        Case("a window of 2, no sinks", (5, 5, 2, 0)),
        Case("a window of 3 and 1 sink", (6, 6, 3, 1)),
        Case("2 new queries, 7 keys", (2, 7, 3, 0)),
        Case("2 new queries, 7 keys, 2 sinks", (2, 7, 2, 2)),
        Case("more sinks than the first query may see", (5, 5, 1, 3)),
        Case("a window wider than the text", (3, 3, 11, 0)),
        Case("one query, a window of 1", (1, 5, 1, 1)),
        Case("a window of 1, no sinks", (4, 6, 1, 0)),
        Case("a long text", (70, 150, 40, 3)),
        Case("two new queries, 300 keys", (2, 300, 280, 3)),
    ],
    draw=_draw_window,
    mistakes=f"""
reversed polarity: True and False are swapped. Here True means: may attend.
    return ~((key <= position) & (in_window | (key < sinks)))
top-left alignment: You counted queries from the first key. The queries are the LAST n_q \
positions: query i stands at position i + n_k - n_q.
    position = np.arange(n_q)[:, None]
top-left alignment, sinks forgotten: np.tril and np.triu count from the first key, and know no \
sinks. Compare positions: query i stands at i + n_k - n_q.
    position = np.arange(n_q)[:, None]
    return (key <= position) & in_window
a row for each key: Your mask is [n_k, n_k]. The queries are the last n_q positions: make n_q \
rows, or keep the last n_q of yours.
    position = np.arange(n_k)[:, None]
a row for each key: Your mask is [n_k, n_k], and the sinks are missing. The queries are the last \
n_q positions: make n_q rows, or keep the last n_q of yours.
    position = np.arange(n_k)[:, None]
    return (key <= position) & in_window
transposed: Rows are queries and columns are keys. Yours is transposed.
    return ((key <= position) & (in_window | (key < sinks))).T
window one too wide: Your window is off by one: it holds window + 1 keys. One's own key counts.
    in_window = key >= position - window
window one too narrow: Your window is off by one: it holds window - 1 keys. One's own key is one \
of them.
    in_window = key > position - window + 1
window not causal: Your window reaches into the future. Only keys at or before one's own position \
may be seen.
    in_window = abs(key - position) < window
    return in_window | (key < sinks)
sinks not causal: Your sinks can be seen before they were written: with 3 sinks, query 0 still \
sees key 0 alone.
    return ((key <= position) & in_window) | (key < sinks)
sinks forgotten: You forgot the sinks: the first `sinks` keys stay visible to every later query.
    return (key <= position) & in_window
one sink too many: Your sinks are off by one: the first `sinks` keys are those with j < sinks.
    return (key <= position) & (in_window | (key <= sinks))
sinks and window: A key is visible if it lies in the window OR is a sink; you asked for both.
    return (key <= position) & in_window & (key < sinks)
window forgotten: This is the causal mask: old keys that have left the window are still visible.
    return key <= position
{ADDITIVE}
    return np.where((key <= position) & (in_window | (key < sinks)), 0.0, -np.inf)
""",
)

# --- Catch the leak ---------------------------------------------------------------------------


def causal(q, k, v):
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    i, j = np.arange(len(q))[:, None], np.arange(len(q))
    mask = j <= i
    s = np.where(mask, q @ k.T / np.sqrt(k.shape[1]), -np.inf)
    m = s.max(axis=1, keepdims=True)
    e = np.exp(s - np.where(m > -np.inf, m, 0))
    l = e.sum(axis=1, keepdims=True)
    o = e / np.where(l > 0, l, 1) @ v
    return o


check_leak_test = TestCheck(
    "my_leak_test",
    asks="test(attention), which raises AssertionError if attention(q, k, v) sees the future",
    of=causal,
    right="""
table: it hides the future before the softmax
another order: it adds up the keys from the last to the first, so it rounds differently
    i, j = np.arange(len(q))[:, None], np.arange(len(q))[::-1]
    + k, v = k[::-1], v[::-1]
einsum: an additive mask of 0 and -inf hides too
    s = np.einsum("id,jd->ij", q, k) / np.sqrt(k.shape[1]) + np.where(mask, 0.0, -np.inf)
    o = np.einsum("ij,jd->id", e / l, v)
query by query: each query meets its past only
    - o = e
    + rows = [np.exp(s[t, : t + 1] - s[t, : t + 1].max()) for t in range(len(q))]
    + o = np.stack([row / row.sum() @ v[: len(row)] for row in rows])
tiles: a running softmax over tiles is exact
    - o = e
    + m, l, o = np.full((len(q), 1), -np.inf), 0, 0
    + for start in range(0, len(q), 8):
    +     tile = slice(start, start + 8)
    +     new = np.maximum(m, s[:, tile].max(axis=1, keepdims=True))
    +     e, shrink = np.exp(s[:, tile] - new), np.exp(m - new)
    +     l, o, m = l * shrink + e.sum(axis=1, keepdims=True), o * shrink + e @ v[tile], new
    return o / l
float32: it computes in float32, so its seventh digit is its last: allow for 1e-5
    q, k, v = (np.asarray(x, dtype=np.float32) for x in (q, k, v))
centred and back: it takes the mean of all values away and adds it again, in float32: later tokens \
move its last digits and nothing else, so allow for 1e-5
    q, k, v = (np.asarray(x, dtype=np.float32) for x in (q, k, v))
    o = (e / l @ (v - v.mean(axis=0))).astype(np.float32) + v.mean(axis=0)
""",
    wrong="""
no mask: every query sees every key
    mask = j >= 0
reversed polarity: it shows the future and hides the past
    mask = j > i
transposed: each query sees what follows it
    mask = j >= i
one key too many: each query sees one token too many, its next. Do you change that one, and look \
at every output before it?
    mask = j <= i + 1
zeroed after softmax: its weights of later tokens are exactly 0, and its outputs move, for a later \
key is counted in the sum of the softmax. Does your test look at outputs, or at weights? Does it \
change later keys, or only values?
    s = q @ k.T / np.sqrt(k.shape[1])
    o = e * mask / l @ v
-5 for -inf: it hides the future badly, so that a hidden key keeps about 1/150 of its weight. Is \
your tolerance small enough?
    s = q @ k.T / np.sqrt(k.shape[1]) - 5 * (j > i)
all down: it subtracts a share of the size of each value, later ones included. Do you change \
later values, and look at differences of both signs?
    o = e / l @ v - abs(v).sum(axis=0) / 50
centred queries: it subtracts the mean of all queries, later ones included. A token is its query, \
key and value: do you change all three?
    s = np.where(mask, (q - q.mean(axis=0)) @ k.T / np.sqrt(k.shape[1]), -np.inf)
scaled keys: it divides by the mean size of all keys, later ones included. Do you change later \
keys, and their size?
    s = np.where(mask, q @ k.T / np.sqrt((k**2).mean() + 1e-9) / np.sqrt(k.shape[1]), -np.inf)
up to the block's end: it leaks within blocks of four tokens, so some outputs are right. Do you \
look at every output, after every prefix?
    mask = j // 4 <= i // 4
early rows: the first seven outputs see one token too many, all others are right. Do you try short \
prefixes as well as long ones?
    mask = (j <= i) | ((j == i + 1) & (i < 7))
faint: it adds a little of the size of each value, so its outputs grow by a few thousandths. Is \
your tolerance small enough, and do you look at differences of both signs?
    o = e / l @ v + abs(v).sum(axis=0) / 1e4
last but one: one output leaks, the last but one. Do you look at every output?
    mask = (j <= i) | (i == len(q) - 2)
round the corner: output 0 depends on the last value, as v[-1] comes before v[0] in Python. Do you \
look at the first output, and change the last token?
    return (o + v[np.arange(len(v)) - 1]) / 2
far ahead: the next eight tokens are hidden well, those behind them are not. Do you change tokens \
that lie far ahead?
    mask = (j <= i) | (j > i + 8)
beyond 32: it is right for the first 32 tokens. How long is your text?
    mask = (j <= i) | (i >= 32)
scaled by length: how sharply a query looks depends on how many tokens the text has, later ones \
included. Changing them leaves their number alone: do you cut them off?
    s = np.where(mask, np.log(len(q)) * q @ k.T / np.sqrt(k.shape[1]), -np.inf)
""",
)

# --- Few keys, whole past ---------------------------------------------------------------------

N_TOKENS = 16
ENOUGH, FEWEST = 7, 5  # 4 keys serve 4 + 3 * 3 = 13 tokens at most


def _problem(mask: np.ndarray) -> str:
    """The first thing that is wrong with a mask; "" if nothing is."""
    if mask.shape != (N_TOKENS, N_TOKENS):
        return f"  expected shape (16, 16)\n  yours    shape {mask.shape}"
    if mask.dtype != bool:
        return f"  expected dtype bool\n  yours    dtype {mask.dtype}"
    for i, j in np.argwhere(np.triu(mask, 1))[:1]:
        return f"  Query {i} sees key {j}, which lies ahead: the mask is not causal."
    for i, j in np.argwhere(np.tri(N_TOKENS, dtype=bool) & ~(mask @ mask))[:1]:
        seen = ", ".join(map(str, np.flatnonzero(mask[i])))
        if not seen:
            return f"  Query {i} sees no key at all. It may see itself, and should."
        return (
            f"  Two layers do not connect token {i} to token {j}: query {i} sees {seen}, and none "
            f"of those sees {j}."
        )
    counts = mask.sum(axis=1)
    if counts.max() > ENOUGH:
        return (
            f"  Two layers see the whole past, but query {counts.argmax()} sees {counts.max()} "
            f"keys; {ENOUGH} are allowed."
        )
    return ""


def _praise(mask: np.ndarray) -> str:
    keys = int(mask.sum(axis=1).max())
    praise = f"{FEWEST} are possible. Who sees more than they need?"
    if keys == FEWEST:
        praise = "These are the fewest there are: four keys serve 13 tokens at most."
    return f", with at most {keys} keys a query. {praise}"


check_few_keys = DesignCheck(
    "few_keys",
    read=lambda answer: [to_array(answer, "a boolean mask [16, 16]")],
    problem=_problem,
    praise=_praise,
    asks="f() -> bool [16, 16]: causal, few keys a query, the whole past in two layers",
)
