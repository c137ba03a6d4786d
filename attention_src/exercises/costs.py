"""The checks of the last chapter, on costs."""

from typing import Any

import numpy as np

from attention_src.costs import kv_cache_bytes
from attention_src.costs.algorithms import visible_pairs  # noqa: F401  a right counter calls it
from attention_src.costs.roofline import CHIPS
from attention_src.exercises.engine import Case, Check, Ladder, Rung, TestCheck

# --- One model, one chip ----------------------------------------------------------------------

LAYERS, D_MODEL, H, H_KV, D, D_FF = 32, 4096, 32, 8, 128, 14336
QUERIES, KEYS = 2 * D_MODEL * H * D, 2 * D_MODEL * H_KV * D  # numbers, with the output's
MATRICES = 2 * (QUERIES + KEYS + 3 * D_MODEL * D_FF)  # FLOP of one token in one layer
TOKENS = 8192
QUERY = 4 * H * D * TOKENS  # FLOP of one query in all heads of one layer
CACHE, UNSHARED = (kv_cache_bytes(LAYERS, heads, D, D, TOKENS) for heads in (H_KV, H))
WEIGHTS = 16e9  # bytes, as the text says
CHIP = CHIPS["H100"]
ROOM = CHIP.memory_bytes - WEIGHTS

check_costs_ladder = Ladder("costs", [
    Rung("a", "FLOP of one token in one layer's matrices", MATRICES, {
        MATRICES // 2: "A multiplication and an addition make two.",
        2 * (2 * QUERIES + 3 * D_MODEL * D_FF): "Keys and values have 8 heads, not 32.",
        2 * (QUERIES + KEYS + 2 * D_MODEL * D_FF): "The feed-forward part has three matrices here.",
        LAYERS * MATRICES: "That is all layers. Take one.",
    }, hint="Each number of a matrix costs two FLOP. Seven matrices."),
    Rung("b", "FLOP of attention for the last token, one layer", QUERY, {
        QUERY // 2: "Two products: scores and output.",
        QUERY // H: "That is one head.",
        QUERY * H_KV // H: "Shared keys save bytes. Each of the 32 query heads has scores of its "
            "own.",
    }, hint="4 d for each key and query head."),
    Rung("c", "tokens at which (a) and attention are equal, all pairs counted",
         MATRICES / (4 * H * D), {
        6 * D_MODEL: "6 d is the classic shape. This layer is another.",
        2 * MATRICES / (4 * H * D): "That is for causal attention.",
    }, hint="(a) divided by what one key costs."),
    Rung("d", "GB of one text's cache", CACHE / 1e9, {
        UNSHARED / 1e9: "Keys and values have 8 heads.",
        CACHE / 2**30: "Those are GiB; GB are 10^9 bytes.",
        CACHE / LAYERS / 1e9: "That is one layer.",
        CACHE / 2e9: "Keys and values, two bytes a number.",
    }, hint="2 · layers · heads · 2 d bytes for a token."),
    Rung("e", "texts that fit beside the weights", ROOM // CACHE, {
        CHIP.memory_bytes // CACHE: "The weights take room too.",
        ROOM // UNSHARED: "Keys and values have 8 heads.",
        ROOM // CACHE + 1: "One fewer fits.",
        ROOM / CACHE: "Whole texts: round down.",
    }, hint="80 GiB are 85.9 GB. Less 16 GB, divided by (d), rounded down.", rtol=0),
    Rung("f", "ms for a token, alone, at least", 1e3 * (WEIGHTS + CACHE) / CHIP.bytes_per_s, {
        1e3 * WEIGHTS / CHIP.bytes_per_s: "The cache is read as well.",
        1e3 * CACHE / CHIP.bytes_per_s: "The weights are read as well.",
        (WEIGHTS + CACHE) / CHIP.bytes_per_s: "Those are seconds.",
    }, hint="All weights and the cache pass once; 3.35e12 bytes a second."),
], asks="the rungs of \"One model, one chip\"")  # fmt: skip

# --- Two terms, from measurements alone -------------------------------------------------------


def my_crossing(n, y):
    columns = np.stack([n / y, n**2 / y], axis=1)  # [m, 2]
    a, b = np.linalg.lstsq(columns, np.ones(len(n)), rcond=None)[0]
    return a / b


def _draw(rng: np.random.Generator) -> tuple:
    m = int(rng.integers(2, 9))
    n = rng.choice(np.arange(4, 400), m, replace=False) * float(rng.choice([1, 16, 256]))
    cross = n.mean() * 10 ** rng.uniform(-0.7, 0.7)
    y = 10 ** rng.uniform(-12, 6) * (cross * n + n**2)
    return n, y * np.exp(rng.normal(0, rng.choice([0.0, 0.02]), m))


def _case(name: str, n: Any, a: float, b: float, noise: float = 0.0, seed: int = 0) -> Case:
    n = np.array(n, dtype=np.float64)
    y = (a * n + b * n**2) * np.exp(np.random.default_rng(seed).normal(0, noise, len(n)))
    return Case(name, (n, y))


check_crossing = Check(
    "crossing",
    my_crossing,
    asks="f(n [m], y [m]) -> the n at which both terms of a n + b n² are equal",
    cases=[
        _case("y = 12 n + 4 n² for three lengths", [1, 2, 4], 12, 4),
        _case("two lengths", [10, 30], 600, 5),
        _case("noise of a few per cent", [64, 128, 256, 512, 1024], 3e4, 40, 0.03, 1),
        _case("lengths from 16 to 65,536, with noise", [16, 256, 4096, 65536], 2e5, 30, 0.03, 2),
        _case("it lies beyond all lengths", [100, 200, 300, 400], 8e3, 1, 0.001, 3),
        _case("milliseconds", [128, 512, 2048], 2e-4, 3e-7, 0.01, 4),
        _case("lengths in no order", [512, 64, 2048, 128], 5000, 3, 0.01, 5),
        _case("below 1 token", [1, 2, 3, 8], 0.5, 2),
        _case("tiny costs", [64, 256, 1024], 1e-11, 2e-14, 0.01, 6),
        _case("lengths from 1 to 100,000, with noise", [1, 10, 1000, 100_000], 30, 2, 0.03, 7),
        _case("two lengths, not whole, and costs below 1e-9", [2.5, 41.25], 3e-13, 2e-14),
        _case("twelve lengths", range(5, 125, 10), 70, 1.5, 0.02, 8),
        _case("forty lengths", range(7, 807, 20), 900, 2.5, 0.02, 9),
        _case("long lengths, close together", [99_000, 99_500, 100_000], 7e4, 1.3),
        _case("far below 1 token", [1, 3, 17, 200], 0.0123456784, 1),
    ],
    mistakes="""
upside down: You returned b / a. Where is a n = b n²?
    return b / a
largest counts most: You fitted y itself: the longest text decides almost alone. Divide each miss \
by its y.
    columns = np.stack([n, n**2], axis=1)
    a, b = np.linalg.lstsq(columns, y, rcond=None)[0]
a constant too: Your fit has a constant as well. There are two terms, a n and b n².
    columns = np.stack([n / y, n**2 / y, 1 / y], axis=1)
    a, b = np.linalg.lstsq(columns, np.ones(len(n)), rcond=None)[0][:2]
half-way: Your misses are divided by the root of y. Divide the columns and y by y itself.
    columns = np.stack([n / y**0.5, n**2 / y**0.5], axis=1)
    a, b = np.linalg.lstsq(columns, y**0.5, rcond=None)[0]
y / n: You fitted y / n with equal weights. Those misses are not relative: divide by y.
    return np.divide(*np.polyfit(n, y / n, 1)[::-1])
two points: You used the first and the last length only.
    columns = np.stack([n / y, n**2 / y], axis=1)[[0, -1]]
    a, b = np.linalg.lstsq(columns, np.ones(2), rcond=None)[0]
a alone: That is a. Where is a n = b n²?
    return a
""",
    hints=[
        "Relative misses: (a n + b n²) / y should be 1 for each length.",
        "That is a system of linear equations for a and b: columns n / y and n² / y, right side 1.",
        "np.linalg.lstsq(np.stack([n / y, n**2 / y], axis=1), np.ones(len(n)), rcond=None)[0]",
    ],
    draw=_draw,
)

# --- How sure is a slope? ---------------------------------------------------------------------


def my_slopes(n, times, picks):
    y = np.log(times[picks, np.arange(len(n))])  # [B, m]
    x = np.log(n) - np.log(n).mean()  # [m]
    return y @ x / (x @ x)


def _made(rng: Any, runs: int, m: int, draws: int, power: float, noise: float) -> tuple:
    n = rng.choice(np.arange(2, 200), m, replace=False) * 16.0
    times = n**power * 10 ** rng.uniform(-7, 0) * np.exp(rng.normal(0, noise, (runs, m)))
    return n, times, rng.integers(0, runs, (draws, m))


def _draw_runs(rng: np.random.Generator) -> tuple:
    runs, m, draws = (int(x) for x in rng.integers([1, 2, 1], [8, 9, 12]))
    return _made(rng, runs, m, draws, float(rng.uniform(0, 3)), float(rng.choice([0.01, 0.2])))


TWO_RUNS = np.array([[1.0, 2.0, 16.0], [2.0, 4.0, 8.0]])
PICKS = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]])
THREE_RUNS = np.array([[1.0, 5.0, 3.0], [2.0, 4.0, 9.0], [3.0, 7.0, 8.0]])

check_slopes = Check(
    "slopes",
    my_slopes,
    asks="f(n [m], times [runs, m], picks [B, m]) -> slopes [B]",
    cases=[
        Case("two runs of three lengths, four draws", (np.array([1.0, 2.0, 8.0]), TWO_RUNS, PICKS)),
        Case("one run, one draw", (np.array([10.0, 20]), np.array([[3.0, 12]]), PICKS[:1, :2])),
        Case("lengths in no order", (np.array([8.0, 1.0, 4.0]), TWO_RUNS, PICKS)),
        Case("as many runs as lengths", _made(np.random.default_rng(0), 4, 4, 6, 2.0, 0.1)),
        Case("five runs, forty draws", _made(np.random.default_rng(1), 5, 6, 40, 1.5, 0.3)),
        Case("twenty runs of thirty lengths", _made(np.random.default_rng(2), 20, 30, 5, 2.0, 0.1)),
        Case(
            "as many draws as runs and lengths, and lengths below 1",
            (np.array([0.25, 0.5, 3.0]), THREE_RUNS, np.array([[2, 0, 1], [0, 0, 2], [1, 2, 2]])),
        ),
    ],
    mistakes="""
whole runs: You take all lengths from one run. picks has a run for each length of each draw.
    y = np.log(times[picks[:, 0]])
first and last: You used the two ends only. Fit a line to all lengths.
    return (y[:, -1] - y[:, 0]) / np.log(n[-1] / n[0])
no logarithms: That is the slope of the times themselves.
    y = times[picks, np.arange(len(n))]
    x = n - n.mean()
one logarithm: Take the logarithm of n too.
    x = n - n.mean()
through 0: Your line goes through the origin. It needs not.
    x = np.log(n)
medians: You fitted the medians, the same for each draw.
    return np.full(len(picks), np.log(np.median(times, axis=0)) @ x / (x @ x))
two bases: Both logarithms need the same base.
    y = np.log2(times[picks, np.arange(len(n))])
steps: You took the mean of the slopes between neighbours.
    return (np.diff(y) / np.diff(np.log(n))).mean(axis=1)
""",
    hints=[
        "For one draw: y[j] = times[picks[b, j], j], then np.polyfit of the logarithms.",
        "All draws: times[picks, np.arange(len(n))] has shape [B, m].",
        "Less its mean, x = log n gives the slope log(y) @ x / (x @ x).",
    ],
    draw=_draw_runs,
)

# --- A test for those who count ---------------------------------------------------------------


def counter(n_q, n_k, d_k, d_v, n_heads, causal):
    pairs = n_q * n_k - (n_q * (n_q - 1) // 2 if causal else 0)
    each = 2 * (d_k + d_v)
    return n_heads * pairs * each


check_flops_test = TestCheck(
    "my_flops_test",
    asks="test(counter), which raises AssertionError if the counter is wrong",
    of=counter,
    right="""
closed form: it takes the hidden triangle away
loops: it goes from pair to pair
    pairs = sum(not causal or j <= i + n_k - n_q for i in range(n_q) for j in range(n_k))
visible_pairs: the package counts the pairs
    pairs = visible_pairs(n_q, n_k, causal=causal)
floats: its numbers are floats: a mean of keys for a query
    pairs = n_q * (n_k - (n_q - 1) / 2 if causal else float(n_k))
rows: it adds row by row, for each product by itself
    pairs = [n_k - n_q + i + 1 if causal else n_k for i in range(n_q)]
    return sum(2 * n_heads * n * d_k for n in pairs) + sum(2 * n_heads * n * d_v for n in pairs)
two products: it counts each product by itself
    pairs = n_heads * (n_q * n_k - (sum(range(n_q)) if causal else 0))
    return pairs * d_k * 2 + pairs * d_v * 2
""",
    wrong="""
hidden ones too: it counts the pairs that a causal mask hides
    pairs = n_q * n_k
half: it halves exactly if causal, which misses half of the diagonal
    pairs = n_q * n_k / (2 if causal else 1)
no diagonal: no token sees itself
    pairs = n_q * n_k - (n_q * (n_q + 1) // 2 if causal else 0)
top left: its triangle begins at the first key. Do you try fewer queries than keys?
    pairs = n_q * (n_q + 1) // 2 if causal else n_q * n_k
always causal: it takes every attention for causal
    pairs = n_q * n_k - n_q * (n_q - 1) // 2
multiplications: it counts a multiplication and its addition as one
    each = d_k + d_v
scores only: it leaves out the product with the values
    each = 2 * d_k
values only: it leaves out the scores
    each = 2 * d_v
keys' width twice: it takes values to be as wide as keys
    each = 4 * d_k
values' width twice: it takes keys to be as wide as values
    each = 4 * d_v
widths multiplied: it multiplies the widths
    each = 2 * d_k * d_v
keys squared: it takes as many queries as keys
    pairs = n_k * (n_k + 1) // 2 if causal else n_k**2
queries squared: it takes as many keys as queries
    pairs = n_q * (n_q + 1) // 2 if causal else n_q**2
heads squared: it counts the heads twice
    return n_heads**2 * pairs * each
one head: it counts one head
    return pairs * each
one more: it counts one operation too many for each pair. Do you compare exactly?
    each = 2 * (d_k + d_v) + 1
one addition fewer: it counts one addition too few in each product. Do you compare exactly?
    each = 2 * (d_k + d_v) - 2
one ahead: query i sees keys up to i + 1, which is right for one more key than queries
    pairs = sum(min(i + 2, n_k) if causal else n_k for i in range(n_q))
softmax too: it adds the softmax, which the text leaves out
    each = 2 * (d_k + d_v) + 5
""",
    hints=[
        "Count a small case by a loop over pairs, and compare.",
        "Sizes that differ: n_q = 3, n_k = 5, d_k = 7, d_v = 2, n_heads = 4; causal and not.",
        "For causal, query i of n_q sees n_k - n_q + i + 1 keys.",
    ],
)
