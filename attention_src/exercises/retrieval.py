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
        4: "This is the ratio of the two weights, apple's to banana's. Apple's own is asked for.",
        0.75: "A weight of 0.75 gives 0.75 · 10 + 0.25 · 5 = 8.75.",
        0.9: "The output is 9, the weight is not 0.9: banana adds 5s.",
        80: "This is in per cent. Give a share, between 0 and 1.",
    }, hint="10 p + 5 (1 − p) = 9"),
    Rung("b", "the gap of the scores", np.log(4), {
        4: "This is the ratio of the weights. The gap is its logarithm.",
        -np.log(4): "Apple leads: the gap is positive.",
        0.6: "This is the difference of the weights. Scores act through e: take their ratio.",
        np.log10(4): "This is the logarithm to base 10; the weights are powers of e.",
        np.log(5): "This is the logarithm of 1 / 0.2. Divide apple's weight by banana's, not 1.",
        np.log(9 / 5): "This is the logarithm of 9 / 5, of output and value. The ratio of the "
            "weights counts.",
        np.log(0.8): "Compare the two weights: their ratio is 0.8 / 0.2.",
        2: "This is the logarithm to base 2; the weights are powers of e.",
        1.4: "Rounded too far: give two decimals.",
    }, hint="The ratio of two weights is e to the power of their scores' gap."),
    Rung("c", "the temperature", GAP / np.log(4), {
        np.log(4) / GAP: "This is 1/τ: cold, below 1, makes sharper.",
        GAP * np.log(4): "Divide the gap that you have by the one you need.",
        1 / 4: "The weights have the ratio 4, but scores act through e.",
        1.5 / 4: "This is 1.5 / 4, of the ratios. A temperature divides scores, their logarithms.",
        np.log(4) - GAP: "This is the difference of the two gaps. A temperature divides a gap.",
        0.3: "Rounded too far: give three decimals.",
        0.29: "Rounded too far: give three decimals.",
    }, hint="At temperature τ the gap is 0.405/τ. Which gap do you need?"),
    Rung("d", "the output with banana twice", (1.5 * 10 + 5 + 5) / 3.5, {
        8: "This is the output with one banana. A second one takes weight.",
        20 / 3: "This is the plain mean. Apple still leads.",
        0.6 * 10 + 0.8 * 5: "The weights sum to 1: apple's share shrinks too.",
        6.5: "This is the mean of 8 and 5: the new banana has half of all the weight in it.",
        23 / 3: "Then apple would have 0.533 of the weight. Ratios stay 1.5 : 1 : 1.",
        (2 * 8 + 5) / 3: "This is the mean of 8, 8 and 5. The new banana has not a third of the "
            "weight: apple has more than each banana.",
        1.5 / 3.5: "This is apple's weight. The output is asked for.",
        0.43: "This is apple's weight. The output is asked for.",
        1.5 / 3.5 * 10: "This is what apple gives. The bananas give something, too.",
        0.5 * 10 + 0.5 * 5: "Ratios stay 1.5 : 1 : 1.",
        7.1: "Rounded too far: give two decimals.",
    }, hint="The weights have the ratios 1.5 : 1 : 1."),
    Rung("e", "how many bananas", 5, {
        4: "With four the output is still above 6.3.",
        6: "One fewer is enough.",
        3: "Three only bring it down to 6.7.",
        4.75: "There the output would be 6.2 itself. Give a whole number, and go below.",
        7: "This many bring it below 6 already. It is to be below 6.2.",
        13: "So it is if the weights are as 4 : 1. At temperature 1 they are as 1.5 : 1.",
    }, hint="With m bananas the output is (15 + 5 m) / (1.5 + m).", rtol=0),
], asks="the rungs of the exercise \"A look-up by hand\"")
# fmt: on

# --- Many ask at once -------------------------------------------------------------------------


def my_soft_lookup(q, k, v, temperature):
    s = q @ k.T / temperature[:, None]  # [m, n]
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) @ v  # [m, d_v]


SHOP = np.array([[2.0, -0.5], [1.73, 0.4], [-1.0, 2.0]])
STOCK = np.array([[10.0, 1.0], [5.0, 2.0], [2.0, 7.0]])
KEYS_3 = np.array([[2.0, -0.5, 1.0], [1.7, 0.4, 0.0], [-1.0, 2.0, 0.5]])
ASKED = np.array([[1.5, 0.0], [-0.2, 0.9]])
TEN = np.array([[10.0], [5.0], [2.0]])


def _waves(rows: int, columns: int) -> np.ndarray:
    """Numbers between -1 and 1 in no order."""
    return np.cos(np.arange(1.0, rows * columns + 1) ** 2).reshape(rows, columns)


_NEAR = np.array([[1.0, 0.0], [0.99, 0.1]])
_MANY = _waves(23, 19), _waves(31, 19), _waves(31, 17), np.geomspace(0.01, 1e6, 23)


def _clipped(q, k, v, temperature, answer):
    """What to say of scores that were cut off somewhere, so that exp does not overflow."""
    s, right = q @ k.T / temperature[:, None], my_soft_lookup(q, k, v, temperature)
    for most in (20, 30, 50, 80, 88, 100, 200, 300, 500, 600, 700, 709):
        e = np.exp(np.clip(s, -most, most))
        cut = e / e.sum(axis=1, keepdims=True) @ v
        if not np.allclose(cut, right) and answer.shape == cut.shape and np.allclose(answer, cut):
            return (
                "Did you clip the scores? Two that lie beyond the clip then count alike, however "
                "far apart. Subtract the largest score instead."
            )
    return ""


def _draw_lookup(rng: np.random.Generator) -> tuple:
    m, n, d, d_v = (int(x) for x in rng.integers(1, 7, 4))
    if rng.random() < 0.1:
        n = int(rng.integers(40, 90))
    spread = float(rng.choice([0.3, 1.0, 60.0]))
    q, k = spread * rng.normal(size=(m, d)), rng.normal(size=(n, d))
    if rng.random() < 0.2:
        k = np.asarray(rng.integers(-3, 4, (n, d)))
    v = rng.normal(size=(n, d_v)) * float(rng.choice([1.0, 1000.0]))
    return q, k, v, rng.choice([0.01, 0.5, 1.0, 7.0, 300.0], m)


check_soft_lookup = Check(
    "soft_lookup",
    my_soft_lookup,
    asks="f(q, k, v, temperature) -> [m, d_v], for q [m, d], k [n, d], v [n, d_v], temperature [m]",
    cases=[
        Case("two ask three keys", (ASKED, SHOP, TEN, np.array([1.0, 0.5]))),
        Case("two numbers in each value", (ASKED, SHOP, STOCK, np.array([1.0, 10.0]))),
        Case("one asks", (ASKED[:1], SHOP, STOCK, np.array([2.0]))),
        Case("as many ask as there are keys", (SHOP[::-1], SHOP, STOCK, np.array([0.5, 1.0, 3.0]))),
        Case("keys of three numbers", (KEYS_3[:2], KEYS_3, STOCK, np.array([0.7, 1.5]))),
        Case("one key", (np.array([[2.0, 1.0, 3.0]]), np.ones((1, 3)), TEN[:1], np.array([0.5]))),
        Case("queries of zeros", (np.zeros((2, 2)), SHOP, STOCK, np.array([1.0, 0.1]))),
        Case("large scores", (np.array([[3000.0, 4.0], [1, 0]]), SHOP, STOCK, np.ones(2))),
        Case("one of them cold", (ASKED, SHOP, STOCK, np.array([1e-3, 1.0]))),
        Case("very cold", (np.array([[1e-3, 0.0]]), np.eye(2), np.eye(2), np.array([1e-3]))),
        Case("two equal keys", (ASKED, SHOP[[0, 0, 1]], STOCK, np.array([0.1, 1.0]))),
        Case("cold, the best key last", (np.array([[-1.5, 0.1]]), SHOP, STOCK, np.array([1e-3]))),
        Case("all scores far below 0", (-3000 * SHOP[:2], SHOP[:2], STOCK[:2], np.array([1.0, 3]))),
        Case("many, of many numbers, cold and hot", _MANY),
        Case("to twelve digits", (ASKED, SHOP, STOCK, np.array([1.0, 2.0])), rtol=1e-12),
    ],
    mistakes="""
no maximum subtracted: exp of a large score is infinite. Subtract the largest score first: it \
changes no weight.
    e = np.exp(s)
one maximum for all: Each query's own largest score is to be subtracted: beside a query with far \
larger scores, all exponentials of another are computed as 0.
    e = np.exp(s - s.max())
one sum for all: Each query's weights sum to 1: divide each row by its own sum.
    return e / e.sum() @ v
softmax over the queries: You divided by sums over the queries, axis 0. Each query shares out its \
weight over the keys.
    e = np.exp(s - s.max(axis=0, keepdims=True))
    return e / e.sum(axis=0, keepdims=True) @ v
temperatures along the keys: A temperature belongs to a query, and you divided the columns, which \
are the keys. Make it [m, 1].
    s = q @ k.T / temperature
one temperature for all: Each query has a temperature of its own; you used the first for all.
    s = q @ k.T / temperature[0]
the mean temperature: Each query has a temperature of its own; you used their mean for all.
    s = q @ k.T / temperature.mean()
temperature multiplied: You multiplied by the temperature. Divide: cold is sharp.
    s = q @ k.T * temperature[:, None]
temperature forgotten: The temperature changes nothing in your answer.
    s = q @ k.T
nearness: You scored by distance. Here a score is a dot product.
    s = -((k - q[:, None]) ** 2).sum(axis=2) / 2 / temperature[:, None]
cosine: You divided by lengths. Here a score is a plain dot product.
    s = q @ k.T / np.outer(*(np.linalg.norm(x, axis=1) for x in (q, k))) / temperature[:, None]
hard: You took the best key alone. Blend all values, by their weights.
    return v[s.argmax(axis=1)]
a plain mean: You averaged all values alike. Weigh them.
    return np.tile(v.mean(axis=0), (len(q), 1))
not divided by the sum: Your weights do not sum to 1.
    return e @ v
temperature after the softmax: Divide the scores by the temperature, before the exponential.
    s = q @ k.T
    return e / e.sum(axis=1, keepdims=True) / temperature[:, None] @ v
scores as weights: You divided the scores by their sum. Take exponentials first: scores may be \
negative.
    return s / s.sum(axis=1, keepdims=True) @ v
scores from the values: You compared the query with the values. It is compared with the keys; \
values are blended only.
    s = q @ v.T / temperature[:, None]
a blend of the keys: You blended the keys. They give the weights; what is blended are the values.
    return e / e.sum(axis=1, keepdims=True) @ k
scaled: Divide by the temperature alone: there is no root of d here.
    s = q @ k.T / temperature[:, None] / np.sqrt(k.shape[1])
weights alone: These are the weights. Blend the values with them.
    return e / e.sum(axis=1, keepdims=True)
averaged again: The weights sum to 1, so the blend is an average already: do not divide once more.
    return e / e.sum(axis=1, keepdims=True) @ v / len(k)
transposed: This is [d_v, m]. A row for each query, please.
    return (e / e.sum(axis=1, keepdims=True) @ v).T
squeezed: The numbers are right, but an axis of length 1 is gone: keep [m, d_v].
    return (e / e.sum(axis=1, keepdims=True) @ v).squeeze()
summed to one number: A value has d_v numbers, and so has the output: do not add them up.
    return (e / e.sum(axis=1, keepdims=True) @ v).sum(axis=1)
NaN made 0: Where scores are large you replace NaN. Subtract the largest score: then none occurs.
    e = np.exp(s)
    return np.nan_to_num(e / e.sum(axis=1, keepdims=True)) @ v
minimum subtracted: With the smallest score subtracted the others are all above 0, and exp of a \
large one is still infinite. Subtract the largest.
    e = np.exp(s - s.min(axis=1, keepdims=True))
one minimum for all: With the smallest score subtracted the others are all above 0, and exp of a \
large one is still infinite. Subtract the largest, in each row.
    e = np.exp(s - s.min())
mean subtracted: Scores far above their mean still overflow. Subtract the largest score.
    e = np.exp(s - s.mean(axis=1, keepdims=True))
maximum from 0: Your maximum begins at 0. Where all scores are far below it each exponential is 0, \
and 0 / 0 is not a number. Take the maximum of the scores themselves.
    e = np.exp(s - s.max(axis=1, keepdims=True, initial=0))
first score subtracted: Scores far above the first still overflow. Subtract the largest score.
    e = np.exp(s - s[:, :1])
largest size subtracted: The largest score is s.max(), not the largest of their sizes: far below \
that, all exponentials are computed as 0, and 0 / 0 is not a number.
    e = np.exp(s - np.abs(s).max(axis=1, keepdims=True))
""",
    draw=_draw_lookup,
    note=_clipped,
)

# --- Why the walker stands still --------------------------------------------------------------


def my_slope(q, k, v, temperature):
    p = np.exp(k @ q / temperature)  # [n]
    p = p / p.sum()
    pull = p[:, None] * (v - p @ v)  # [n, d_v]
    return pull.T @ k / temperature  # [d_v, d]


def _nudged(q, k, v, temperature, answer):
    right = my_slope(q, k, v, temperature)
    if answer.shape == right.shape and np.allclose(answer, right, rtol=0.01, atol=1e-4):
        return "This is nearly right. Did you nudge the query? Derive the slope: it is exact."
    return ""


def _draw_slope(rng: np.random.Generator) -> tuple:
    n, d, d_v = (int(x) for x in rng.integers(1, 7, 3))
    q, k, v = rng.normal(size=d), rng.normal(size=(n, d)), rng.normal(size=(n, d_v))
    return q, k, v * float(rng.choice([1.0, 30.0])), float(rng.choice([0.1, 0.5, 1.0, 7.0, 300.0]))


check_slope = Check(
    "slope",
    my_slope,
    asks="f(q, k, v, temperature) -> [d_v, d], for q [d], k [n, d] and v [n, d_v]",
    cases=[
        Case("the shop, one number a value", (np.array([1.5, 0.0]), SHOP, STOCK[:, :1], 1.0)),
        Case("hot", (np.array([1.5, 0.0]), SHOP, STOCK[:, :1], 2.0)),
        Case("two numbers a value", (np.array([1.5, 0.3]), SHOP, STOCK, 1.0)),
        Case("three numbers a key", (np.array([0.5, -0.2, 1.0]), KEYS_3, STOCK, 0.5)),
        Case("one key", (np.array([2.0, 1.0]), SHOP[:1], STOCK[:1], 0.5)),
        Case("a query of zeros", (np.zeros(2), SHOP, STOCK, 1.0)),
        Case("where the walker stands", (np.array([-3.6, 1.2]), SHOP, STOCK[:, :1], 1.0)),
        Case("two equal keys", (np.array([0.4, 1.0]), SHOP[[0, 0, 1]], STOCK, 3.0)),
        Case("cold", (np.array([0.05, 0.01]), SHOP, STOCK, 0.1)),
        Case("very cold", (np.array([0.005, 0.01]), SHOP, STOCK, 0.01)),
        Case("scores of 600 and 594", (np.array([60.0, 0]), _NEAR, STOCK[:2], 0.1)),
        Case("many keys of many numbers", (_waves(1, 19)[0], *_MANY[1:3], 0.5)),
    ],
    mistakes="""
no temperature: The scores are divided by the temperature, so the slope is, too.
    return pull.T @ k
temperature ignored: The temperature changes nothing in your answer. It divides the scores, and so \
it divides the slope, too.
    p = np.exp(k @ q)
    return pull.T @ k
divided twice: You divided the slope by the temperature twice. Once is enough: the weights have it \
in them already.
    return pull.T @ k / temperature**2
multiplied in both places: Scores are divided by the temperature, and so is the slope.
    p = np.exp(k @ q * temperature)
    return pull.T @ k * temperature
temperature multiplied: Divide by the temperature at the end: in the heat the land is flatter.
    return pull.T @ k * temperature
weights at temperature 1: The weights feel the temperature as well.
    p = np.exp(k @ q)
weights at the inverse temperature: Divide the scores by the temperature: you made a colder look-up.
    p = np.exp(k @ q * temperature)
values not reduced: An entry pulls by how far its value is from the answer: subtract the answer \
from each value. The weights sum to 1, so raising one lowers the others.
    pull = p[:, None] * v
p (1 − p) alone: This raises each weight alone. A weight that grows takes from all the others: \
subtract the answer from each value.
    pull = (p * (1 - p))[:, None] * v
no values: This has a row of numbers and no values in it. How far is each value from the answer?
    return (p * (1 - p)) @ k / temperature
plain mean subtracted: Subtract the answer, which is the weighted mean of the values.
    pull = p[:, None] * (v - v.mean(axis=0))
the goal subtracted: You subtracted the 10 that the walker wants. An entry pulls by how far its \
value is from the answer, whatever is wanted.
    pull = p[:, None] * (v - 10)
times the error: This is the slope of the error. The slope of the answer is asked for, without \
the factor o − 10.
    return (p @ v - 10)[:, None] * pull.T @ k / temperature
plus instead of minus: A weight that grows takes from the others: it is diag(p) less p pᵀ, not \
more.
    return v.T @ (np.diag(p) + np.outer(p, p)) @ k / temperature
plain mean of the keys subtracted: The mean of the keys is to be the weighted one, p @ k.
    pull = p[:, None] * v
    return pull.T @ (k - k.mean(axis=0)) / temperature
the mean key: There are no values in this. Each key counts by its weight times how far its value \
is from the answer.
    return p @ k / temperature
slope of the weights: This is how the weights change, [n, d]. Blend it with the values, as the \
weights themselves.
    return (np.diag(p) - np.outer(p, p)) @ k / temperature
squeezed: The numbers are right, but an axis of length 1 is gone: keep [d_v, d].
    return (pull.T @ k / temperature).squeeze()
weights forgotten: Each entry pulls by its weight, too.
    pull = v - p @ v
sign: The sign is wrong: an entry whose value is above the answer raises it.
    pull = p[:, None] * (p @ v - v)
transposed: This is [d, d_v]. A row for each entry of the output, please.
    return k.T @ pull / temperature
weights twice: You weighed each entry twice.
    return (p[:, None] * pull).T @ k / temperature
weights not normalised: The weights should sum to 1.
    p = p / 1
keys averaged: Each entry pulls along its own key: sum over the entries.
    return np.outer(pull.sum(axis=0), p @ k) / temperature
summed over the outputs: One row for each entry of the output: do not add them up.
    return (pull.sum(axis=1) @ k / temperature)[None]
the answer: This is the answer itself. Its slope says how it changes with the query.
    return p @ v
""",
    draw=_draw_slope,
    note=_nudged,
)

# --- A dictionary in two dimensions -----------------------------------------------------------

ALLOWED = 1e-6  # of the weight, for all other keys


def _read(answer: Any) -> list[np.ndarray]:
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise ValueError("Your function should return two things: keys and temperature.")
    return [to_array(answer[0], "keys"), to_array(answer[1], "temperature")]


def _lost(keys: np.ndarray, temperature: float) -> np.ndarray:
    """What share of the weight each key leaves to the others when it is asked for."""
    s = keys @ keys.T / temperature
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return 1 - np.diag(e / e.sum(axis=1, keepdims=True))


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
    lost = _lost(keys, float(temperature))
    if not np.isfinite(lost).all():
        return "  The scores overflow: this temperature is too small to compute with."
    worst = int(lost.argmax())
    equal = np.isclose(keys, keys[worst], atol=1e-9).all(axis=1)
    if equal.sum() > 1:
        first, second = np.flatnonzero(equal)[:2]
        return f"  Keys {first} and {second} are equal. Does your circle count its end twice?"
    if lost[worst] > ALLOWED:
        turns = 360 * np.arange(n) / n
        if np.allclose(keys, np.stack([np.cos(turns), np.sin(turns)], axis=1), atol=1e-6):
            return "  These angles are in degrees; np.cos and np.sin take radians."
        if _lost(keys, 1 / float(temperature)).max() <= ALLOWED:
            return (
                f"  Your temperature is {float(temperature):.3g}. One over that would do: scores "
                "are divided by the temperature, so a small one is sharp."
            )
        return (
            f"  The query of key {worst} gives other keys {lost[worst]:.2g} of the weight; "
            f"{ALLOWED:g} is allowed. Are the keys apart, and is it cold enough? The more keys, "
            "the closer the neighbours."
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
