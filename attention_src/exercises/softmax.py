"""The checks of the chapter on softmax."""

import functools
import math

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

# --- What a lead is worth ---------------------------------------------------------------------

RIVALS, FEW = 2047, 31  # among 2,048 keys, and among 32
MANY = 99_999  # among 100,000
HALF = math.log(RIVALS)  # the lead that holds a half

# fmt: off
check_lead = Ladder("lead", [
    Rung("a", "the rivals that a lead of 5 is worth", math.exp(5), {
        math.exp(5) / (1 + math.exp(5)): "This is the weight against one rival. How many rivals "
            "have as much as the winner?",
        1 + math.exp(5): "This counts the winner, too: rivals are asked for.",
        5 * math.exp(3) / 3: "Worth does not grow in proportion to the lead: it is e to the lead.",
        2.0**5: "Use powers of e, not of 2.",
        10.0**5: "Use powers of e, not of 10.",
    }, hint="The winner has e to the lead, each rival has 1."),
    _rung("b", "the lead for 0.9 among 2,048 keys", math.log(9 * RIVALS), {
        math.log2(9 * RIVALS): "Use the natural logarithm, not the one to base 2.",
        math.log10(9 * RIVALS): "Use the natural logarithm, not the one to base 10.",
        9 * RIVALS: "This is e to the lead. Take its logarithm.",
        0.9 * RIVALS: "0.9 of a unit is not 0.9 of the rivals: they share 0.1, so the winner has 9 "
            "times as much as all of them together. And take the logarithm.",
        math.log(0.9 * RIVALS): "0.9 to 0.1 is 9 to 1: the winner has 9 times as much as all "
            "rivals together.",
        math.log(10 * RIVALS): "The winner has 9 times what the rivals have, not 10.",
        HALF: "That holds a half.",
        0.9 * 2 * HALF: "The lead does not grow in proportion to the weight.",
        math.log(9): "That is the lead over one rival.",
    }, hint="e to the lead, over 2,047, is 0.9 over 0.1."),
    _rung("c", "the largest weight with cosines", 1 / (1 + MANY * math.exp(-2)), {
        1 / (1 + MANY * math.exp(-1)): "Your lead is 1. From the lowest cosine to the highest it "
            "is 2.",
        1 / (MANY + 1): "That is an even share: a lead of 0.",
        1 / (1 + RIVALS * math.exp(-2)): "That is among 2,048 keys. Here there are 100,000.",
        math.exp(2) / (1 + math.exp(2)): "That is against one rival. There are 99,999.",
    }, hint="What is the largest difference of two cosines?"),
    _rung("d", "the gain at which cosines reach a half", HALF / 2, {
        HALF: "Your lead is 1. From the lowest cosine to the highest it is 2.",
        math.log2(RIVALS) / 2: "Use the natural logarithm.",
        2 * HALF: "You multiplied by the lead of 2. Divide.",
        0.5 / (1 / (1 + RIVALS * math.exp(-2))): "The gain multiplies the scores, not the weight.",
    }, hint="Twice the gain is the lead that a half needs."),
    _rung("e", "the factor that keeps a half from 32 to 2,048 keys", HALF / math.log(FEW), {
        HALF - math.log(FEW): "This is how much is to be added to the lead. By what is it to be "
            "multiplied?",
        math.log(64): "This is about what is to be added. By what is the lead to be multiplied?",
        64: "64 times as many keys do not need 64 times the lead.",
        RIVALS / FEW: "So many times as many rivals. The lead grows with their logarithm.",
        math.log(FEW) / HALF: "Turned round: the larger crowd needs the larger lead.",
    }, hint="The lead that a half needs among 2,048 keys, over the one among 32."),
], asks="the rungs of \"What a lead is worth\"")
# fmt: on

# --- Your own softmax -------------------------------------------------------------------------


def my_softmax(x):
    x = np.asarray(x, dtype=float)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


RECTANGLE = np.array([[4.0, 1.0, 0.0], [-5.0, -2.0, -3.0]])
DEEP = np.round(np.sin(np.arange(2 * 3 * 5)).reshape(2, 3, 5) * 3, 1)
_HALVES = np.array(
    [[[1e4, 9992.0, -1e4], [1.0, -np.inf, 2.0]], [[-1e4, -np.inf, -9992.0], [0.5, 0.25, -3.0]]],
    dtype=np.float16,
)


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
        Case("float16, three axes, and −inf", (_HALVES,)),
        Case("70,000 different scores", (np.linspace(-1, 1, 70_000),)),
        Case("70,000 different scores in float32", (np.linspace(-9, 1, 70_000, dtype=np.float32),)),
        Case("to twelve digits", (np.array([[0.3, 1.1, -2.0], [4.0, 0.7, 3.3]]),), rtol=1e-12),
    ],
    mistakes="""
no max-shift: np.exp overflows to inf, or every exponential underflows to 0. Subtract each row's \
maximum before np.exp: the weights stay the same.
    e = np.exp(x)
one maximum for the whole array: You subtract one maximum from all rows; a row far below it \
underflows to 0/0. Each row needs its own maximum.
    e = np.exp(x - x.max())
mean subtracted: You subtract each row's mean, so a score far above it still overflows. Subtract \
the row's maximum.
    e = np.exp(x - x.mean(axis=-1, keepdims=True))
minimum subtracted: You subtract each row's minimum, which makes the largest score larger, not \
smaller. Subtract the row's maximum.
    e = np.exp(x - x.min(axis=-1, keepdims=True))
first score subtracted: You subtract the first score of each row. A later one may lie far above \
it: subtract the row's maximum.
    e = np.exp(x - x[..., :1])
divided by the maximum: You divide the scores by the row's maximum, which is a temperature and \
changes the weights. Subtract the maximum.
    e = np.exp(x / x.max(axis=-1, keepdims=True))
absolute scores: You took the scores without their signs (np.abs). A score of -3 is lower than \
one of 0, not higher.
    x = np.abs(np.asarray(x, dtype=float))
NaN made to 0: You replaced what overflowed (np.nan_to_num). Then it is the largest score that \
is lost: subtract the row's maximum, and nothing overflows.
    e = np.exp(x)
    return np.nan_to_num(e / e.sum(axis=-1, keepdims=True))
transposed: .T reverses all axes, so this is right for matrices only. Use axis=-1 and \
keepdims=True.
    e = np.exp(x.T - x.max(axis=-1)).T
    return (e.T / e.sum(axis=-1)).T
maximum without keepdims: The maximum lost its axis, so NumPy lines the maxima up with columns. \
Use keepdims=True.
    e = np.exp(x - x.max(axis=-1))
rounded: Your weights are rounded. Return all their digits.
    return np.round(e / e.sum(axis=-1, keepdims=True), 3)
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
no normalisation: The exponentials are right, but they don't sum to 1. Divide them by their sum, \
and not by the largest of them.
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
TWELVE = np.sin(np.arange(240.0)).reshape(12, 20)
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
        Case("a hidden query by itself", (np.zeros(3), np.array([1.0, -2.0, 4.0]))),
        Case("a dp of zeros", (np.array([0.5, 0.25, 0.25]), np.zeros(3))),
        Case("a dp of 10,000", (np.array([0.5, 0.25, 0.25]), np.array([1e4, -1e4, 9e3]))),
        Case("twelve rows of 20", (reference.softmax(TWELVE), TWELVE[::-1] * 3)),
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
    draw=_draw_weights,
)

# --- The log-sum-exp, step by step ------------------------------------------------------------

FRUIT = np.array([4.2, 3.8, 0.6, -0.9])  # the lab's scores
LSE = float(reference.log_sum_exp(FRUIT))

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
    Rung("d", "log p of the second key, scores 0 and -1000", -1000 - math.log1p(math.exp(-1000)), {
        -math.inf: "The weight underflows to 0, its logarithm need not.",
        0: "This is the first key's.",
        1000: "A weight is below 1, so its logarithm is negative.",
    }, hint="log p_j = s_j - lse. No weight needs to be computed.", rtol=0.0, atol=0.1),
    Rung("e", "the largest lse of 4 scores whose maximum is 8",
         np.logaddexp.reduce(np.full(4, 8.0)), {
        8: "This is the lower bound. When are all terms largest?",
        12: "n terms of exp(8) make n exp(8), and log turns n into log n.",
        10: "You took log2 of 4. Use the natural logarithm.",
    }, hint="Each of the n terms is at most exp(max).", rtol=1e-3),
], asks="the rungs of \"The log-sum-exp, step by step\"")
# fmt: on

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
        Case("around 90,000", (SCORES + 9e4, 1.2)),
        Case("around -90,000", (SCORES - 9e4, 1.2)),
        Case("two leaders close together", (np.array([4.999, 5.0, 0.0, -1.0]), 0.5)),
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
    rtol=6e-4,  # four digits, rounded
    note=_what_it_gives,
    draw=_draw_entropy,
    drawn=40,
)
