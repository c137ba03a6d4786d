"""The checks of the chapter on retrieval."""

from typing import Any

import numpy as np

from attention_src.exercises.engine import Case, Check, DesignCheck, Ladder, Rung
from attention_src.exercises.engine.answers import to_array

# --- A look-up by hand ------------------------------------------------------------------------

GAP = np.log(1.5)  # of apple's score over banana's

# fmt: off
check_by_hand = Ladder("by_hand", [
    Rung("a", "the weight of apple", 8 / 10, {
        0.2: "This is banana's.",
        0.9: "The output is 9, the weight is not 0.9: banana adds 5s.",
        80: "This is in per cent. Give a share, between 0 and 1.",
    }, hint="10 p + 5 (1 − p) = 9"),
    Rung("b", "the gap of the scores", np.log(4), {
        4: "This is the ratio of the weights. The gap is its logarithm.",
        -np.log(4): "Apple leads: the gap is positive.",
        np.log10(4): "0.6 is the difference of the weights, 0.602 the logarithm of their ratio to "
            "base 10. The weights are powers of e: take the natural logarithm.",
        np.log(0.8): "Compare the two weights: their ratio is 0.8 / 0.2.",
        2: "This is the logarithm to base 2; the weights are powers of e.",
        1.4: "Rounded too far: give two decimals.",
    }, hint="The ratio of two weights is e to the power of their scores' gap."),
    Rung("c", "the temperature", GAP / np.log(4), {
        np.log(4) / GAP: "This is 1/τ: cold, below 1, makes sharper.",
        GAP * np.log(4): "Divide the gap that you have by the one you need.",
        1 / 4: "The weights have the ratio 4, but scores act through e.",
        0.3: "Rounded too far: give three decimals.",
    }, hint="At temperature τ the gap is 0.405/τ. Which gap do you need?"),
    Rung("d", "the output with banana twice", (1.5 * 10 + 5 + 5) / 3.5, {
        8: "This is the output with one banana. A second one takes weight.",
        20 / 3: "This is the plain mean. Apple still leads.",
        0.6 * 10 + 0.8 * 5: "The weights sum to 1: apple's share shrinks too.",
        0.5 * 10 + 0.5 * 5: "Ratios stay 1.5 : 1 : 1.",
        7.1: "Rounded too far: give two decimals.",
    }, hint="The weights have the ratios 1.5 : 1 : 1."),
    Rung("e", "how many bananas", 5, {
        4: "With four the output is still above 6.3.",
        6: "One fewer is enough.",
        3: "Three only bring it down to 6.7.",
    }, hint="With m bananas the output is (15 + 5 m) / (1.5 + m).", rtol=0),
], asks="the rungs of the exercise \"A look-up by hand\"")
# fmt: on

# --- Your own soft look-up --------------------------------------------------------------------


def my_soft_lookup(q, k, v, temperature):
    s = k @ q / temperature  # [n]
    e = np.exp(s - s.max())
    return e / e.sum() @ v  # [d_v]


SHOP = np.array([[2.0, -0.5], [1.73, 0.4], [-1.0, 2.0]])
STOCK = np.array([[10.0, 1.0], [5.0, 2.0], [2.0, 7.0]])


def _draw_lookup(rng: np.random.Generator) -> tuple:
    n, d, d_v = (int(x) for x in rng.integers(1, 7, 3))
    if rng.random() < 0.1:
        n = int(rng.integers(40, 90))
    spread = float(rng.choice([0.3, 1.0, 60.0]))
    q, k = spread * rng.normal(size=d), rng.normal(size=(n, d))
    if rng.random() < 0.2:
        k = np.asarray(rng.integers(-3, 4, (n, d)))
    v = rng.normal(size=(n, d_v)) * float(rng.choice([1.0, 1000.0]))
    return q, k, v, float(rng.choice([0.01, 0.5, 1.0, 7.0, 300.0]))


check_soft_lookup = Check(
    "soft_lookup",
    my_soft_lookup,
    asks="f(q, k, v, temperature) -> [d_v], for q [d], k [n, d] and v [n, d_v]",
    cases=[
        Case("three keys, two numbers in each value", (np.array([1.5, 0.0]), SHOP, STOCK, 1.0)),
        Case("the same, hot", (np.array([1.5, 0.0]), SHOP, STOCK, 10.0)),
        Case("one key", (np.array([2.0, 1.0, 3.0]), np.ones((1, 3)), np.array([[4.0]]), 0.5)),
        Case("a query of zeros", (np.zeros(2), SHOP, STOCK, 1.0)),
        Case("large scores", (np.array([3000.0, 4.0]), SHOP, STOCK, 1.0)),
        Case("cold", (np.array([1.5, 0.1]), SHOP, STOCK, 1e-3)),
        Case("very cold", (np.array([1e-3, 0.0]), np.eye(2), np.eye(2), 1e-3)),
        Case("two equal keys", (np.array([2.0, 1.0]), SHOP[[0, 0, 1]], STOCK, 0.1)),
        Case("cold, the best key last", (np.array([-1.5, 0.1]), SHOP, STOCK, 1e-3)),
        Case("all scores far below 0", (np.array([-3000.0, 4.0]), SHOP[:2], STOCK[:2], 1.0)),
        Case("to twelve digits", (np.array([1.5, 0.3]), SHOP, STOCK, 1.0), rtol=1e-12),
    ],
    mistakes="""
no maximum subtracted: exp of a large score is infinite. Subtract the largest score first: it \
changes no weight.
    e = np.exp(s)
temperature multiplied: You multiplied by the temperature. Divide: cold is sharp.
    s = k @ q * temperature
temperature forgotten: The temperature changes nothing in your answer.
    s = k @ q
nearness: You scored by distance. Here a score is a dot product.
    s = -((k - q) ** 2).sum(axis=1) / 2 / temperature
cosine: You divided by lengths. Here a score is a plain dot product.
    s = k @ q / (np.linalg.norm(k, axis=1) * np.linalg.norm(q)) / temperature
hard: You took the best key alone. Blend all values, by their weights.
    return v[s.argmax()]
a plain mean: You averaged all values alike. Weigh them.
    return v.mean(axis=0)
not divided by the sum: Your weights do not sum to 1.
    return e @ v
temperature after the softmax: Divide the scores by the temperature, before the exponential.
    s = k @ q
    return e / e.sum() / temperature @ v
scores as weights: You divided the scores by their sum. Take exponentials first: scores may be \
negative.
    return s / s.sum() @ v
mean subtracted: Scores far above their mean still overflow. Subtract the largest score.
    e = np.exp(s - s.mean())
maximum from 0: Your maximum begins at 0. Where all scores are far below it each exponential is 0, \
and 0 / 0 is not a number. Take the maximum of the scores themselves.
    e = np.exp(s - max(s.max(), 0))
first score subtracted: Scores far above the first still overflow. Subtract the largest score.
    e = np.exp(s - s[0])
largest size subtracted: The largest score is s.max(), not the largest of their sizes: far below \
that, all exponentials are computed as 0, and 0 / 0 is not a number.
    e = np.exp(s - np.abs(s).max())
""",
    hints=[
        "Three lines: scores [n], weights [n], output [d_v].",
        "s = k @ q / temperature; then the two lines of `weights`, on s.",
        "s = k @ q / temperature; e = np.exp(s - s.max()); e / e.sum() @ v",
    ],
    draw=_draw_lookup,
)

# --- Regression that survives the distance ----------------------------------------------------


def my_kernel_regression(x, places, heights, h):
    s = -((x[:, None] - places) ** 2) / (2 * h**2)  # [n_q, n]
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e @ heights / e.sum(axis=1)


def _draw_regression(rng: np.random.Generator) -> tuple:
    n_q, n = (int(a) for a in rng.integers(1, 8, 2))
    places = rng.uniform(-5, 5, n)
    if rng.random() < 0.3:
        places = np.sort(places)
    far = float(rng.choice([0.0, 0.0, 100.0, -40.0]))
    x = rng.uniform(-6, 6, n_q) + far * (rng.random(n_q) < 0.5)
    return x, places, 3 * rng.normal(size=n), float(rng.choice([0.05, 0.4, 1.0, 3.0]))


PLACES, HEIGHTS = np.array([0.0, 1.0, 3.0]), np.array([2.0, 4.0, -1.0])
check_kernel_regression = Check(
    "kernel_regression",
    my_kernel_regression,
    asks="f(x, places, heights, h) -> [n_q], for x [n_q], places [n] and heights [n]",
    cases=[
        Case("two queries, three keys", (np.array([0.2, 2.0]), PLACES, HEIGHTS, 0.7)),
        Case("wide", (np.array([0.2, 2.0]), PLACES, HEIGHTS, 10.0)),
        Case("to twelve digits", (np.array([0.2, 2.0]), PLACES, HEIGHTS, 1.3), rtol=1e-12),
        Case("one key", (np.array([5.0, -1.0]), PLACES[:1], HEIGHTS[:1], 0.5)),
        Case("one query", (np.array([1.4]), PLACES, HEIGHTS, 1.0)),
        Case("a query far from all keys", (np.array([0.5, 90.0]), PLACES, HEIGHTS, 0.5)),
        Case("midway, far from both", (np.array([50.0]), np.array([0, 100.0]), HEIGHTS[:2], 0.1)),
        Case("narrow", (np.array([5e-4]), np.array([0, 2e-3]), HEIGHTS[:2], 1e-3)),
        Case("one place measured twice", (np.array([1.0]), PLACES[[1, 1]], HEIGHTS[:2], 0.3)),
    ],
    mistakes="""
0 / 0 far away: Far from all keys each exponential is computed as 0, and 0 / 0 is not a number. \
Subtract the largest score of each query first.
    e = np.exp(s)
one maximum for all queries: Each query needs its own maximum: max(axis=1, keepdims=True).
    e = np.exp(s - s.max())
h instead of h²: Divide by h squared.
    s = -((x[:, None] - places) ** 2) / (2 * h)
no 2: There is a 2 below the line.
    s = -((x[:, None] - places) ** 2) / h**2
distance not squared: Square the distance, and h with it.
    s = -np.abs(x[:, None] - places) / h
multiplied: Divide by h², not multiply.
    s = -((x[:, None] - places) ** 2) * h**2 / 2
farthest counts most: A sign is missing: the farthest key counts most.
    s = (x[:, None] - places) ** 2 / (2 * h**2)
normalised over the queries: The weights of each query sum to 1: sum over the keys, axis 1.
    e = np.exp(s - s.max(axis=0))
    return e / e.sum(axis=0) @ heights
the nearest alone: This is the nearest measurement. Blend all of them.
    return heights[np.abs(x[:, None] - places).argmin(axis=1)]
interpolation: These are straight lines from point to point. Use the formula.
    return np.interp(x, np.sort(places), heights[np.argsort(places)])
0 / 0 patched with 0: You patched 0 / 0. Subtract each query's maximum: none occurs.
    e = np.exp(s)
    return np.nan_to_num(e @ heights / e.sum(axis=1))
0 / 0 patched with the mean: You patched 0 / 0. Subtract each query's maximum: none occurs.
    e = np.exp(s)
    return np.where(e.sum(axis=1) > 0, e @ heights / e.sum(axis=1), heights.mean())
0 / 0 patched with the nearest: You patched 0 / 0. Two nearest keys share the weight: \
subtract each query's maximum.
    e = np.exp(s)
    return np.where(e.sum(axis=1) > 0, e @ heights / e.sum(axis=1), heights[s.argmax(axis=1)])
""",
    hints=[
        "A table of scores [n_q, n]: x[:, None] is a column, places a row.",
        "Then the same two lines as `weights`, over axis 1, and a product with heights.",
        "s = -((x[:, None] - places) ** 2) / (2 * h**2); "
        "e = np.exp(s - s.max(axis=1, keepdims=True)); e @ heights / e.sum(axis=1)",
    ],
    draw=_draw_regression,
)

# --- A dictionary in two dimensions -----------------------------------------------------------

ALLOWED = 1e-6  # of the weight, for all other keys


def _read(answer: Any) -> list[np.ndarray]:
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise ValueError("Your function should return two things: keys and temperature.")
    return [to_array(answer[0], "keys"), to_array(answer[1], "temperature")]


def _problem(n: int, keys: np.ndarray, temperature: np.ndarray) -> str:
    """The first thing that is wrong; "" if nothing is."""
    if keys.shape != (n, 2):
        return f"  expected keys of shape ({n}, 2)\n  yours have shape {keys.shape}"
    if temperature.shape != () or not 0 < temperature < np.inf:
        return f"  The temperature should be one positive number; yours is {temperature}."
    keys = keys.astype(np.float64)
    lengths = np.linalg.norm(keys, axis=1)
    off = np.flatnonzero(~(np.abs(lengths - 1) < 1e-6))
    if len(off):
        return f"  Key {off[0]} has length {lengths[off[0]]:.6g}; each should have length 1."
    s = keys @ keys.T / float(temperature)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    lost = 1 - np.diag(e / e.sum(axis=1, keepdims=True))
    if not np.isfinite(lost).all():
        return "  The scores overflow: this temperature is too small to compute with."
    worst = int(lost.argmax())
    if lost[worst] > ALLOWED:
        return (
            f"  The query of key {worst} gives other keys {lost[worst]:.2g} of the weight; "
            f"{ALLOWED:g} is allowed. Are the keys apart, and is it cold enough?"
        )
    return ""


check_round_dictionary = DesignCheck(
    "round_dictionary",
    _read,
    _problem,
    lambda keys, _: (
        f", up to n = {len(keys)}. Two dimensions hold them all; the price is the temperature."
    ),
    sizes=range(1, 101),
    asks="f(n) -> keys [n, 2] of length 1 and a temperature: each key finds itself alone",
)
