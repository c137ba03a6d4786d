"""The checks of the chapter on scaling."""

import numpy as np

from attention_src.exercises.engine import Case, Check, Ladder, Rung, TestCheck
from attention_src.exercises.engine.cases import any_scores, any_shape

# --- When the assumptions bend ----------------------------------------------------------------

D_K = 64

# fmt: off
check_variance = Ladder("variance", [
    Rung("a", "the standard deviation for entries between -1 and 1", (D_K / 9) ** 0.5, {
        D_K / 9: "This is the variance. Its root is asked for.",
        D_K**0.5: "So it is for entries of variance 1. Theirs is 1/3.",
        (D_K / 3) ** 0.5: "Both factors of each product have variance 1/3.",
        2.7: "Rounded too far: give two decimals.",
    }, hint="The uniform distribution between -1 and 1 has variance 1/3."),
    Rung("b", "the variance if the keys' entries have mean 1/2", D_K * 1.25, {
        (D_K * 1.25) ** 0.5: "This is the root. The variance is asked for.",
        D_K: "E[k²] is not the variance: it is variance plus mean².",
        D_K * 1.5: "The mean is to be squared: E[k²] = 1 + (1/2)².",
    }, hint="Each product has mean 0 and variance E[q²] E[k²]."),
    Rung("c", "the variance if the queries' entries have mean 1/2 too", D_K * (1.25**2 - 0.25**2), {
        D_K * 1.25**2: "The product has a mean now: subtract its square.",
        D_K * 1.25: "That is the variance with the queries at mean 0.",
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

# --- What softmax can see ---------------------------------------------------------------------


def my_row_spread(s):
    s = np.asarray(s, dtype=np.float64)
    seen = s > -np.inf
    count = np.maximum(seen.sum(axis=-1), 1)
    mean = np.where(seen, s, 0).sum(axis=-1) / count
    x = np.where(seen, s - mean[..., None], 0)
    return np.sqrt((x**2).sum(axis=-1) / count)


FAR = np.array([[0.1, 0.25, -0.05, 0.3], [0, -0.2, -0.1, -0.7]]) + np.array([[9000.0], [-9000.0]])


def _draw_scores(rng: np.random.Generator) -> tuple:
    """Scores of one to four axes and three dtypes, some hidden, sometimes whole rows."""
    dtype = (np.float64, np.float64, np.float32, np.float16)[int(rng.integers(4))]
    s = any_scores(rng, any_shape(rng), dtype)
    if rng.random() < 0.6:
        s[rng.random(s.shape) < 0.3] = -np.inf
    return (s,)


check_row_spread = Check(
    "row_spread",
    my_row_spread,
    asks="f(s [..., n_k]) -> [...]: the standard deviation of the seen scores of each row",
    cases=[
        Case("two rows of four", (np.array([[8.0, 7, 3, 1], [1008, 1004, 1002, 1006]]),)),
        Case("hidden keys", (np.array([[2, -np.inf, -np.inf], [1, 5, -np.inf], [4, -2, 1]]),)),
        Case("one row", (np.array([0.5, 2.0, -1.0]),)),
        Case("a row with everything hidden", (np.array([[-np.inf] * 3, [1.0, 2.0, 4.0]]),)),
        Case("one key", (np.array([[3.0], [-7.0]]),)),
        Case("rows far from 0", (FAR,)),
        Case("a row at -10^4", (np.array([[-10_000, -10_000.5, -9999.25], [0.5, -np.inf, 2]]),)),
        Case("far from 0, a thousandth apart", (9000 + np.array([[1e-3, 3e-3, -2e-3, 0]]),)),
        Case("wide rows", (np.array([[-3e4, 2e4, 1e3, -np.inf], [-3e9, 2e9, 5.0, 1e3]]),)),
        Case("float16", (np.array([[250, 130, -300, 10, 290]], np.float16),)),
        Case("forty keys", (np.round(np.cos(np.arange(80.0) ** 2), 2).reshape(2, 40),)),
        Case("heads and queries", (np.round(np.sin(np.arange(24.0)) * 5, 1).reshape(2, 3, 4),)),
        Case("forty rows", (np.round(np.sin(np.arange(80.0)) * 5, 1).reshape(40, 2),)),
        Case("a millionth apart", (np.array([1e-6, 3e-6, -2e-6]),)),
    ],
    mistakes="""
one spread for everything: You took the spread of all scores together. Each row has its own, \
over the last axis.
    s = np.ravel(np.asarray(s, dtype=np.float64))
wrong axis: You went over the queries. The keys are on axis -1.
    s = np.moveaxis(np.atleast_2d(np.asarray(s, dtype=np.float64)), -2, -1)
variance: This is the variance. The spread is its root.
    return (x**2).sum(axis=-1) / count
n - 1: You divided by the number of keys minus 1. Divide by their number: this row is all there \
is, not a sample.
    return np.sqrt((x**2).sum(axis=-1) / np.maximum(count - 1, 1))
hidden keys counted as 0: Hidden keys have no score. You counted them as 0; leave them out.
    s = np.where(np.isinf(s), 0, s).astype(np.float64)
mean not subtracted: This is the root of the mean square: it grows when all scores are shifted, \
which softmax does not see. Subtract the row's mean first.
    x = np.where(seen, s, 0)
range: This is the largest minus the smallest score.
    return np.ptp(x, axis=-1)
axis kept: The axis of the keys should be gone: no keepdims in the last step.
    return np.sqrt((x**2).sum(axis=-1, keepdims=True) / count[..., None])
no rule for hidden keys: -inf enters the mean. Find the keys that are seen, s > -inf, and use \
those alone.
    seen = s < np.inf
""",
    hints=[
        "Which entries are seen? How many are there in each row?",
        "seen = s > -np.inf; then mean = np.where(seen, s, 0).sum(-1) / number seen, in float64.",
        "Average np.where(seen, s - mean, 0)**2 over the seen keys, and take the root. A row "
        "without any: divide by 1 instead of 0.",
    ],
    draw=_draw_scores,
    rtol=1e-6,  # an answer may be float32
)

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


def _case(name: str, seed: int, *sizes: int, lead: tuple = (), factor: float = 1.0) -> Case:
    q, k, *gains = _vectors(np.random.default_rng(seed), lead, *sizes)
    return Case(name, (q * factor, k * factor, *gains))


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
    hints=[
        "The mean square of each vector: (x**2).mean(axis=-1, keepdims=True).",
        "Divide by np.sqrt(mean square + 1e-6), then multiply by the gain.",
        "Then the scores as ever: q @ k.swapaxes(-1, -2) / d_k**0.5.",
    ],
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
width 1: it is wrong at width 1 alone: try the narrowest
    return s / 2 if d == 1 else s
width 2: at width 2 alone it scales its first row twice: compare all rows
    return np.concatenate([s[:1] / 2**0.5, s[1:]]) if d == 2 else s
width 64: its table of roots has a misprint at width 64
    return s * 8 / 6 if d == 64 else s
""",
    hints=[
        "Compute the right scores yourself, and compare with np.allclose(..., atol=1e-3).",
        "Try widths of every kind: 1, 2, 5, 64, 200; and let n_q, n_k and d_k all differ.",
        "assert np.allclose(scores(q, k), q @ k.T / np.sqrt(d_k), atol=1e-3)",
    ],
)
