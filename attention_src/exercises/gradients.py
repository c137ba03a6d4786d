"""The checks of the chapter on gradients."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.exercises.engine import Case, Check, Implementation, Ladder, Rung, TestCheck
from attention_src.exercises.engine.answers import to_array
from attention_src.exercises.engine.designing import DesignCheck
from attention_src.exercises.engine.messages import Result
from attention_src.exercises.engine.variants import variants
from attention_src.softmax.reference import softmax

Array = np.ndarray

# --- By hand: one query, two keys. The right values are differences of the loss ------------------

KEYS, VALUES = np.array([np.log(3), 0]), np.array([0.0, 8.0])  # the first entries: the rest are 0


def _loss(q: float, k: Array = KEYS, v: Array = VALUES) -> float:
    return float(0.5 * (softmax(q * k / 2) @ v - 6) ** 2)


def _slopes(f: Callable, x: Array) -> Array:
    """The derivatives of f by the entries of x."""
    steps = 1e-5 * np.eye(len(x))
    return np.array([(f(x + step) - f(x - step)) / 2e-5 for step in steps])


def _dq(q: float) -> float:
    return float(_slopes(lambda q: _loss(q[0]), np.array([q]))[0])


P, DQ, FAR_DQ = softmax(KEYS), _dq(2.0), _dq(20.0)
DV, FAR_DV = (_slopes(lambda v, q=q: _loss(q, v=v), VALUES) for q in (2.0, 20.0))
DK = _slopes(lambda k: _loss(2.0, k), KEYS)
DS = DK  # a score is 2 k / 2

_Rung = functools.partial(Rung, rtol=2e-3)  # three digits

check_by_hand = Ladder("by_hand", [
    _Rung("a", "the two weights", P, {
        tuple(softmax(2 * KEYS)): "The scores are divided by the root of d_k = 4.",
        tuple(softmax(KEYS / 2)): "You divided by d_k. Divide by its root, 2.",
        tuple(P[::-1]): "The first key has the higher score.",
    }),
    _Rung("b", "do", P @ VALUES - 6, {
        2: "This is o. do is the slope of the loss by o.",
        4: "The sign: o is too small, so the loss falls as o grows.",
        -8: "The factor 1/2 cancels the 2 of the square.",
        8: "This is the loss. do is its slope by o.",
    }),
    _Rung("c", "dv of both values", DV, {
        tuple(-DV): "The sign is that of do.",
        (-4, -4): "Each value counts with its weight.",
        tuple(DV[::-1]): "The first key has the larger weight.",
        (0, -8): "This is p v do. o = sum p v: by v it is p.",
    }),
    _Rung("d", "delta", P @ VALUES * -4, {
        8: "do is negative.",
        -32: "This is the plain sum of dp. Each counts with its weight.",
        -16: "This is the plain mean of dp. Weigh it by p.",
    }),
    _Rung("e", "ds of both scores", DS, {
        tuple(-DS): "The sign: dp minus delta, not delta minus dp.",
        (0, -8): "This is p dp. Subtract delta from dp first.",
        (8, -24): "This is dp minus delta. Multiply by p.",
        (-6, -10): "You added delta. Subtract it.",
    }),
    _Rung("f", "the first entry of dq", DQ, {
        2 * DQ: "The factor 1/sqrt(d_k) = 1/2 is missing.",
        DQ / 2: "You divided by d_k. Divide by its root.",
        -DQ: "This is the push. The gradient is its opposite.",
        6: "dq is a sum over keys: ds_j times k_j, not times q.",
    }),
    _Rung("g", "the first entries of dk_1 and dk_2", DK, {
        tuple(2 * DK): "The factor 1/sqrt(d_k) = 1/2 is missing.",
        tuple(DK / 2): "One factor of 1/2 too many.",
        tuple(-DK): "The sign is that of ds.",
        (DQ, 0): "dk_j is ds_j times the query; key 2 moves although it lies at 0.",
    }),
    _Rung("h", "the first entry of dq, from the far query", FAR_DQ, {
        0: "Nearly, and not quite: the second key has some weight left.",
        -FAR_DQ: "This is the push. The gradient is its opposite.",
        2 * FAR_DQ: "The factor 1/sqrt(d_k) = 1/2 is missing.",
    }, atol=0.0),
    _Rung("i", "dv of both values, from the far query", FAR_DV, {
        (-6, 0): "Nearly: the second is small and not 0.",
        tuple(DV): "The weights have changed, and so has do.",
    }, rtol=6e-3, atol=0.0),
], asks="the rungs of \"By hand\"")  # fmt: skip

# --- Attention backward -----------------------------------------------------------------------


def attention_backward(q, k, v, do, mask=None):
    scale = 1 / np.sqrt(q.shape[-1])
    seen = True if mask is None else mask
    s = np.where(seen, scale * q @ k.swapaxes(-1, -2), -np.inf)
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(m == -np.inf, 0, m))
    l = e.sum(axis=-1, keepdims=True)
    p = e / np.where(l == 0, 1, l)
    dv = p.swapaxes(-1, -2) @ do
    dp = do @ v.swapaxes(-1, -2)
    delta = (do * (p @ v)).sum(axis=-1, keepdims=True)
    ds = p * (dp - delta)
    dq = scale * ds @ k
    dk = scale * ds.swapaxes(-1, -2) @ q
    return dq, dk, dv


def _inputs(seed: int, n_q: int, n_k: int, d_k: int, d_v: int, *lead: int) -> tuple:
    rng = np.random.default_rng(seed)
    shapes = ((n_q, d_k), (n_k, d_k), (n_k, d_v), (n_q, d_v))
    return tuple(rng.normal(size=(*lead, *shape)) for shape in shapes)


def _draw(rng: np.random.Generator) -> tuple:
    sizes = [int(n) for n in rng.integers(1, 6, 4)]
    lead = [int(n) for n in rng.integers(1, 4, rng.integers(0, 4))]
    q, k, v, do = _inputs(int(rng.integers(1000)), *sizes, *lead)
    q = q * rng.choice([0.3, 1.0, 5.0, 30.0])
    kind = rng.integers(4)
    if kind == 0:
        return q, k, v, do, None
    shape = [(*lead, *sizes[:2]), (sizes[0], sizes[1]), (sizes[1],)][kind - 1]
    return q, k, v, do, rng.random(shape) < rng.choice([0.3, 0.7])


_PLAIN = _inputs(1, 2, 3, 4, 2)
_SEES = np.array([[True, False, True], [True, True, True]])
_EMPTY = np.array([[False, False, False], [True, True, False]])
_LARGE = _inputs(2, 3, 4, 2, 3)
_LARGE = (_LARGE[0] * 4000, *_LARGE[1:])
_DEEP = _inputs(3, 3, 4, 2, 5, 2, 3)
_LOW_QK = np.full((1, 4), -100.0), np.array([[50.0] * 4, [50, 50, 50, 49.99], [1, 1, 1, 1]])
_LOW = (*_LOW_QK, np.array([[1.0], [2], [3]]), np.ones((1, 1)), np.array([True, True, False]))
_LOWER = _LOW[0], 2.1 * _LOW[1], *_LOW[2:]
_PADDING = np.array([[1, 1, 1, 0], [1, 0, 0, 0]]).reshape(2, 1, 1, 4) > 0
_HEADS = np.array([[[1, 0], [1, 1]], [[1, 1], [0, 1]], [[0, 1], [1, 0]]]) > 0
_NAMES = "two queries, three keys"

check_attention_backward = Check(
    "attention_backward",
    attention_backward,
    asks="f(q, k, v, do, mask) -> (dq, dk, dv), the gradients of attention",
    cases=[
        Case(f"{_NAMES}, no mask", (*_PLAIN, None)),
        Case("three of each", (*_inputs(4, 3, 3, 3, 3), None)),
        Case(f"{_NAMES}, a mask", (*_PLAIN, _SEES)),
        Case("the first query may see nothing", (*_PLAIN, _EMPTY)),
        Case("a mask of shape [n_k]", (*_PLAIN, np.array([True, False, True]))),
        Case("scores up to ten thousand", (*_LARGE, None)),
        Case("large scores and a mask", (*_LARGE, np.tri(3, 4) > 0)),
        Case("two sentences, three heads", (*_DEEP, None)),
        Case("padding [B, 1, 1, n_k]", (*_DEEP, _PADDING)),
        Case("one key", (*_inputs(5, 2, 1, 3, 2), None)),
        Case("no query may see anything", (*_PLAIN, np.zeros((2, 3), dtype=bool))),
        Case("a batch of five", (*_inputs(6, 2, 2, 2, 2, 5), np.tri(2, dtype=bool))),
        Case("three sentences, three heads", (*_inputs(7, 2, 2, 3, 2, 3, 3), _HEADS)),
        Case("visible scores of -10,000", _LOW),
        Case("a mask of shape [n_q, 1]", (*_PLAIN, np.array([[True], [False]]))),
        Case("visible scores of -21,000", _LOWER),
        Case("d_k = 1, to twelve digits", (*_inputs(8, 2, 3, 1, 2), _SEES), rtol=1e-12),
    ],
    mistakes="""
no scale: The scale 1/sqrt(d_k) is in the scores, and again in dq and dk.
    scale = 1.0
scores not scaled: The scores are not divided by sqrt(d_k).
    s = np.where(seen, q @ k.swapaxes(-1, -2), -np.inf)
scale twice: dq and dk are divided by d_k, not by its root; or they were scaled twice, once in ds \
and once in the product.
    dq = scale**2 * ds @ k
    dk = scale**2 * ds.swapaxes(-1, -2) @ q
dk scaled twice: dk is scaled twice, or divided by d_k and not by its root; dq is right.
    dk = scale**2 * ds.swapaxes(-1, -2) @ q
dk not scaled: dk lacks the factor 1/sqrt(d_k).
    dk = ds.swapaxes(-1, -2) @ q
dq not scaled: dq lacks the factor 1/sqrt(d_k).
    dq = ds @ k
no delta: ds = p * dp is elementwise: subtract each row's delta from dp first.
    delta = 0.0
plain mean: delta is the mean of dp under the weights p, not the plain mean.
    delta = dp.mean(axis=-1, keepdims=True)
one delta: Each query has its own delta: sum over the last axis, keepdims=True.
    delta = (p * dp).sum(axis=(-1, -2), keepdims=True)
delta of columns: delta is summed over the keys, axis -1, not over the queries.
    delta = (p * dp).sum(axis=-2, keepdims=True)
p (1 - p) alone: p (1 - p) is how a weight moves with its own score. The other weights of the row \
move too: ds = p * (dp - delta).
    ds = p * (1 - p) * dp
not transposed: dk adds up over the queries: ds must be transposed before q is multiplied.
    dk = scale * (ds if ds.shape[-1] == ds.shape[-2] else ds.swapaxes(-1, -2)) @ q
filled with -2000: Scores reach -10,000 and lower, so -2000 is above some that are visible; and an \
empty row gets equal weights. Use -inf.
    s = np.where(seen, scale * q @ k.swapaxes(-1, -2), -2000)
no p: dp minus delta is right; multiply it by p.
    ds = dp - delta
sign: ds is turned round: p * (dp - delta).
    ds = p * (delta - dp)
dk reshaped: dk needs ds transposed; reshape only regroups its numbers.
    dk = scale * ds.reshape(*ds.shape[:-2], -1, ds.shape[-2]) @ q
dv reshaped: dv needs p transposed; reshape only regroups its numbers.
    dv = p.reshape(*p.shape[:-2], -1, p.shape[-2]) @ do
dq and dk swapped: dq is made from the keys, and dk from the queries.
    return (dk, dq, dv) if q.shape == k.shape else (dq, dk, dv)
ones for do: You left do out: dv = p^T do, and dp = do v^T.
    + do = np.ones_like(do)
mask ignored: The mask is ignored: hidden pairs get weights and gradients.
    seen = True
polarity: The polarity of the mask is reversed: True means may attend.
    seen = True if mask is None else ~mask
zeroed after: Hide before the softmax: here hidden keys still count in its sum.
    s = scale * q @ k.swapaxes(-1, -2)
    p = e / l * seen
score set to 0: A hidden key has score 0 in yours, as s * mask makes it. exp(0) = 1 is not \
nothing: its score must become -inf.
    s = np.where(seen, scale * q @ k.swapaxes(-1, -2), 0)
mask added: You added the mask to the scores: True counts as 1, so visible scores grow by 1 and \
hidden ones stay. Hidden scores must become -inf.
    s = scale * q @ k.swapaxes(-1, -2) + seen
indexed by the mask: s[~mask] asks for a mask of the very shape of s. It may have fewer axes, and \
axes of length 1: np.where(mask, s, -np.inf) broadcasts.
    s = scale * q @ k.swapaxes(-1, -2)
    + s[~np.asarray(seen)] = -np.inf
indexed by the mask: A row with nothing to see computes -inf - (-inf); it gives 0, and so do its \
gradients. And s[~mask] asks for a mask of the very shape of s, where np.where broadcasts.
    s = scale * q @ k.swapaxes(-1, -2)
    + s[~np.asarray(seen)] = -np.inf
    e = np.exp(s - m)
    p = e / l
filled with -1e4: A finite number turns an empty row into equal weights, and visible scores lie \
lower. Use -inf.
    s = np.where(seen, scale * q @ k.swapaxes(-1, -2), -1e4)
maximum from 0: Your maximum begins at 0. In a row far below 0 every exponential is then 0. Take \
the maximum of the row's own scores.
    e = np.exp(s - np.maximum(m, 0))
minus 1e9: A large finite number turns an empty row into ordinary weights.
    s = scale * q @ k.swapaxes(-1, -2) + np.where(seen, 0.0, -1e9)
filled with -1e9: A large finite number turns an empty row into equal weights.
    s = np.where(seen, scale * q @ k.swapaxes(-1, -2), -1e9)
nan: A row with nothing to see became NaN. It gives 0, and so do its gradients.
    e = np.exp(s - m)
    p = e / l
no maximum: exp overflows: subtract each row's maximum.
    e = np.exp(s)
scale by d_v: The scale is by d_k, the length of a query: not by d_v.
    scale = v.shape[-1] ** -0.5
no maximum, and 0 / 0: exp overflows: subtract each row's maximum. And a row with nothing to see \
became NaN: it gives 0, and so do its gradients.
    e = np.exp(s)
    p = e / l
""",
    returns=("dq", "dk", "dv"),
    draw=_draw,
)

# --- Free them faster ---------------------------------------------------------------------------

STEPS, SMALL_ENOUGH = 30, 0.001
N_STARTS, N_KEYS = 48, 8


def _trained(rates: Array, decays: Array, scales: Array) -> tuple[float, float]:
    """The share of queries that are right in the end, and the largest loss, from the sure start."""
    q, k = np.random.default_rng(1).normal(size=(2, N_STARTS, N_KEYS, 16)) * 4
    eye = np.eye(N_KEYS)
    for rate, decay, scale in zip(rates, decays, scales, strict=True):
        p = _weights(q, k, scale)
        ds = scale * p * (p - eye - (p * (p - eye)).sum(axis=-1, keepdims=True))
        dq, dk = ds @ k, ds.swapaxes(-1, -2) @ q
        q, k = q - rate * (dq + decay * q), k - rate * (dk + decay * k)
    p = _weights(q, k, 0.25)
    right = (p[:, range(N_KEYS), range(N_KEYS)] > 0.5).mean()
    return float(right), float((0.5 * (p - eye) ** 2).sum(axis=-1).max())


def _weights(q: Array, k: Array, scale: float) -> Array:
    s = scale * q @ k.swapaxes(-1, -2)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _why_wrong(rows: Array) -> str:
    """The first thing that is wrong with a schedule [30, 3]; "" if nothing is."""
    if rows.shape != (STEPS, 3):
        return f"  expected shape (30, 3): rate, decay, scale\n  yours    shape {rows.shape}"
    if not np.isfinite(rows).all():
        return "  One of your numbers is not finite."
    if (rows < 0).any():
        return "  Rates, decays and scales are not negative: such a step would climb."
    rates, decays, scales = rows.T
    if scales[-1] != 0.25:
        return f"  The last scale is {scales[-1]:g}. It must be 1/4, as in training."
    right, worst = _trained(rates, decays, scales)
    if not np.isfinite(worst):
        return "  The vectors grew beyond all bounds: a rate, or rate times decay, is too large."
    said = f"  {right:.0%} of the queries are right, and the largest loss is {worst:.4f}."
    if right == 1 and worst < SMALL_ENOUGH:
        return ""
    if not rates.any():
        return f"{said} Your rates are 0: nothing moves."
    if (rates * decays).max() >= 1:
        return f"{said} Rate times decay is 1 or more: nothing is left of the vectors then."
    if right > 0.95:
        pull = " Decay that goes on to the end pulls the vectors back." if decays[-1] else ""
        return f"{said} You are nearly there.{pull} Take longer steps in the end."
    left = np.prod(1 - rates * decays)
    if not decays.any() and (scales >= 0.25).all():
        why = "You changed the steps alone. In so few steps they follow the keys that are heard."
    elif not decays.any():
        why = "At 1/4 the scores of long vectors are large again. Shrink the vectors."
    elif left > 0.5:
        why = f"Your decay shrinks the vectors by less than half in {STEPS} steps. Begin with more."
    elif left < 0.02:
        why = "Your decay leaves next to nothing of the vectors. Stop it after the first steps."
    else:
        why = "First look around, with small scores; then choose, in long steps without decay."
    return f"{said} {why}"


check_schedule = DesignCheck(
    "schedule",
    read=lambda answer: [to_array(answer, "rate, decay and scale for each step, [30, 3]")],
    problem=_why_wrong,
    praise=lambda rows: ", with all queries right. What would a trained model have lost?",
    asks="f() -> [30, 3]: rate, decay and scale of each step; the last scale is 1/4",
)

# --- Your gradient check, graded --------------------------------------------------------------


def _pair(backward: Any, forward: tuple[str, ...] | None = None) -> Callable:
    """A backward pass, and a forward pass: with the same lines written otherwise, or with these."""
    forward = backward.lines if forward is None else forward
    returns = () if "return" in str(forward) else ("return p @ v",)
    [(_, output, _)] = variants(attention_backward, "\n    ".join(("o:", *returns, *forward)))

    def pair(word: str, q: Array, k: Array, v: Array, do: Any, mask: Any) -> Any:
        mask = np.ones((len(q), len(k)), dtype=bool) if mask is None else mask
        return (output if word == "forward" else backward)(q, k, v, do, mask)

    return pair


RIGHT_PAIRS = """
five lines: it is this chapter's own
    dp = do @ v.T
query by query: a loop over the queries adds up the same
    dv = sum(np.outer(p[i], do[i]) for i in range(len(q)))
    dq = np.array([scale * row @ k for row in ds])
    dk = scale * sum(np.outer(ds[i], q[i]) for i in range(len(q)))
whole Jacobian: it is the long way round
    delta = p[:, :, None] * np.eye(len(k)) - p[:, :, None] * p[:, None, :]
    ds = (delta @ dp[:, :, None])[:, :, 0]
no scale at all: neither forward nor backward divides by sqrt(d_k): they belong together
    scale = 1.0
a temperature: forward and backward use the same factor, which is not 1/sqrt(d_k)
    scale = 1.5
sigmoid: it is no softmax attention, and the gradient is that of its own forward
    p = np.where(seen, 1 / (1 + np.exp(-s)), 0)
    ds = p * (1 - p) * dp
"""

WRONG_PAIRS = """
no scale: its backward knows no scale
scale twice: dq and dk are scaled twice
scale by d_v: it divides by the root of d_v instead of d_k. Do your sizes differ?
    dq = v.shape[1] ** -0.5 * ds @ k
    dk = v.shape[1] ** -0.5 * ds.T @ q
dk not scaled: dk alone lacks its scale
dq too long: its dq alone is wrong, 3 % too long. Do you compare dq, and to 1 %?
    dq = 1.03 * scale * ds @ k
no delta: it leaves the mean of dp out; dv is right. Do you look at all three?
plain mean: its delta is not weighted by p
one delta: all queries share a delta. Do you take several?
not transposed: dk is made from ds without its transpose where n_q = n_k lets that pass. Do you \
try such sizes?
    dk = scale * (ds if len(q) == len(k) else ds.T) @ q
dq and dk swapped: it swaps dq and dk where their shapes agree. Do you try such sizes?
dv reshaped: dv is made from p, regrouped; check dv
ones for do: it never looks at do, so it is right if do is all ones
last key: it forgets the last key's gradient. Do you compare each entry?
    dk = scale * ds.T @ q
    + dk[1:][-1:] = 0
mask ignored: its backward ignores the mask: pass one
polarity: its backward reads the mask the other way round
zeroed after: hidden keys still count in its sum. Do you hide some keys of a row, and not all?
empty row: it is right until a row of the mask is empty; then it is NaN. Is your comparison false \
for NaN?
    e = np.exp(s - m)
    p = e / l
"""

# What has no lines there is the mistake of this name in the backward pass above.
_NAMED: dict[str, Any] = {one.name: one.wrong for one in check_attention_backward.mistakes}
_WRONG: list[Any] = list(variants(attention_backward, WRONG_PAIRS))


class _TestOfPairs(TestCheck):
    """Of a learner's test(forward, backward); it is tried as a test of one pair."""

    def __call__(self, test: Any) -> Result:
        def tried(pair: Callable) -> Any:
            def forward(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
                return pair("forward", q, k, v, np.zeros((len(q), np.shape(v)[-1])), mask)

            def backward(q: Any, k: Any, v: Any, do: Any, mask: Any = None) -> Any:
                return pair("backward", q, k, v, do, mask)

            forward.__qualname__, backward.__qualname__ = "forward", "backward"  # as errors say it
            return test(forward, backward)

        return super().__call__(functools.wraps(test)(tried) if callable(test) else test)


check_gradient_check = _TestOfPairs(
    "my_gradient_check",
    asks="test(forward, backward), which raises AssertionError if the gradient is wrong",
    right=[
        *(
            Implementation(name, _pair(backward), why)
            for name, backward, why in variants(attention_backward, RIGHT_PAIRS)
        ),
        Implementation(
            "rounded to float32",
            _pair(attention_backward, ("return (p @ v).astype(np.float32)",)),
            "its forward keeps seven digits, so a tiny nudge measures rounding: take h near 5e-3 "
            "and allow for 1 % of the largest entry",
        ),
    ],
    wrong=[
        Implementation(name, _pair(backward if backward.lines else _NAMED[name], ()), why)
        for name, backward, why in _WRONG
    ],
)
