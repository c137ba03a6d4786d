"""The checks of the chapter on scaling."""

import math

import numpy as np

from attention_src.exercises.engine import Case, Check, Ladder, Rung, TestCheck

# --- When the assumptions bend ----------------------------------------------------------------

D_K = 64

# fmt: off
check_variance = Ladder("variance", [
    Rung("a", "the standard deviation for entries between -1 and 1", (D_K / 9) ** 0.5, {
        D_K / 9: "This is the variance. Its root is asked for.",
        D_K**0.5: "So it is for entries of variance 1. Theirs is 1/3.",
        (D_K / 3) ** 0.5: "Both factors of each product have variance 1/3.",
        D_K / 3: "Both factors of each product have variance 1/3, and the root is asked for.",
        D_K / 12: "1/12 is the variance between 0 and 1. Between -1 and 1 numbers spread twice as "
            "far: 4/12, for both factors. And the root is asked for.",
        D_K**0.5 / 12: "1/12 is the variance between 0 and 1. Between -1 and 1 numbers spread "
            "twice as far: 4/12.",
        2.7: "Rounded too far: give two decimals.",
    }, hint="The uniform distribution between -1 and 1 has variance 1/3."),
    Rung("b", "the variance if the keys' entries have mean 1/2", D_K * 1.25, {
        (D_K * 1.25) ** 0.5: "This is the root. The variance is asked for.",
        D_K: "E[k²] is not the variance: it is variance plus mean².",
        D_K * 1.5: "The mean is to be squared: E[k²] = 1 + (1/2)².",
        D_K * 1.125**2: "The variance of a product is E[q²] E[k²], here 1 · 1.25, and there are "
            "64 of them.",
        D_K / 4: "This is the part that the mean adds. The variance of k is still there.",
    }, hint="Each product has mean 0 and variance E[q²] E[k²]."),
    Rung("c", "the variance if the queries' entries have mean 1/2 too", D_K * (1.25**2 - 0.25**2), {
        D_K * 1.25**2: "The product has a mean now: subtract its square.",
        D_K * 1.25: "That is the variance with the queries at mean 0.",
        D_K * 1.25**2 - 1: "A product has mean 1/4, so 1/16 is to be subtracted for each of the "
            "64, not once in all.",
        D_K * 1.5**2: "E[q²] is variance plus mean squared, 1.25. It is not (1 + 1/2)².",
        D_K * 1.125**2: "E[q²] and E[k²] are 1.25 each: subtract (1/4)² from their product.",
    }, hint="Var(qk) = E[q²] E[k²] - (E[q] E[k])²."),
    Rung("d", "the variance within a row, on average", D_K * 1.25, {
        D_K * (1.25**2 - 0.25**2): "This is the variance over all pairs. In a row q stays as it "
            "is.",
        D_K: "E[q²] is 1 + (1/2)², as the queries have a mean.",
    }, hint="For a fixed q the variance over keys is the sum of q_m² Var(k_m)."),
    Rung("e", "the standard deviation of the scaled score of constant vectors", D_K**0.5, {
        1: "So it is for independent entries. Here all are equal.",
        D_K: "That is without the scale.",
        D_K**2: "This is the unscaled variance.",
    }, hint="q · k = d_k a b, with one a and one b."),
], asks="the rungs of the exercise \"When the assumptions bend\"")
# fmt: on

# --- A fair race ------------------------------------------------------------------------------

APART = 128**0.5  # the distance of the two keys
CLOSE = np.log(15 + 224**0.5)  # where p (1 - p) is 1/32


def _through(lead: float) -> float:
    """p (1 - p), where p is the sigmoid of the lead."""
    p = 1 / (1 + np.exp(-lead))
    return float(p * (1 - p))


def _within(deviations: float) -> float:
    """The share of a normal distribution that lies so near its mean."""
    return math.erf(deviations / 2**0.5)


def _above(deviations: float) -> float:
    return 1 - _within(deviations)


# fmt: off
check_race = Ladder("race", [
    Rung("a", "the length of dq, divided, at equal weights", APART / 4 / 8, {
        APART / 4: "The scale, 1/8, is missing: dq = c (ds_1 k_1 + ds_2 k_2).",
        APART / 2 / 8: "ds_1 is p (1 - p), not p.",
        APART / 4 / 64: "You divided by 64. The scale is 1/8.",
        APART / 8: "ds is missing: p (1 - p) is 1/4.",
        128 / 4 / 8: "√128 is the distance of the keys, 128 its square.",
        8 / 4 / 8: "The length of the query does not enter. The distance of the keys does.",
        (2 * 128) ** 0.5 / 4 / 8: "ds_2 is -ds_1, so it is the difference of the keys that counts.",
    }, hint="ds_1 = p (1 - p) and ds_2 = -ds_1, so dq = c p (1 - p) (k_1 - k_2)."),
    Rung("b", "the same without the divisor", APART / 4, {
        APART / 4 / 8: "That is (a). Without the divisor the scale is 1.",
        APART / 2: "ds_1 is p (1 - p), not p.",
        APART: "ds is missing: p (1 - p) is 1/4.",
    }, hint="Only the scale changes: it is 1 and not 1/8."),
    Rung("c", "without the divisor, at a lead of 8", _through(8) * APART, {
        _through(8) * APART / 8: "That is with the divisor. Without it the scale is 1.",
        _through(8): "The distance of the keys is missing.",
        _through(1) * APART: "The lead is 8 as it stands: without the divisor nothing makes it 1.",
        APART / (1 + np.exp(-8)): "ds_1 is p (1 - p), not p.",
        APART / 4: "So it is at equal weights. Here p is the sigmoid of 8.",
    }, hint="p is the sigmoid of the lead, 1 / (1 + exp(-8))."),
    Rung("d", "the lead at which it is as long as in (a)", CLOSE, {
        2 * CLOSE: "This is twice the lead. p is the sigmoid of the lead itself.",
        CLOSE / 8: "This is the lead after dividing by 8. Here nothing is divided.",
        CLOSE * 8: "This is eight times the lead that is asked for.",
        np.log(32): "exp(-lead) is about p (1 - p) for large leads. Solve x / (1 + x)² = 1/32.",
        np.log(31): "You solved p = 1/32. It is p (1 - p) that must be 1/32.",
        -CLOSE: "Its size is asked for.",
    }, hint="p (1 - p) must be eight times smaller than 1/4. With x = exp(-lead): x / (1 + x)²."),
    Rung("e", "the share of rows with a smaller lead", _within(CLOSE / 128**0.5), {
        _above(CLOSE / 128**0.5): "This is the share with a larger lead.",
        _within(CLOSE / 128**0.5) / 2: "Leads of both signs count: from -lead to lead.",
        0.5 + _within(CLOSE / 128**0.5) / 2: "This counts all leads below, the very negative too.",
        _within(CLOSE / 8): "The difference of two scores spreads √2 times as far as one, 8√2.",
        _within(CLOSE): "Divide the lead by the standard deviation, 8√2, first.",
        _within(CLOSE / 128): "You divided by the variance, 128. The standard deviation is 8√2.",
    }, hint="The share of a normal distribution within lead / (8√2) standard deviations."),
], asks="the rungs of the exercise \"A fair race\"")
# fmt: on

# --- QK-norm ----------------------------------------------------------------------------------


def my_qk_norm_scores(q, k, gain_q, gain_k):
    square_q = (q**2).mean(axis=-1, keepdims=True)
    square_k = (k**2).mean(axis=-1, keepdims=True)
    q = q / np.sqrt(square_q + 1e-6) * gain_q
    k = k / np.sqrt(square_k + 1e-6) * gain_k
    return q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5


def _vectors(rng: np.random.Generator, lead: tuple, n_q: int, n_k: int, d_k: int) -> tuple:
    q, k = rng.normal(size=(*lead, n_q, d_k)), rng.normal(size=(*lead, n_k, d_k))
    gains = rng.uniform(0.2, 3.0, (2, d_k)) * rng.choice([-1.0, 1.0], (2, d_k))
    return q, k, gains[0], gains[1]


def _case(
    name: str,
    seed: int,
    *sizes: int,
    lead: tuple = (),
    factor: float = 1.0,
    gain: float = 1.0,
) -> Case:
    q, k, *gains = _vectors(np.random.default_rng(seed), lead, *sizes)
    return Case(name, (q * factor, k * factor, *(g * gain for g in gains)))


def _draw_vectors(rng: np.random.Generator) -> tuple:
    """Sizes that differ, vectors of all lengths, now and then a vector of zeros."""
    lead = tuple(int(n) for n in rng.integers(1, 4, rng.integers(0, 3)))
    n_q, n_k, d_k = (int(n) for n in rng.integers(1, 7, 3))
    q, k, gain_q, gain_k = _vectors(rng, lead, n_q, n_k, d_k)
    q *= 10.0 ** rng.integers(-2, 5, (*lead, n_q, 1))
    k *= 10.0 ** rng.integers(-2, 5, (*lead, n_k, 1))
    k[rng.random(k.shape[:-1]) < 0.1] = 0
    return q, k, gain_q, gain_k


_SMALL = (
    np.array([[3.0, 4.0, 0.0, 0.0], [10.0, -10.0, 10.0, 10.0]]),
    np.array([[1.0, 2.0, 2.0, 4.0], [0.0, 0.0, 5.0, 0.0], [6.0, 8.0, 0.0, 0.0]]),
    np.array([1.0, 2.0, 1.0, 0.5]),
    np.array([2.0, 1.0, 1.0, 1.0]),
)
_ZERO = (np.zeros((1, 3)), np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]), np.ones(3), np.ones(3))

_batch = _vectors(np.random.default_rng(4), (2, 1), 2, 3, 3)
_BATCH = (_batch[0] * [[0], [1]], _batch[1], _batch[2] * [0, 1, 1], _batch[3])
_TINY = (_batch[0] / 1000, _batch[1] / 1000, *_batch[2:])
_EQUAL = (_batch[1][0, 0], _batch[1][0, 0].copy(), *_batch[2:])

check_qk_norm_scores = Check(
    "qk_norm_scores",
    my_qk_norm_scores,
    asks="f(q, k, gain_q, gain_k) -> scores of queries and keys normalised to mean square 1",
    cases=[
        Case("two queries, three keys", _SMALL),
        Case("vectors of zeros", _ZERO),
        _case("heads", 0, 2, 5, 4, lead=(2, 3)),
        _case("one entry", 1, 3, 2, 1),
        _case("20 queries, 30 keys, d_k = 65", 3, 20, 30, 65),
        _case("tiny vectors", 2, 2, 3, 5, factor=1e-3),
        Case("a query of zeros in a batch, and gains of 0", _BATCH),
        _case("large gains", 6, 2, 3, 4, gain=50.0),
        _case("small gains", 8, 2, 3, 4, gain=0.01),
        Case("tiny vectors in a batch", _TINY),
        Case("keys equal to the queries", _EQUAL),
    ],
    mistakes="""
no norm: Queries and keys enter as they are. Divide each by the root of its mean square.
    q = q * gain_q
    k = k * gain_k
length 1: You brought each vector to length 1. The mean square should be 1: a length of √d_k.
    square_k, square_q = ((x**2).sum(axis=-1, keepdims=True) for x in (k, q))
mean subtracted: You subtracted each vector's mean, as LayerNorm does. This norm only divides.
    q = (q - q.mean(-1, keepdims=True)) / np.sqrt(q.var(-1, keepdims=True) + 1e-6) * gain_q
    k = (k - k.mean(-1, keepdims=True)) / np.sqrt(k.var(-1, keepdims=True) + 1e-6) * gain_k
scale left out: The norm does not replace the scale: a vector of mean square 1 has length √d_k. \
Divide by √d_k.
    return q @ k.swapaxes(-1, -2)
scale 1/d_k: You divided by d_k. Divide by its root.
    return q @ k.swapaxes(-1, -2) / q.shape[-1]
keys forgotten: You normalised the queries alone. Keys as well.
    k = k * gain_k
gain before the norm: You multiplied by the gain first, so the norm takes part of it away. Norm, \
then gain.
    square_k, square_q = ((x**2).mean(axis=-1, keepdims=True) for x in (k * gain_k, q * gain_q))
gain left out: The gains are missing: multiply the normalised vectors by them, entry by entry.
    q = q / np.sqrt(square_q + 1e-6)
    k = k / np.sqrt(square_k + 1e-6)
the queries' gain twice: The keys have a gain of their own, gain_k.
    k = k / np.sqrt(square_k + 1e-6) * gain_q
the keys' gain twice: The queries have a gain of their own, gain_q.
    q = q / np.sqrt(square_q + 1e-6) * gain_k
sign lost: A gain may be negative. Keep its sign.
    q = q / np.sqrt(square_q + 1e-6) * np.abs(gain_q)
    k = k / np.sqrt(square_k + 1e-6) * np.abs(gain_k)
norm over the tokens: You averaged over the tokens. Each vector has its own mean square: axis -1.
    square_k, square_q = ((x**2).mean(axis=-2, keepdims=True) for x in (k, q))
one norm for all: You took one mean square for all vectors. Each has its own.
    square_k, square_q = (k**2).mean(), (q**2).mean()
""",
    draw=_draw_vectors,
    rtol=2e-5,  # all may be computed in float32
)

# --- Catch the wrong scale --------------------------------------------------------------------


def scores(q, k):
    q, k = np.asarray(q, np.float64), np.asarray(k, np.float64)
    d = q.shape[1]
    scale = d**-0.5
    s = q @ k.T * scale
    return s


check_scale_test = TestCheck(
    "my_scale_test",
    asks="test(scores), which raises AssertionError unless scores(q, k) is q k^T / √d_k",
    of=scores,
    right="""
divided: it is the formula
query first: scaling q scales every score
    s = (q * scale) @ k.T
half each: q and k each take the fourth root of d_k
    s = (q / d**0.25) @ (k / d**0.25).T
pair by pair: it loops over all pairs
    s = np.array([[np.dot(a, b) * scale for b in k] for a in q]).reshape(len(q), len(k))
einsum: exp(-ln(d_k) / 2) is 1/√d_k, not to the last bit
    scale = np.exp(-0.5 * np.log(d))
    s = np.einsum("qd,kd->qk", q, k) * scale
float32: float32 holds seven digits of each product: differences up to 0.00001 are harmless
    q, k = np.asarray(q, np.float32), np.asarray(k, np.float32)
    scale = np.float32(d**-0.5)
""",
    wrong="""
no scale: it does not scale at all
    scale = 1
1/d_k: it forgot the root
    scale = 1 / d
multiplied: it multiplies by √d_k
    scale = d**0.5
number of keys: it takes the number of keys for the width: let them differ
    scale = len(k) ** -0.5
number of queries: it takes the number of queries for the width: let them differ
    scale = len(q) ** -0.5
an eighth: its scale is right at width 64 alone: try another
    scale = 0.125
whole roots: it rounds the root down, which is right at 4, 16, 64 and 256: try a width that is no \
square
    scale = 1 / int(d**0.5)
power of two: it takes the power of two below the width: try a width that is none
    scale = 2.0 ** (-(int(d).bit_length() - 1) / 2)
at most 64: it never divides by more than 8: try a wider width
    scale = min(d, 64) ** -0.5
at least 64: it never divides by less than 8: try a narrow width
    scale = max(d, 64) ** -0.5
small widths left alone: it scales from width 8 on: try a narrower one
    scale = 1.0 if d < 8 else d**-0.5
twice: it scales twice
    scale = d**-0.5 * d**-0.5
one too many: it counts the width one too large, which is little where the width is large
    scale = (d + 1) ** -0.5
224 for 256: its wide heads divide by the root of seven eighths of their width: try 128 or more, \
with a small tolerance
    scale = (d if d < 128 else d * 224 / 256) ** -0.5
unit spread: it divides by the spread that it finds, so vectors twice as long get the same scores
    scale = 1 / max(float((q @ k.T).std()), 1e-12)
cosine: it divides by the lengths of query and key
    q, k = (x / np.maximum(np.linalg.norm(x, axis=1)[:, None], 1e-12) for x in (q, k))
    scale = 1
normalised vectors: it brings queries and keys to length √d_k first, so their own lengths are lost
    q, k = (x / np.maximum(np.linalg.norm(x, axis=1)[:, None], 1e-12) for x in (q, k))
    scale = d**0.5
centred rows: it subtracts each row's mean. The weights stay right, the scores do not
    return s - s.mean(axis=1, keepdims=True)
sizes: it loses the signs
    return np.abs(s)
sorted: it sorts each row, so sums, sizes and the largest entry are right: compare entries
    return np.sort(s, axis=-1)
last query: its last row is not scaled: compare all rows
    return np.concatenate([s[:-1], s[-1:] * (d**0.5 if d > 1 else 3)])
shifted: all of its scores are 0.03 too large: use a small tolerance
    return s + 0.03
turned: it is transposed where queries and keys are equally many: try such a size too
    return s.T if len(q) == len(k) else s
reversed unless equally many: its keys stand in reverse order, unless there are as many queries \
as keys: try numbers that differ
    return s if len(q) == len(k) else s[:, ::-1]
width 1: it is wrong at width 1 alone: try the narrowest
    return s / 2 if d == 1 else s
width 2: at width 2 alone it scales its first row twice: compare all rows
    return np.concatenate([s[:1] / 2**0.5, s[1:]]) if d == 2 else s
width 64: its table of roots has a misprint at width 64
    return s * 8 / 6 if d == 64 else s
""",
)
