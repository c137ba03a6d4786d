"""The checks of the chapter on multi-head attention."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from attention_src.attention.reference import attention, attention_weights
from attention_src.exercises.engine import Case, Check, DesignCheck, Ladder, Rung
from attention_src.exercises.engine.answers import to_array
from attention_src.softmax.reference import softmax  # noqa: F401  two mistakes need it

Array = np.ndarray

# --- Split and merge --------------------------------------------------------------------------


def split_heads(x, n_heads):
    d = x.shape[-1] // n_heads
    cut = x.reshape(*x.shape[:-1], n_heads, d)  # [..., n, H, d]
    return cut.swapaxes(-2, -3)


def merge_heads(x):
    H, n, d = x.shape[-3:]
    return x.swapaxes(-2, -3).reshape(*x.shape[:-3], n, H * d)


def _labelled(n: int, width: int) -> Array:
    """Token t, column c holds 10 t + c, so that an answer shows where each number is from."""
    return 10.0 * np.arange(n)[:, None] + np.arange(width)


def _labelled_heads(H: int, n: int, d: int) -> Array:
    """Head h, token t, column c holds 100 h + 10 t + c."""
    return 100.0 * np.arange(H)[:, None, None] + _labelled(n, d)


def _draw_split(rng: np.random.Generator) -> tuple:
    leading = [int(size) for size in rng.integers(1, 4, rng.integers(0, 4))]
    n, H, d = (int(size) for size in rng.integers(1, 6, 3))
    if rng.random() < 0.1:
        H = int(rng.integers(12, 20))
    x = rng.normal(size=(*leading, n, H * d))
    return (x.astype(np.float32) if rng.random() < 0.3 else x), H


def _draw_merge(rng: np.random.Generator) -> tuple:
    x, H = _draw_split(rng)
    return (x.reshape(*x.shape[:-2], H, x.shape[-2], -1),)


_BATCH = np.random.default_rng(1).normal(size=(2, 3, 4))

_HEADS_BY_COLUMNS = np.asfortranarray(_BATCH.reshape(2, 3, 2, 2)).swapaxes(1, 2)

check_split_heads = Check(
    "split_heads",
    split_heads,
    asks="f(x [..., n, H * d], n_heads) -> [..., H, n, d]",
    cases=[
        Case("three tokens, two heads of width 2", (_labelled(3, 4), 2)),
        Case("two tokens, three heads of width 2", (_labelled(2, 6), 3)),
        Case("one head", (_labelled(3, 4), 1)),
        Case("heads of width 1", (_labelled(3, 4), 4)),
        Case("as many tokens as heads", (_labelled(2, 6), 2)),
        Case("one token", (_labelled(1, 6), 2)),
        Case("a batch of two", (_BATCH, 2)),
        Case("numbers that float32 cannot hold", (1e300 * _BATCH, 2)),
        Case("two leading axes, one of length 1", (_BATCH[:, None], 2)),
        Case("a batch of two, the first axis nearest in memory", (np.asfortranarray(_BATCH), 2)),
    ],
    draw=_draw_split,
    rtol=0,
    mistakes="""
reshaped only: The shape is right and the numbers are in the wrong heads: your reshape cut the \
tokens into heads. Cut the last axis in two first, then swap two axes.
    return x.reshape(*x.shape[:-2], n_heads, x.shape[-2], d)
not swapped: You cut the last axis, so this is [..., n, H, d]. Swap the axes of tokens and heads.
    return cut
interleaved: Each head took every H-th column. A head's columns are adjacent: head 0 has the first \
d of them.
    return np.moveaxis(x.reshape(*x.shape[:-1], d, n_heads), -1, -3)
width and tokens swapped: This is [..., H, d, n]. Swap tokens and heads, and leave the width last.
    return cut.swapaxes(-2, -3).swapaxes(-1, -2)
n_heads taken for the width: You made heads of width n_heads. n_heads is how many there are.
    cut = x.reshape(*x.shape[:-1], d, n_heads)
heads in front: The heads went in front of the batch. They belong just before the tokens: \
[..., H, n, d].
    return np.moveaxis(cut, -2, 0)
""",
)

check_merge_heads = Check(
    "merge_heads",
    merge_heads,
    asks="f(x [..., H, n, d]) -> [..., n, H * d]",
    cases=[
        Case("two heads, three tokens, width 2", (_labelled_heads(2, 3, 2),)),
        Case("three heads, two tokens, width 2", (_labelled_heads(3, 2, 2),)),
        Case("one head", (_labelled_heads(1, 3, 2),)),
        Case("heads of width 1", (_labelled_heads(4, 3, 1),)),
        Case("as many tokens as heads", (_labelled_heads(2, 2, 3),)),
        Case("one token", (_labelled_heads(2, 1, 3),)),
        Case("a batch of two", (_BATCH.reshape(2, 2, 3, 2),)),
        Case("numbers that float32 cannot hold", (1e300 * _BATCH.reshape(2, 2, 3, 2),)),
        Case("two leading axes, one of length 1", (_BATCH.reshape(2, 1, 2, 3, 2),)),
        Case("a batch of two, the first axis nearest in memory", (_HEADS_BY_COLUMNS,)),
    ],
    draw=_draw_merge,
    rtol=0,
    mistakes="""
reshaped only: The shape is right, but a row now mixes several tokens: reshape reads the numbers \
in the order in which they stand. Swap heads and tokens first.
    return x.reshape(*x.shape[:-3], n, H * d)
interleaved: Your columns take turns among the heads. A head's columns stay adjacent.
    return np.moveaxis(x, -3, -1).reshape(*x.shape[:-3], n, H * d)
heads added: You added the heads up. They stand side by side; W_O does the adding.
    return x.sum(axis=-3)
stacked side by side: np.hstack(x) joins what the first axis holds, and that is heads only where \
nothing stands before them. Swap the last but one two axes, and reshape.
    return np.hstack(x)
concatenated: np.concatenate(x, axis=-1) joins what the first axis holds, and that is heads only \
where nothing stands before them. Swap the last but one two axes, and reshape.
    return np.concatenate(x, axis=-1)
tokens in a row: This is [..., H, n * d]: tokens in a row. There is one row for each token.
    return x.reshape(*x.shape[:-3], H, n * d)
swapped, not merged: This is [..., n, H, d]. Join the last two axes.
    return x.swapaxes(-2, -3)
last head first: The last head came first. Head 0 has the first columns.
    return x[..., ::-1, :, :].swapaxes(-2, -3).reshape(*x.shape[:-3], n, H * d)
""",
)

# --- All together -----------------------------------------------------------------------------


def multihead_attention(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q = split_heads(x @ w_q, n_heads)  # [..., H, n, d_k]
    k = split_heads(x @ w_k, n_heads)
    v = split_heads(x @ w_v, n_heads)  # [..., H, n, d_v]
    o = attention(q, k, v, mask=mask)  # one call for all heads
    return merge_heads(o) @ w_o


_reshaped, _interleaved = (check_split_heads.mistakes[i].wrong for i in (0, 2))


def _masked(q: Array, k: Array, mask: Any, hidden: float = -np.inf) -> Array:
    """Scaled scores, `hidden` where the mask is False."""
    s = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    return s if mask is None else np.where(mask, s, hidden)


def _weights(rng: np.random.Generator, sizes: Sequence[int], spread: float) -> tuple[Array, ...]:
    """The four matrices; w_q and w_k of `spread`. sizes: d_model, H, d_k, d_v."""
    d_model, H, d_k, d_v = sizes
    shapes = (d_model, H * d_k), (d_model, H * d_k), (d_model, H * d_v), (H * d_v, d_model)
    w_q, w_k, w_v, w_o = (rng.normal(size=shape) for shape in shapes)
    return spread * w_q, spread * w_k, w_v, w_o


def _inputs(seed: int, *sizes: int, lead: tuple[int, ...] = (), spread: float = 1.0) -> tuple:
    """x, the weights and n_heads. sizes: n, d_model, H, d_k, d_v."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(*lead, *sizes[:2]))
    return x, *_weights(rng, sizes[1:], spread), sizes[2]


def _case(name: str, inputs: tuple, mask: Any = None, rtol: float | None = None) -> Case:
    return Case(name, (*inputs, mask), rtol=rtol)


def _draw(rng: np.random.Generator) -> tuple:
    lead = tuple(int(size) for size in rng.integers(1, 4, rng.integers(0, 3)))
    n, *sizes = (int(size) for size in rng.integers(1, 5, 5))
    if n in lead[:1]:  # then `attention` refuses a mask [n, n]: it may mean [B, n]
        n += 3
    spread = float(rng.choice([0.3, 1.0, 30.0]))
    w = _weights(rng, sizes, spread)
    full = (*lead, sizes[1], n, n)
    axes = int(rng.integers(1, len(full) + 1))
    shape = [size if rng.random() < 0.7 else 1 for size in full[-axes:]]
    mask = rng.random(shape) < 0.7 if rng.random() < 0.7 else None
    return rng.normal(size=(*lead, n, sizes[0])), *w, sizes[1], mask


def _loud(name: str, seed: int, size: float) -> Case:
    """Scores around `size`; the largest of each row is hidden, and in head 0 one row is blind."""
    x, *w, H = _inputs(seed, 4, 4, 2, 2, 3, spread=size**0.5)
    s = split_heads(x @ w[0], H) @ split_heads(x @ w[1], H).swapaxes(-1, -2)  # [H, n, n]
    mask = s < s.max(axis=-1, keepdims=True)
    mask[0, 2] = False
    return Case(name, (x, *w, H, mask))


_CLOSE = _inputs(13, 4, 4, 2, 2, 3)  # every score is 10,000 and a little
_CLOSE[0][:, 0] = 1
for _w in _CLOSE[1:3]:
    _w[:, ::2] = np.array([[100], [0], [0], [0]])
_LOW = np.array([[-1e6], [1e6]]), np.array([[1e7], [9.9e6]]), np.eye(2, 1), np.ones((1, 2))
# d_k = 1, scores of 2^43 and -2^43: two alike and one 1 lower. All are whole numbers.
_TIED = np.array([[2.0**21], [-(2.0**21)], [0]]), np.array([[2.0**22], [2.0**22], [2**22 - 2**-21]])
_ONE_SEEN = np.array([[True, False], [True, True]])
_MIXED = np.array([[1.0], [5], [-3]]), np.array([[1.0, 2, 0]])
_SIZES = (3, 4, 2, 2, 2)
_FIVE = np.tri(5, dtype=bool)
_PADDED = (np.arange(3) < np.array([[3], [2]]))[:, None, None]  # [2, 1, 1, 3]
_BLIND = np.array([[True, True, False], [False, False, False], [True, False, True]])
_BOTH_WAYS = np.stack([np.tri(20, dtype=bool), ~np.tri(20, k=-1, dtype=bool)])[:, None]
_EACH = np.stack([np.tri(3, dtype=bool), np.eye(3, dtype=bool)])

check_multihead_attention = Check(
    "multihead_attention",
    multihead_attention,
    asks="f(x, w_q, w_k, w_v, w_o, n_heads, mask=None) -> [..., n, d_model]",
    cases=[
        _case("three tokens, two heads", _inputs(0, *_SIZES)),
        _case("d_k = 3 and d_v = 1", _inputs(1, 4, 5, 2, 3, 1)),
        _case("one head", _inputs(2, 3, 4, 1, 4, 4)),
        _case("a causal mask [n, n]", _inputs(3, 5, 4, 2, 2, 2), _FIVE),
        _case("a query that may see nothing", _inputs(4, *_SIZES), _BLIND),
        _loud("scores around 1,000, the largest hidden", 10, 1e3),
        _case("scores near 10,000, close together", _CLOSE),
        _loud("scores around 100,000, the largest hidden", 11, 1e5),
        _loud("scores around 10^12, the largest hidden", 12, 1e12),
        _case("a batch of two, padded: mask [2, 1, 1, n]", _inputs(5, *_SIZES, lead=(2,)), _PADDED),
        _case("each head its own mask [H, n, n]", _inputs(6, *_SIZES), _EACH),
        _case("as many tokens as heads", _inputs(7, 2, 6, 2, 3, 3, lead=(3,))),
        _case("heads wider together than d_model", _inputs(8, 3, 2, 3, 4, 2)),
        _case("one token", _inputs(9, 1, 3, 2, 2, 2, lead=(1, 2))),
        _case("a visible score of -10^13", (np.eye(2), *_LOW, 1), _ONE_SEEN),
        # A logarithm of the sum, added to such a maximum, keeps two digits.
        _case("scores of 10^13, tied", (np.eye(3), *_TIED, *_MIXED, 1), rtol=1e-2),
        _case("d_k = 65", _inputs(15, 3, 2, 2, 65, 2, spread=0.3)),
        _case("three axes in front", _inputs(16, *_SIZES, lead=(2, 1, 2))),
        _case(
            "six heads, a mask [2, 1, n, n]", _inputs(17, 20, 18, 6, 3, 2, lead=(2,)), _BOTH_WAYS
        ),
        _case("d_k = 1, to twelve digits", _inputs(14, 3, 2, 2, 1, 2), rtol=1e-12),
    ],
    draw=_draw,
    mistakes="""
one head: You attended once, with the full width. Split q, k and v first: each head has its own \
softmax.
    v, k, q = (split_heads(x @ w, 1) for w in (w_v, w_k, w_q))
scaled by the full width: You divided by the root of H * d_k. The scale of a head is that of its \
own width.
    o = attention(q, k, v, mask=mask, scale=w_q.shape[1] ** -0.5)
scaled by d_model: You divided the scores by the root of d_model. A head's queries are d_k wide.
    o = attention(q, k, v, mask=mask, scale=x.shape[-1] ** -0.5)
no scale: The scores are not divided by the root of d_k.
    o = attention(q, k, v, mask=mask, scale=1.0)
split by reshape: Your split cuts the tokens into heads, not the columns: it lacks the swap of axes.
    v, k, q = (_reshaped(x @ w, n_heads) for w in (w_v, w_k, w_q))
merged by reshape: Your merge mixes several tokens in one row: swap heads and tokens before you \
reshape.
    return o.reshape(*x.shape[:-1], -1) @ w_o
split and merged by reshape: Both your split and your merge lack the swap of axes: heads attend \
among pieces of neighbouring tokens.
    v, k, q = (_reshaped(x @ w, n_heads) for w in (w_v, w_k, w_q))
    return o.reshape(*x.shape[:-1], -1) @ w_o
interleaved: Each head took every H-th column. A head's columns are adjacent.
    v, k, q = (_interleaved(x @ w, n_heads) for w in (w_v, w_k, w_q))
mask not used: This is attention without a mask.
    o = attention(q, k, v)
reversed polarity: You hid the keys that the mask allows. Here True means: may attend.
    o = attention(q, k, v, mask=None if mask is None else ~mask)
w_o transposed: Your output goes through w_o.T, as torch.nn.Linear stores a matrix. Here the input \
stands on the left, and w_o is [H * d_v, d_model]: @ w_o.
    return merge_heads(o) @ w_o.T
w_q, w_k and w_v transposed: You multiply by w_q.T, w_k.T and w_v.T, as torch.nn.Linear stores \
them. Here the input stands on the left: x @ w_q.
    v, k, q = (split_heads(x @ w.T, n_heads) for w in (w_v, w_k, w_q))
merged by np.concatenate: np.concatenate(o, axis=-1) joins what the first axis holds, and that is \
heads only where x has no leading axes. Swap heads and tokens, and reshape.
    return np.concatenate(o, axis=-1) @ w_o
score set to 0: A hidden key has score 0 in yours, as s * mask makes it. exp(0) = 1 is not \
nothing: its score must become -inf.
    o = softmax(_masked(q, k, mask, hidden=0)) @ v
mask added: You added the mask to the scores: True counts as 1, so visible scores grow by 1 and \
hidden ones stay. Hidden scores must become -inf.
    o = softmax(_masked(q, k, None) + (0 if mask is None else mask)) @ v
-1e9 added: You added a large finite number to hidden scores. In a row where every key is hidden \
softmax ignores it, and large scores overtake it. Use -inf, and let an empty row give 0.
    o = softmax(_masked(q, k, None) - (0 if mask is None else 1e9 * ~mask)) @ v
zeroed after softmax: Hidden keys still count in the sum of the softmax, so the visible weights no \
longer sum to 1. Set scores to -inf before it.
    o = softmax(_masked(q, k, None)) * (1 if mask is None else mask) @ v
residual added: You added x. Here the layer returns what its heads write, without x.
    return x + merge_heads(o) @ w_o
w_o left out: The merged heads still have to go through w_o.
    return merge_heads(o)
scaled twice: You divided by d_k: by its root twice. attention scales its scores itself.
    o = attention(q, k, v, mask=mask, scale=1 / q.shape[-1])
scaled by d_v: You divided the scores by the root of d_v, the width of the values.
    o = attention(q, k, v, mask=mask, scale=v.shape[-1] ** -0.5)
w_q and w_k swapped: Your queries are made with w_k and your keys with w_q.
    o = attention(k, q, v, mask=mask)
softmax over the queries: Your softmax runs over the queries. Each query's weights sum to 1 over \
its keys.
    o = softmax(_masked(q, k, mask), axis=-2) @ v
blind rows averaged: A hidden score of -1e9 is a finite one: a query that may see nothing gets a \
mean, and large scores are overtaken. Use -inf, and let an empty row give 0.
    o = softmax(_masked(q, k, mask, hidden=-1e9)) @ v
NaN where a query sees nothing: Its row computes -inf - (-inf), or 0 / 0. Such a head brings back 0.
    o = attention(q, k, v, mask=mask)
    + o = o if mask is None else np.where(np.any(mask, axis=-1)[..., None], o, np.nan)
hidden by -1e4: A query that may see nothing gets a mean, since all its scores became one finite \
number, and large scores are overtaken. Use -inf, and let an empty row give 0.
    o = softmax(_masked(q, k, mask, hidden=-1e4)) @ v
maximum from 0: Your maximum begins at 0. In a row far below 0 every exponential is then 0. Take \
the maximum of the row's own visible scores.
    - o = attention
    + s = _masked(q, k, mask)
    + e = np.exp(s - np.maximum(s.max(axis=-1, keepdims=True), 0))
    + l = e.sum(axis=-1, keepdims=True)
    + o = e / np.where(l > 0, l, 1) @ v
no shift: exp of a large score overflows: take the largest visible score of each row off first.
    - o = attention
    + e = np.exp(_masked(q, k, mask))
    + l = e.sum(axis=-1, keepdims=True)
    + o = e / np.where(l > 0, l, 1) @ v
""",
)

# --- What one head leaves ---------------------------------------------------------------------


# The best m = (w · wanted) / (w · w) takes (w · wanted)^2 / (w · w) off the variance.
TAKEN = (3 / 4 - 1 / 4) ** 2 / (9 / 16 + 1 / 16)

# fmt: off
check_bound = Ladder("bound", [
    Rung("a", "the error for weights 1/2, 1/2 and m = 2", (1 - 2 / 2) ** 2 + (1 + 2 / 2) ** 2, {
        2: "That is what m = 0 leaves, an answer that says nothing.",
        0: "So it is for the sum. Here v_b has the wrong sign.",
    }, hint="The answer is v_a + v_b. By how much does it miss v_a - v_b?"),
    Rung("b", "the best m for weights 1/2, 1/2", (1 / 2 - 1 / 2) / (1 / 4 + 1 / 4), {
        1: "With m = 1 the error is 2.5: it gets worse than saying nothing.",
        2: "That is (a).",
    }, hint="What is gained at v_a is lost at v_b."),
    Rung("c", "the best m for weights 3/4, 1/4", (3 / 4 - 1 / 4) / (9 / 16 + 1 / 16), {
        0.5: "This is w_a - w_b. It would be best if the squares of the weights summed to 1.",
        1 / 0.75: "This makes v_a count 1, and v_b a third, too much.",
    }, hint="Set the derivative by m of (1 - m w_a)^2 + (1 + m w_b)^2 to 0."),
    Rung("d", "the least error for weights 3/4, 1/4", 2 - TAKEN, {
        TAKEN: "This is what you gain. Take it from 2.",
        (1 - 3 / 4) ** 2 + (1 + 1 / 4) ** 2: "This is the error for m = 1.",
        (2 - TAKEN) / 2: "This is the share that is left. As a mean square it is 2 times that.",
    }, hint="Put the m of (c) in."),
    Rung("e", "the least error of one head for a + b - c",
         3 - (1 / 2 + 1 / 2) ** 2 / (1 / 4 + 1 / 4), {
        3 - (1 / 3) ** 2 / (3 / 9): "That is for three equal weights. Which city should get none?",
        3 - 1: "That is for one city alone. One head can add two up.",
        0: "The third city still counts 1, and the head leaves it out.",
    }, hint="What has a plus sign, one head can add up."),
], asks="the rungs of the exercise \"What one head leaves\"")

# --- Stuck, on paper --------------------------------------------------------------------------

# A head with the factor f moves weight from a to b: c_a falls and c_b rises by f for each unit.
check_stuck = Ladder("stuck", [
    Rung("a", "the error for c_a = 0.6, c_b = 0", (1 - 0.6) ** 2 + (1 + 0) ** 2, {
        ((1 - 0.6) ** 2 + 1) / 2: "This is the share that is left. As a mean square it is 2 times.",
        (1 - 0.6) ** 2: "The report of b is missing in the answer, and its mean square is 1.",
        0.6**2 + 1: "0.6 of v_a is in the answer. How much of it is missing?",
        2 - 0.6**2: "The answer takes off more than its own mean square. Put c_a and c_b in.",
        0.6**2: "That is the mean square of the answer. What does it miss?",
        (1 - 0.6) + 1: "These are the misses. Square each.",
        (1 - 0.6 + 1) ** 2: "Square each miss before you add: a product of two reports has mean 0.",
        (1 + 0.6) ** 2: "v_a is wanted with a plus: 1 - c_a of it is missing. And what is of v_b?",
        (1 + 0.6) ** 2 + 1: "v_a is wanted with a plus: 1 - c_a of it is missing.",
        (1 - 0.6) ** 2 + (1 + 0.6) ** 2: "c_b is 0: no head looks at b.",
        1: "That is the error for c_a = 1.",
        2: "That is what the answer 0 leaves.",
        4: "That is the error of v_a + v_b. Here c_a = 0.6, and c_b = 0.",
    }, hint="How much of v_a is missing in the answer, and how much of v_b?"),
    Rung("b", "the slope for the factor +0.5", 2 * 0.5, {
        0.5: "The square has a derivative of 2 times what is squared.",
        -1: "It moves to b with a plus, so the error grows.",
        -0.5: "It moves to b with a plus, so the error grows; and the 2 of the square is lost.",
        0: "The square of 1 - c_a is flat at c_a = 1. The square of 1 + c_b is not flat at 0.",
        1.5: "c_b grows by 0.5 for each unit of weight, not by 1: use the factor in both terms.",
        2: "c_b grows by 0.5 for each unit of weight, not by 1.",
    }, hint="Put c_a = 1 - f w and c_b = f w into (1 - c_a)^2 + (1 + c_b)^2."),
    Rung("c", "the slope for the factor -0.5", 2 * -0.5, {
        -0.5: "The square has a derivative of 2 times what is squared.",
        1: "The factor's sign goes into the slope: it brings b in with a minus.",
        0.5: "The factor's sign goes into the slope, and the square gives a 2.",
        3: "That is the slope for the other head, whose factor is +1.5.",
        -3: "The head that moves has the factor -0.5. 1.5 is the other's.",
    }, hint="c_a and c_b are 1 and 0 again. What has changed is f."),
    Rung("d", "the error when that head looks at b alone", (1 - 1.5) ** 2 + (1 - 0.5) ** 2, {
        1: "That is the error before the head has moved; or the misses were added, then squared.",
        0.25: "One of two terms is missing; or this is the share, which is half of it.",
        0: "c_a is now 1.5, the factor of the other head alone, and c_b is -0.5.",
        0.5**2 + 1.5**2: "c_b is -0.5, and 1 + c_b is 0.5.",
        1.25: "c_a is now 1.5: the head that moved has taken its -0.5 away from a.",
    }, hint="What is c_a now, and what is c_b?"),
    Rung("e", "the slope for v_a + v_b and the factor +0.5", -2 * 0.5, {
        1: "That is the slope for v_a - v_b. Now b is wanted with a plus.",
        -0.5: "The square has a derivative of 2 times what is squared.",
        0: "The square of 1 - c_a is flat at c_a = 1. The square of 1 - c_b is not flat at 0.",
    }, hint="The error is now (1 - c_a)^2 + (1 - c_b)^2."),
], asks="the rungs of the exercise \"Stuck, on paper\"")
# fmt: on

# --- A head by hand ---------------------------------------------------------------------------

NAMES = ("w_q", "w_k", "w_v", "w_o")
NEAR = 0.01


_RNG = np.random.default_rng(0)
TEXTS = [[2, 0, 3, 1, 2, 0], [0, 1, 2, 3, 3, 2, 1, 0]]
TEXTS += [list(text) for n in (2, 3) for text in itertools.product(range(4), repeat=n)]
TEXTS += [_RNG.integers(0, 4, n).tolist() for n in (4, 5, 6, 7, 8, 8) for _ in range(8)]


def _matrices(answer: Any) -> list[Array]:
    if not isinstance(answer, tuple | list) or len(answer) != len(NAMES):
        raise ValueError("Your function should return four matrices: w_q, w_k, w_v, w_o.")
    parts = zip(answer, NAMES, strict=True)
    return [to_array(w, f"{name}, a matrix").astype(np.float64) for w, name in parts]


def _bad_shapes(*matrices: Array) -> str:
    """The first shape that does not fit; "" if all do."""
    for name, w in zip(NAMES, matrices, strict=True):
        if w.ndim != 2 or 0 in w.shape:
            return f"  {name} has shape {w.shape}; it should be a matrix."
        if not np.isfinite(w).all():
            return f"  {name} holds a number that is not finite."
    for name, w in zip(NAMES[:3], matrices, strict=False):
        if w.shape[0] != 16:
            return f"  {name} has shape {w.shape}; tokens are 16 wide: it needs 16 rows."
    q, k, v, o = (w.shape for w in matrices)
    if q != k:
        return f"  w_q is {q} and w_k is {k}: queries and keys must be equally wide."
    return "" if o == (v[1], 16) else f"  w_o has shape {o}; it should be ({v[1]}, 16)."


def _misbehaviour(w_q: Array, w_k: Array, w_v: Array, w_o: Array) -> str:
    """What the head does wrong in the first text where it does; "" if nowhere."""
    for letters in TEXTS:
        n = len(letters)
        x = np.hstack([np.eye(4)[letters], np.eye(8)[:n], np.zeros((n, 4))])  # letter, place, free
        p = attention_weights(x @ w_q, x @ w_k)  # [n, n]
        written = attention(x @ w_q, x @ w_k, x @ w_v) @ w_o  # [n, 16]
        wanted = x[:-1, :4]
        near = np.abs(written[1:, 12:] - wanted).max(axis=1) <= NEAR
        at, part = np.unravel_index(np.abs(written[:, :12]).argmax(), (n, 12))
        elsewhere = written[at, part]
        text = "".join("abcd"[i] for i in letters)
        if not near.all():
            wrong = np.flatnonzero(~near) + 1
            i = int(wrong[len(wrong) // 2])  # places at the ends have a neighbour on one side only
            return _wrong_letter(text, i, p[i], written[i, 12:], wanted[i - 1])
        if not abs(elsewhere) <= NEAR:
            return (
                f"  In {text} the right letters are written, but at place {at}, counted from 0, "
                f"the head also writes {elsewhere:.3g} into component {part}, outside the free "
                "components 12 to 15. Others read those."
            )
    return ""


def _wrong_letter(text: str, i: int, p: Array, got: Array, wanted: Array) -> str:
    """What is wrong at one place: where the head looks, or what it writes."""
    j = int(np.argmax(p))
    if p[i - 1] > 1 - NEAR:
        where = "at the right place. What does it take from there, and where does\n  it write that?"
    elif np.ptp(p) < 1e-9:
        where = "at all places alike: all scores of this row are equal."
    elif j == i - 1:
        where = f"at the right place with weight {p[j]:.3f}, and elsewhere with the\n  rest. "
        where += "Sharper: multiply w_q by a number."
    elif p[j] < 0.5:
        where = f"at several places, and gives place {i - 1} the weight {p[i - 1]:.3f}."
    elif j == i:
        where = f"at itself, with weight {p[j]:.3f}."
    elif j == i + 1:
        where = f"one place ahead, with weight {p[j]:.3f}. Which way is your shift?"
    else:
        where = f"most at place {j} ({text[j]}), with weight {p[j]:.3f}."
    lines = [
        f"  Text {text}, place {i} ({text[i]}), counted from 0: before it stands {text[i - 1]}.",
        f"  expected in components 12 to 15: {', '.join(f'{x:.0f}' for x in wanted)}",
        f"  yours:                           {', '.join(f'{x:.3g}' for x in got + 0.0)}",
        f"  It looks {where}",
    ]
    return "\n".join(lines)


check_previous_head = DesignCheck(
    "previous_head",
    read=_matrices,
    problem=lambda *matrices: _bad_shapes(*matrices) or _misbehaviour(*matrices),
    praise=lambda *_: f". It writes the letter before in all {len(TEXTS)} texts, and nothing else.",
    asks="f() -> (w_q, w_k, w_v, w_o): a head that writes the letter before into the free part",
)
