"""The checks of the chapter on softmax."""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attention_src.exercises.engine import Case, Check, Ladder, Rung, TestCheck
from attention_src.exercises.engine.cases import any_scores, any_shape, any_weights
from attention_src.softmax import reference

# --- Why the exponential ----------------------------------------------------------------------

_rung = functools.partial(Rung, rtol=1.5e-3)  # its value, to three digits

# fmt: off
check_why_exponential = Ladder("why_exponential", [
    _rung("a", "g(2)", 9.0, {
        6: "You doubled g(1). Two steps of 1 multiply twice by g(1).",
        5: "You added the steps. They multiply: g(c + d) = g(c) g(d).",
    }),
    _rung("b", "g(-1)", 1 / 3, {
        -3: "g is a ratio of positive numbers: it cannot be negative.",
        3: "g(1) g(-1) = g(0). What is g(0)?",
    }, hint="g(1) g(-1) = g(0) = 1."),
    _rung("c", "g(1/2)", 3**0.5, {
        1.5: "Half of g(1) is 1.5, but two half steps MULTIPLY to g(1) = 3.",
    }, hint="g(1/2) g(1/2) = g(1)."),
    _rung("d", "g(2/3)", 3 ** (2 / 3), {
        2: "g is not proportional to its argument. g(1/3)^3 = 3 first.",
    }, hint="g(1/3) is the cube root of 3; two such steps make g(2/3)."),
    _rung("e", "the temperature", 1 / math.log(3), {
        math.log(3): "This is b = log 3. The temperature is 1 / b.",
        1 / math.log10(3): "Use the natural logarithm.",
        1 / 3: "b is not 3: exp(b) is.",
    }, hint="g(x) = exp(b x) with g(1) = 3, and b = 1 / temperature."),
    _rung("f", "the weight of the leading key", 3 / 4, {
        1 / (1 + math.exp(-1)): "That is for b = 1. Here g(1) = 3, not e.",
        1 / 4: "That is the other key's weight.",
        3: "That is the ratio of the two weights. They sum to 1.",
    }),
], asks="the rungs of \"Why the exponential\"")
# fmt: on

# --- Your own softmax -------------------------------------------------------------------------


def my_softmax(x):
    x = np.asarray(x, dtype=float)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


RECTANGLE = np.array([[4.0, 1.0, 0.0], [-5.0, -2.0, -3.0]])
DEEP = np.round(np.sin(np.arange(2 * 3 * 5)).reshape(2, 3, 5) * 3, 1)


def _draw_scores(rng: np.random.Generator) -> tuple:
    """Scores of any announced kind: rank, size, dtype, hidden keys, length."""
    dtype = rng.choice(np.array([np.float64] * 5 + [np.float32, np.float16, int], dtype=object))
    shape = any_shape(rng)
    if rng.random() < 0.15:
        shape = (*shape[:1], int(rng.integers(20, 700)))
    if dtype is int:
        return (np.round(any_scores(rng, shape)).astype(int),)
    x = any_scores(rng, shape, dtype)
    if rng.random() < 0.25:  # hide some keys, never all of a row
        x[(rng.random(shape) < 0.4) & (x < x.max(axis=-1, keepdims=True))] = -np.inf
    return (x,)


check_softmax = Check(
    "softmax",
    my_softmax,
    asks="f(x) -> weights: a stable softmax over the last axis of an array of any rank",
    cases=[
        Case("one row", (np.array([2.0, 1.0, 0.0]),)),
        Case("the same scores, in another order", (np.array([2.0, 0.0, 1.0]),)),
        Case("two rows of three", (RECTANGLE,)),
        Case("a batch of matrices", (DEEP,)),
        Case("one key", (np.array([[3.0], [5.0]]),)),
        Case("four axes", (DEEP.reshape(2, 1, 3, 5),)),
        Case("whole numbers", (np.array([3, 1, 2]),)),
        Case("large scores", (np.array([1e4, 9999.0, -1e4]),)),
        Case("very negative scores", (np.array([-1e4, -9999.0]),)),
        Case("rows far apart", (np.array([[1e3, 999.0], [0.0, 1.0], [-1e3, -1e3]]),)),
        Case("one score of −inf", (np.array([1.0, -np.inf, 2.0]),)),
        Case("the lowest score, and −inf", (np.array([-1e4, -np.inf]),)),
        Case("two rows of 1,500", (np.linspace(0, 1, 3000).reshape(2, 1500),)),
        Case("2,000 keys in float32", (np.linspace(0, 1, 2000, dtype=np.float32),)),
        Case("digits that float32 does not hold", (np.array([10000.1, 10000.2, 10000.0]),)),
        Case("float16", (np.array([[12.0, 11.0, 2.0], [300.0, 299.0, 0.0]], dtype=np.float16),)),
        Case("70,000 equal scores in float16", (np.full(70_000, 3.0, dtype=np.float16),)),
        Case("a long row of large scores", (np.linspace(-1e4, 1e4, 30_001),)),
        Case("to twelve digits", (np.array([[0.3, 1.1, -2.0], [4.0, 0.7, 3.3]]),), rtol=1e-12),
    ],
    mistakes="""
no max-shift: np.exp overflows to inf, or every exponential underflows to 0. Subtract each row's \
maximum before np.exp: the weights stay the same.
    e = np.exp(x)
one maximum for the whole array: You subtract one maximum from all rows; a row far below it \
underflows to 0/0. Each row needs its own maximum.
    e = np.exp(x - x.max())
wrong axis: Your columns sum to 1 instead of your rows: you work along axis 0. The keys are on the \
last axis, -1.
    e = np.exp(x - x.max(axis=0, keepdims=True))
    return e / e.sum(axis=0, keepdims=True)
axis 1 instead of the last: axis=1 is the last axis of a matrix only. The input may have any \
number of axes: use axis=-1.
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
sum over the whole array: All rows together sum to 1. Each row should: sum over the last axis.
    e = np.exp(x - x.max())
    return e / e.sum()
own maximum, one sum: You divide all rows by one sum. Each row needs its own sum: sum over the \
last axis.
    return e / e.sum()
no normalisation: The exponentials are right, but they don't sum to 1. Divide them by their sum.
    return e
no exponential: You divided the scores themselves by their sum. Take np.exp of them first.
    return x / x.sum(axis=-1, keepdims=True)
no keepdims: The sum lost its axis, so NumPy lines the sums up with columns. Use keepdims=True.
    return e / e.sum(axis=-1)
log-softmax: These are the logarithms of the weights. Return the weights.
    return np.log(e / e.sum(axis=-1, keepdims=True))
log-softmax: These are the logarithms of the weights. Return the weights.
    return x - reference.log_sum_exp(x)[..., None]
base 2: You used powers of 2. Softmax uses powers of e: np.exp.
    e = np.exp2(x - x.max(axis=-1, keepdims=True))
float32 inside: Somewhere you compute in float32. Its seven digits cannot tell 10000.1 from \
10000.2 well enough: compute in float64.
    x = np.asarray(x, dtype=np.float32)
    return (e / e.sum(axis=-1, keepdims=True)).astype(np.float64)
sum in float16: In float16 the sum overflows: the largest float16 is 65,504, and here 70,000 ones \
are added. Convert to float64 first.
    x = np.asarray(x)
""",
    hints=[
        "Three steps: subtract the row's maximum, take np.exp, divide by the row's sum.",
        "x.max(axis=-1, keepdims=True) is one maximum per row, shaped so that x - it works.",
        "e = np.exp(x - x.max(axis=-1, keepdims=True)), and the same axis and keepdims for the "
        "sum; x in float64.",
    ],
    draw=_draw_scores,
    drawn=80,
)

# --- A test that catches wrong softmaxes ------------------------------------------------------

check_softmax_test = TestCheck(
    "softmax_test",
    asks="test(softmax): it raises AssertionError for wrong softmaxes and accepts right ones",
    of=my_softmax,
    right="""
maximum subtracted: it is the worked solution
x minus log-sum-exp: exp(x - lse) is the same number, but not to the last bit; allow for rounding, \
as np.allclose does
    return np.exp(x - np.logaddexp.reduce(x, axis=-1, keepdims=True))
answers in float32: float32 holds seven digits, and a softmax of seven digits is right; compare \
with rtol=1e-4 and, for weights near 0, atol=1e-6
    e = np.exp((x - x.max(axis=-1, keepdims=True)).astype(np.float32))
row by row: a loop over the rows is slow, not wrong
    e = np.reshape([np.exp(row - row.max()) for row in x.reshape(-1, x.shape[-1])], x.shape)
""",
    wrong="""
exponentials only: its rows do not sum to 1
    return e
sum over the first axis: it sums over the queries, which a one-dimensional row does not show
    return e / e.sum(axis=0, keepdims=True)
sum over everything: its weights sum to 1 over all rows together; with a single row that is right
    return e / e.sum()
powers of 2: its rows sum to 1, its order is right, and its numbers are not: compare one weight \
with a number that you worked out
    e = np.exp2(x - x.max(axis=-1, keepdims=True))
no shift: it is right for small scores only; how large may scores be?
    e = np.exp(x)
shift by the mean: it survives rows of large scores that lie close together, and no others
    e = np.exp(x - x.mean(axis=-1, keepdims=True))
one maximum for all rows: it is right for one row of any size, and for rows of similar size
    e = np.exp(x - x.max())
writes into x: its weights are right; look at what it leaves
    x = x if isinstance(x, np.ndarray) and x.dtype.kind == "f" else np.array(x, dtype=np.float64)
    + x -= x.max(axis=-1, keepdims=True)
""",
    hints=[
        "Try a matrix of two unequal rows, one near 1000 and one near -1000.",
        "Keep a copy of the input, call, and compare the input with its copy.",
        "Compute the weights of [0, log 2, log 5] by hand: 1/8, 2/8, 5/8.",
    ],
)

# --- The gradient without the Jacobian --------------------------------------------------------


def my_softmax_backward(p, dp):
    p, dp = np.asarray(p), np.asarray(dp)
    return p * (dp - (p * dp).sum(axis=-1, keepdims=True))


def _draw_weights(rng: np.random.Generator) -> tuple:
    """Weights and gradients of one shape; sometimes a hidden query, a row of zeros."""
    shape = any_shape(rng)
    p = any_weights(rng, shape)
    if len(shape) > 1 and rng.random() < 0.2:
        p[rng.random(shape[:-1]) < 0.4] = 0.0
    return p, any_scores(rng, shape)


SQUARE = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [-1.0, -2.0, 1.0]])
FOUR = np.round(np.cos(np.arange(2 * 3 * 2 * 4)).reshape(2, 3, 2, 4) * 3, 1)
LONG = np.linspace(-2.0, 2.0, 2000)
ROWS = reference.softmax(np.sin(np.arange(900.0)).reshape(3, 300))

check_softmax_backward = Check(
    "softmax_backward",
    my_softmax_backward,
    asks="f(p, dp) -> ds: softmax's gradient over the last axis, without the Jacobian",
    cases=[
        Case("one row", (np.array([0.5, 0.25, 0.25]), np.array([1.0, 0.0, 4.0]))),
        Case("two rows of three", (reference.softmax(RECTANGLE), RECTANGLE + 1)),
        Case("three rows of three", (reference.softmax(SQUARE), SQUARE.T.copy())),
        Case("a batch of matrices", (reference.softmax(DEEP), DEEP[::-1].copy())),
        Case("one key", (np.ones((2, 1)), np.array([[3.0], [-4.0]]))),
        Case("four axes", (reference.softmax(FOUR), FOUR[::-1] ** 2)),
        Case("the same dp everywhere", (np.array([0.7, 0.2, 0.1]), np.array([5.0, 5.0, 5.0]))),
        Case("a hidden row", (np.zeros((1, 3)), np.array([[1.0, 2.0, 3.0]]))),
        Case("rows of 300", (ROWS, ROWS[::-1] * 1e4)),
        Case("2,000 keys", (reference.softmax(LONG), LONG[::-1].copy()), max_bytes=1_000_000),
    ],
    mistakes="""
elementwise product only: You multiplied elementwise, p * dp, as if each weight depended on its \
own score only. Each score moves all weights: subtract the mean of dp first.
    return p * dp
diagonal of the Jacobian only: You used p (1 − p), the diagonal of the Jacobian; that is sigmoid's \
gradient. Softmax also has −p_i p_j off the diagonal.
    return p * (1 - p) * dp
sign: The sign is turned round: it is dp minus its mean, not the mean minus dp.
    return p * ((p * dp).sum(axis=-1, keepdims=True) - dp)
plus instead of minus: You added the mean of dp. The sign in front of it is a minus.
    return p * (dp + (p * dp).sum(axis=-1, keepdims=True))
plain sum of dp: You subtracted the plain sum of dp. Each dp_j counts with its weight: sum p * dp.
    return p * (dp - dp.sum(axis=-1, keepdims=True))
plain mean of dp: You subtracted the plain mean of dp. The mean is weighted by p: sum p * dp.
    return p * (dp - dp.mean(axis=-1, keepdims=True))
p in front is missing: dp minus its weighted mean is right; multiply it by p.
    return dp - (p * dp).sum(axis=-1, keepdims=True)
weights taken for scores: p holds the weights already: don't apply softmax to it again.
    p, dp = reference.softmax(p), np.asarray(dp)
wrong axis: You summed along axis 0, over the queries. The keys are on the last axis, -1.
    return p * (dp - (p * dp).sum(axis=0, keepdims=True))
sum over the whole array: You took one sum for the whole array. Each row has its own: sum over the \
last axis.
    return p * (dp - (p * dp).sum())
no keepdims: The sum lost its axis, so NumPy lines the sums up with columns. Use keepdims=True.
    return p * (dp - (p * dp).sum(axis=-1))
full Jacobian: The gradient is right, but you formed the n × n Jacobian. One sum a row is enough.
    return (reference.softmax_jacobian(p) @ dp[..., None])[..., 0]
""",
    hints=[
        "Write out ds_i = sum_j J_ij dp_j with J_ij = p_i (1[i = j] − p_j), and split the sum.",
        "p_i is common to both parts: ds_i = p_i (dp_i − ...). What is left is one number a row.",
        "That number is the weighted mean of dp: (p * dp).sum(axis=-1, keepdims=True).",
    ],
    draw=_draw_weights,
)

# --- The log-sum-exp, step by step ------------------------------------------------------------

FRUIT = np.array([4.2, 3.8, 0.6, -0.9])  # the chapter's scores
LSE = float(reference.log_sum_exp(FRUIT))
BLOCK_A = 1 / (1 + math.exp(-1))  # the weight of a block whose lse leads by 1

# fmt: off
check_log_sum_exp = Ladder("log_sum_exp", [
    Rung("a", "lse of the four scores", LSE, {
        np.exp(FRUIT).sum(): "Now take the logarithm.",
        FRUIT.sum(): "This is the sum of the scores, without exp and log.",
        LSE / math.log(2): "Use the natural logarithm.",
        4.2: "This is the largest score. lse lies a little above.",
    }, rtol=1e-3),
    _rung("b", "slope of lse by banana's score", reference.softmax(FRUIT)[1], {
        reference.softmax(FRUIT)[0]: "This is apple's. Banana's score is the second, 3.8.",
        math.exp(3.8): "The chain rule also divides by the sum.",
        1: "1 is what all four slopes sum to.",
    }, hint="The derivative of log z is 1/z; what is z here, and its slope?"),
    Rung("c", "lse after 1,000 is added to each score", reference.log_sum_exp(FRUIT + 1000), {
        math.inf: "exp(1004.2) overflows. Shift first, on paper.",
        LSE: "Weights don't see a shift; lse does.",
        math.log(1000) + LSE: "Add 1000 itself.",
    }, hint="exp(s + c) = exp(c) exp(s): take exp(c) out of the sum.", rtol=0.0, atol=0.05),
    _rung("d", "lse of 1,000 blocks with lse 5 each", np.logaddexp.reduce(np.full(1000, 5.0)), {
        5000: "lse values don't add. Their exponentials do.",
        5: "Then 999 blocks would count for nothing.",
        1000 * math.exp(5): "Now take the logarithm.",
    }, hint="exp(lse) of a block is its part of the sum."),
    _rung("e", "the merged output", 10 * BLOCK_A + 20 * (1 - BLOCK_A), {
        15: "Both blocks count alike in this mean. The first has more.",
        40 / 3: "You weighted by lse. Weight by exp(lse).",
        10 * (1 - BLOCK_A) + 20 * BLOCK_A: "You swapped the two weights.",
    }, hint="Block A holds exp(2) / (exp(2) + exp(1)) of the whole weight."),
    Rung("f", "log p of the second key, scores 0 and -1000", -1000 - math.log1p(math.exp(-1000)), {
        -math.inf: "The weight underflows to 0, its logarithm need not.",
        0: "This is the first key's.",
        1000: "A weight is below 1, so its logarithm is negative.",
    }, hint="log p_j = s_j - lse. No weight needs to be computed.", rtol=0.0, atol=0.1),
    Rung("g", "the largest lse of 4 scores whose maximum is 8",
         np.logaddexp.reduce(np.full(4, 8.0)), {
        8: "This is the lower bound. When are all terms largest?",
        12: "n terms of exp(8) make n exp(8), and log turns n into log n.",
        10: "You took log2 of 4. Use the natural logarithm.",
    }, hint="Each of the n terms is at most exp(max).", rtol=1e-3),
    _rung("h", "how far above the maximum, at most", 0.1 * math.log(1024), {
        math.log(1024): "That is for temperature 1. Multiply by 0.1.",
        1: "You took log2 of 1,024. Use the natural logarithm.",
        math.log(1024) / 0.1: "You divided by the temperature. Multiply.",
    }, hint="Put s / temperature into the bound of (g), then multiply by the temperature."),
], asks="the rungs of \"The log-sum-exp, step by step\"")
# fmt: on

# --- A row in blocks --------------------------------------------------------------------------


def my_online_softmax(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m_new = max(m, np.max(block))
        if m_new == -np.inf:  # nothing visible so far
            continue
        l = l * np.exp(m - m_new) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def _draw_blocks(rng: np.random.Generator) -> tuple:
    """Blocks of unequal length, of one row of scores; some hidden, alone or whole."""
    lengths = rng.integers(1, 6, int(rng.choice([1, 2, 2, 3, 5, 12, 40])))
    row = any_scores(rng, (int(lengths.sum()),))
    if rng.random() < 0.2:
        row = np.sort(row)[:: int(rng.choice([-1, 1]))].copy()
    blocks = np.split(row, np.cumsum(lengths)[:-1])
    if rng.random() < 0.4:
        for block in blocks:
            block[rng.random(len(block)) < rng.choice([0.0, 0.3, 1.0])] = -np.inf
    return ([block.copy() for block in blocks],)


def _once(blocks: list) -> Iterator[np.ndarray]:
    """Hand out copies, each once, so that who keeps them all needs memory for all."""
    for block in blocks:
        lent = block.copy()
        yield lent
        if lent.tobytes() != block.tobytes():
            block[:] = lent  # now the engine sees a change in place


def _fed_once(f: Callable) -> Callable:
    """The learner's function, fed by a generator instead of a list."""

    @functools.wraps(f)
    def fed(blocks: list) -> Any:
        return f(_once(blocks))

    return fed


def _blocks(name: str, *rows: list[float], max_bytes: int | None = None) -> Case:
    return Case(name, ([np.array(row, dtype=float) for row in rows],), max_bytes)


HIDDEN = [-np.inf, -np.inf]
MANY = [np.sin(np.arange(200.0) * (i + 1)) * 20 + i / 10 for i in range(200)]

check_online_softmax = Check(
    "online_softmax",
    my_online_softmax,
    asks="f(blocks) -> (m, l): running maximum and sum over 1-D blocks of one row of scores",
    cases=[
        _blocks("one block", [1, 3, 2.5]),
        _blocks("the maximum falls", [3, 1], [2, 0]),
        _blocks("the maximum rises", [1, 0.5], [3], [5, 4]),
        _blocks("all scores negative", [-3, -2.5], [-4, -1.5, -5]),
        _blocks("the maximum is no whole number", [0.2, -0.7], [0.9, 0.1]),
        _blocks("equal scores", [2, 1, 2, 1], [2, 2]),
        _blocks("large scores", [9990, 1e4], [10002], [-1e4]),
        _blocks("very negative scores", [-9e3, -9001.5], [-8999.5]),
        _blocks("some keys hidden", [-np.inf, 1], [2, -np.inf]),
        _blocks("the lowest score, and a hidden key", [-1e4, -np.inf]),
        _blocks("the last block hidden", [1, 2], HIDDEN),
        _blocks("the first block hidden", HIDDEN, [2, 1]),
        _blocks("everything hidden", HIDDEN, HIDDEN[:1]),
        Case("200 blocks of 200", (MANY,), max_bytes=100_000),
        Case("to twelve digits", ([np.array([0.3, 1.1]), np.array([1.4])],), rtol=1e-12),
    ],
    mistakes="""
a second loop over the blocks: Your sum is 0: did you loop over the blocks a second time? They \
come once. Add to l in the loop that finds the maximum.
    return m, 0.0
running sum not rescaled: You forgot to rescale the running sum: the old l was measured against \
the old maximum. When m rises, multiply l by exp(m_old − m_new).
    l = l + np.exp(block - m_new).sum()
rescaled the wrong way: You rescaled the running sum by exp(m_new − m_old). The sign is turned \
round: when the maximum rises, the old sum must shrink.
    l = l * np.exp(m_new - m) + np.exp(block - m_new).sum()
rescaled the wrong way: You rescaled the running sum by exp(m_new − m_old). The sign is turned \
round: when the maximum rises, the old sum must shrink.
    l = (l * np.exp(m_new - m) if l else 0.0) + np.exp(block - m_new).sum()
maximum of the block instead of the running one: Your m is the last block's maximum. The running \
maximum never falls: max(m, block.max()).
    m_new = np.max(block)
each block against its own maximum: You subtract each block's own maximum from it. All terms in l \
must be measured against the same, running maximum.
    if np.max(block) == -np.inf:
    l = l * np.exp(m - m_new) + np.exp(block - np.max(block)).sum()
maximum starts at 0: Your maximum starts at 0, which is above all the scores here. Start from −inf.
    m, l = 0.0, 0.0
no max-shift: Your sum is over exp(score), without subtracting the maximum: it overflows for large \
scores. Sum exp(score − m).
    l = l + np.exp(block).sum()
rescaled the wrong way: You rescaled the running sum by exp(m_new − m_old). The sign is turned \
round: when the maximum rises, the old sum must shrink.
    if False:
    l = l * np.exp(m_new - m) + np.exp(block - m_new).sum()
no guard for a hidden block: −inf − (−inf) is not a number. While only −inf has been seen there is \
nothing to add: leave m and l as they are.
    if False:
only the last block counts: Your sum holds the last block only. Add to the rescaled old sum; don't \
replace it.
    l = np.exp(block - m_new).sum()
log of the sum: Your second number is the log-sum-exp, m + log l. Return l itself.
    return m, m + np.log(l)
log of the sum: Your second number is log l. Return l itself.
    return m, np.log(l)
swapped: You swapped the two: return (m, l), the maximum first.
    return l, m
""",
    hints=[
        "Keep m and l. For each block: find the new maximum, correct l, add the block to l.",
        "The correction is l * exp(m − m_new): it turns each exp(s − m) into exp(s − m_new).",
        "If the new maximum is still −inf, skip the block: −inf − (−inf) is not a number.",
    ],
    returns=("m", "l"),
    draw=_draw_blocks,
    watch=_fed_once,
)

# --- A thermostat -----------------------------------------------------------------------------


def my_temperature(scores, bits):
    low, high = np.log(1e-6), np.log(1e8)
    for _ in range(60):
        middle = (low + high) / 2
        p = reference.softmax(scores, temperature=np.exp(middle))
        if reference.entropy_bits(p) < bits:
            low = middle  # too cold
        else:
            high = middle
    return float(np.exp((low + high) / 2))


def _inside(log_t: float) -> float:
    """The temperature; NaN at the ends of the bracket, where bisection finds none."""
    return float(np.exp(log_t)) if -13.8 < log_t < 18.4 else float("nan")


def _draw_entropy(rng: np.random.Generator) -> tuple:
    """Distinct scores of any spread, and an entropy that they can reach."""
    n = int(rng.choice([2, 3, 3, 4, 4, 8, 40]))
    scores = rng.choice([0.0, -50.0, 900.0]) + rng.choice([0.01, 1.0, 30.0]) * (
        rng.permutation(n) + rng.uniform(-0.3, 0.3, n)
    )
    return scores, float(rng.uniform(0.1, 0.9) * np.log2(n))


def _what_it_gives(scores: np.ndarray, bits: float, answer: np.ndarray) -> str:
    """A sentence about the entropy at the learner's temperature."""
    t = float(answer)  # raises for anything but one number; then nothing is said
    if not (t > 0 and np.isfinite(t)):
        return (
            "A temperature is positive and finite. Is an entropy NaN on the way? exp overflows, or "
            "0 log 0 is taken."
        )
    reached = reference.entropy_bits(reference.softmax(scores, temperature=t))
    said = f"At your temperature the entropy is {reached:.4g} bits; {bits:.4g} were asked for."
    ratio = t / my_temperature(scores, bits)
    if not 0.02 < ratio < 50:
        return (
            f"{said}\n  You ended at one end of your bracket. Either it does not hold the answer, "
            "or you kept\n  the wrong half: where the entropy is too low, a higher temperature is "
            "needed.\n  (Do you divide the scores by the temperature? Is an entropy NaN, from an "
            "overflow or\n  from 0 log 0?)"
        )
    return f"{said} Close: bisect further." if abs(ratio - 1) < 0.05 else said


SCORES = np.array([8.0, 7.0, 3.0, 1.0])

check_temperature_for_entropy = Check(
    "temperature_for_entropy",
    my_temperature,
    asks="f(scores, bits) -> t, the temperature with entropy_bits(softmax(scores / t)) = bits",
    cases=[
        Case("four keys", (SCORES, 1.2)),
        Case("two keys", (np.array([-1.0, 2.0]), 0.5)),
        Case("sharper", (SCORES, 0.4)),
        Case("flatter", (SCORES, 1.9)),
        Case("negative scores", (np.array([-3.0, -1.0, -2.0]), 1.0)),
        Case("scores far apart", (np.array([9e4, 6e4, 5e4, 1e4, -8e4]), 1.5)),
        Case("scores close together", (np.array([0.13, 0.11, 0.1, 0.16]), 1.5)),
        Case("32 keys", (np.linspace(-3.0, 3.0, 32), 3.0)),
        Case("300 keys", (np.linspace(-3.0, 3.0, 300), 5.0)),
        Case("very cold", (np.array([0.0, 5e-4]), 0.2)),
        Case("very hot", (np.array([-1e5, 1e5]), 0.98)),
        Case("nearly one-hot", (SCORES, 1e-4)),
        Case("nearly uniform", (np.sin(np.arange(8.0)), 2.9999)),
        Case("ten times as far apart", (10 * SCORES, 1.2)),
    ],
    mistakes="""
entropy in nats: You measure the entropy in nats, with the natural logarithm. Bits need np.log2.
    if reference.entropy_bits(p) * np.log(2) < bits:
    return _inside((low + high) / 2)
multiplied by the temperature: Your answer is 1 over the temperature: you multiply the scores by \
it. Divide them.
    return float(np.exp(-(low + high) / 2))
logarithm of the temperature: Your answer is the logarithm of the temperature. Return np.exp of it.
    return (low + high) / 2
number of keys instead of bits: You compared 2**entropy with bits. Compare the entropy itself.
    if 2 ** reference.entropy_bits(p) < bits:
    return _inside((low + high) / 2)
entropy instead of temperature: You returned the entropy. Return the temperature that gives it.
    return bits
""",
    hints=[
        "Entropy rises with temperature: halve a bracket [low, high] that holds the answer.",
        "At the middle, if the entropy is below `bits`, it is too cold: low = middle.",
        "Temperatures span many sizes: bisect log(temperature) between log(1e-6) and log(1e6), "
        "a hundred times.",
    ],
    rtol=6e-4,  # four digits, rounded
    note=_what_it_gives,
    draw=_draw_entropy,
    drawn=40,
)
