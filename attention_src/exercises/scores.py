"""The checks of the chapter on scores."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.exercises.engine import Case, Check, DesignCheck, Ladder, Rung, TestCheck
from attention_src.exercises.engine.answers import to_array
from attention_src.exercises.engine.cases import any_shape
from attention_src.softmax.reference import softmax  # noqa: F401  wrong answers that go too far

Array = np.ndarray

# --- The scores that later chapters use -------------------------------------------------------


def dot_scores(q, k, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(q.shape[-1])
    return (q @ k.swapaxes(-1, -2) * scale).astype(q.dtype)


def _length(x: Array) -> Array:
    return np.asarray(np.linalg.norm(x, axis=-1, keepdims=True))


def _unit(x: Array) -> Array:
    return np.asarray(x / _length(x))


def _dot_case(name: str, seed: int, *shapes: tuple[int, ...], **options: Any) -> Case:
    """Queries and keys of these shapes, from two seeds; perhaps scale, dtype, size, rtol."""
    scale, dtype = options.get("scale"), options.get("dtype", np.float64)
    size = options.get("size", 2)
    draws = (np.random.default_rng(seed + i).normal(0, size, shapes[i]) for i in (0, 1))
    return Case(name, (*(x.astype(dtype) for x in draws), scale), rtol=options.get("rtol"))


def _draw_dot(rng: np.random.Generator) -> tuple:
    """0 to 3 leading axes, any numbers of queries and keys, with and without a scale."""
    *leading, n_q, d_k = any_shape(rng, fewest=2, most=5)
    n_k = int(rng.integers(1, 7))
    dtype = np.float32 if rng.random() < 0.2 else np.float64
    size = rng.choice([0.001, 0.1, 1.0, 30.0, 1e4])
    q, k = (rng.normal(0, size, (*leading, n, d_k)).astype(dtype) for n in (n_q, n_k))
    scale = None if rng.random() < 0.5 else float(rng.choice([0.0, 1.0, 0.125, -2.0, 7.5, -40.0]))
    return q, k, scale


def _of_their_dtype(f: Callable) -> Callable:
    """f; but arrays and tensors of another dtype than q's are refused."""

    @functools.wraps(f)
    def called(q: Array, *others: Any, **named: Any) -> Any:
        answer, wanted = f(q, *others, **named), str(q.dtype)
        got = str(getattr(answer, "dtype", wanted)).removeprefix("torch.")
        if wanted == "float32" and got == "float64":
            return ValueError(
                "q and k are float32, and your scores are float64. A root by NumPy is a float64, "
                "and a product with it is, too. Give the scores the dtype of q."
            )
        return answer

    return called


_TWO = np.array([[1.0, 2.0, 0.0, -1.0], [0.0, 3.0, 1.0, 2.0]])
_THREE = np.array([[2.0, 1.0, 5.0, 0.0], [1.0, 0.0, -1.0, 4.0], [3.0, 2.0, 1.0, 1.0]])

check_dot_scores = Check(
    "dot_scores",
    dot_scores,
    asks="f(q [..., n_q, d_k], k [..., n_k, d_k], scale=None) -> scores [..., n_q, n_k]",
    cases=[
        Case("two queries, three keys", (_TWO, _THREE, None)),
        _dot_case("a scale of 1", 0, (2, 3), (4, 3), scale=1.0),
        _dot_case("a scale of 0.5", 2, (2, 5), (3, 5), scale=0.5),
        _dot_case("a scale of 0", 4, (1, 2), (3, 2), scale=0.0),
        _dot_case("one query, one key, d_k = 1", 6, (1, 1), (1, 1)),
        _dot_case("a batch of two", 8, (2, 3, 4), (2, 5, 4)),
        _dot_case("two sentences, three heads", 10, (2, 3, 4, 5), (2, 3, 6, 5)),
        _dot_case("float32", 12, (3, 7), (2, 7), dtype=np.float32),
        _dot_case("as many queries as keys", 14, (4, 3), (4, 3)),
        _dot_case("three queries, three keys, d_k = 3", 16, (3, 3), (3, 3)),
        _dot_case("the same, twice", 18, (2, 3, 3), (2, 3, 3)),
        _dot_case("d_k = 65", 22, (2, 65), (3, 65)),
        _dot_case("d_k = 1, to twelve digits", 20, (2, 1), (3, 1), rtol=1e-12),
        _dot_case("a scale of -1, in float32", 24, (2, 3), (4, 3), scale=-1, dtype=np.float32),
        _dot_case("a scale of 100", 26, (3, 2), (2, 2), scale=100.0),
        _dot_case("a scale of 0.0001", 28, (3, 2), (2, 2), scale=1e-4),
        _dot_case("numbers of about 100,000", 30, (2, 4), (3, 4), size=1e5),
        _dot_case("numbers of about 0.001", 32, (2, 4), (3, 4), size=1e-3),
        _dot_case("ten queries, twelve keys", 34, (10, 5), (12, 5)),
        Case(
            "a query of zeros, and a key of zeros",
            (_TWO * [[1], [0]], _THREE * [[1], [0], [1]], None),
        ),
        Case("keys equal to the queries", (_THREE, _THREE.copy(), None)),
    ],
    draw=_draw_dot,
    watch=_of_their_dtype,
    mistakes="""
no default scale: These are the bare products. Without a scale of its own, each is divided by the \
square root of d_k.
    scale = 1
divided by d_k: You divided by d_k; the square root of d_k is asked for.
    scale = 1 / q.shape[-1]
multiplied by the root: You multiplied by the square root of d_k. The scale is one over it.
    scale = np.sqrt(q.shape[-1])
number of keys: You took the root of the number of keys. d_k is the width, the last axis.
    scale = 1 / np.sqrt(k.shape[-2])
number of queries: You took the root of the number of queries. d_k is the width, the last axis.
    scale = 1 / np.sqrt(q.shape[-2])
root of the first axis: You took the root of the first axis. d_k is the width, the last axis.
    scale = 1 / np.sqrt(len(q))
scale ignored: Your function ignores the scale that it is given.
    if True:
scaled twice: A scale that is given replaces one over the root of d_k; you used both.
    scale = 1
    return (q @ k.swapaxes(-1, -2) * scale / np.sqrt(q.shape[-1])).astype(q.dtype)
divided by the scale: You divided by the scale that was given. It multiplies.
    scale = np.sqrt(q.shape[-1])
    return (q @ k.swapaxes(-1, -2) / scale).astype(q.dtype)
scale of 0 taken for none: A scale of 0 is a scale: Python's `or` and `if scale` take it for none. \
Ask `scale is None`.
    if not scale:
transposed: Rows are queries and columns are keys. Yours is transposed.
    return (k @ q.swapaxes(-1, -2) * scale).astype(q.dtype)
softmax: These are weights. Return the scores, before the softmax.
    return softmax(q @ k.swapaxes(-1, -2) * scale)
cosine: You divided by the lengths. That is the cosine; the dot product keeps them.
    return (_unit(q) @ _unit(k).swapaxes(-1, -2) * scale).astype(q.dtype)
all axes reversed: k.T reverses all axes, those of the batch too. Only the last two should change \
places: k.swapaxes(-1, -2).
    return (q @ k.T * scale).astype(q.dtype)
second axis for the last: You took the root of q.shape[1]. With axes in front that is no width; \
d_k is q.shape[-1].
    scale = 1 / np.sqrt(q.shape[1])
np.dot: np.dot of a batch pairs every text with every other one. The operator @ keeps them apart.
    return (np.dot(q, k.swapaxes(-1, -2)) * scale).astype(q.dtype)
four axes expected: Your transpose names four axes, and there may be two, three or five. \
k.swapaxes(-1, -2) works for any number.
    return (q @ np.transpose(k, (0, 1, 3, 2)) * scale).astype(q.dtype)
three axes expected: Your transpose names three axes, and there may be two, four or five. \
k.swapaxes(-1, -2) works for any number.
    return (q @ np.transpose(k, (0, 2, 1)) * scale).astype(q.dtype)
reshaped: A reshape keeps the numbers in their order and cuts them into other rows. Let two axes \
change places: k.swapaxes(-1, -2).
    return (q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]) * scale).astype(q.dtype)
in-place change: Your function scales the caller's q. Make a new array: q = q * scale, not \
q *= scale.
    - return
    + q *= scale
    + return q @ k.swapaxes(-1, -2)
""",
)

# --- Additive, in little memory ---------------------------------------------------------------


def my_additive_scores(q, k, a, b, w):
    from_k = k @ b  # [n_k, d_a], the same for all queries
    return np.stack([np.tanh(row + from_k) @ w for row in q @ a])


def _inputs(rng: np.random.Generator, *sizes: int, size: float = 1.0) -> tuple:
    """q, k, a, b, w. sizes: n_q, n_k, d_q, d_k, d_a."""
    n_q, n_k, d_q, d_k, d_a = sizes
    shapes = (n_q, d_q), (n_k, d_k), (d_q, d_a), (d_k, d_a), (d_a,)
    return tuple(rng.normal(0, size, shape) for shape in shapes)


def _additive_case(name: str, seed: int, *sizes: int, max_bytes: int | None = None) -> Case:
    return Case(name, _inputs(np.random.default_rng(seed), *sizes), max_bytes)


def _cancelling() -> tuple:
    """Two hidden units that are nearly alike, with large weights of opposite sign."""
    q, k, a, b, _ = _inputs(np.random.default_rng(7), 3, 4, 2, 3, 1)
    a, b = (np.concatenate([x, x + 1e-6], axis=1) for x in (a, b))
    return q, k, a, b, np.array([1e5, -1e5])


def _draw_additive(rng: np.random.Generator) -> tuple:
    """Few of everything, and widths that agree now and then."""
    n_q, n_k, d_q, d_k, d_a = (int(n) for n in rng.integers(1, 6, 5))
    if rng.random() < 0.3:
        n_k, d_k = n_q, d_q
    return _inputs(rng, n_q, n_k, d_q, d_k, d_a, size=float(rng.choice([0.1, 0.7, 3.0])))


def _exact(*parts: list) -> tuple:
    return tuple(np.array(part, dtype=np.float64) for part in parts)


# Sums inside the tanh whose exponentials overflow; and sums that are small, of large numbers.
_LARGE = _exact([[1e5], [-1e5], [0.3]], [[1], [-2]], [[1, 0.5]], [[1, -1]], [1, 2])
_FAR = [[1e5], [-1e5], [1000]], [[0.3 - 1e5], [1e5 - 0.7], [-1000.3]]
_OPPOSITE = _exact(*_FAR, [[1, 0.01]], [[1, 0.01]], [1, 2])
_SMALL = _exact([[1e-3], [-2e-4]], [[3e-4], [0.5]], [[1, 0.5]], [[1, -1]], [1, 2])
_ZEROS = _exact([[0, 0], [1, -2]], [[0], [3]], [[1, 0.5, 2], [0, 1, 1]], [[1, -1, 0.5]], [1, 0, -2])
_NOTHING = _ZEROS[0], _ZEROS[1], 0 * _ZEROS[2], *_ZEROS[3:]
_NO_KEYS = *_ZEROS[:3], 0 * _ZEROS[3], _ZEROS[4]
_ROOM = 4_000_000

check_additive_scores = Check(
    "additive_scores",
    my_additive_scores,
    asks="f(q [n_q, d_q], k [n_k, d_k], a [d_q, d_a], b [d_k, d_a], w [d_a]) -> [n_q, n_k]",
    cases=[
        _additive_case("two queries, three keys, a hidden layer of four", 0, 2, 3, 2, 3, 4),
        _additive_case("one hidden unit", 1, 3, 2, 1, 4, 1),
        _additive_case("one of everything", 2, 1, 1, 1, 1, 1),
        _additive_case("equal widths, equal numbers", 3, 4, 4, 3, 3, 2),
        _additive_case("more queries than keys", 4, 7, 2, 3, 5, 6),
        Case("two units that nearly cancel", _cancelling()),
        Case("sums of a hundred thousand", _LARGE),
        _additive_case("203 queries, 197 keys, 100 units", 5, 203, 197, 4, 5, 100, max_bytes=_ROOM),
        _additive_case("one query, 2,000 keys", 6, 1, 2000, 3, 2, 20, max_bytes=_ROOM),
        Case("query and key nearly cancel inside the tanh", _OPPOSITE),
        _additive_case("widths of 20 and 30", 8, 3, 4, 20, 30, 17),
        Case("small sums, to twelve digits", _SMALL, rtol=1e-12),
        Case("a query, a key and a weight of 0", _ZEROS),
        Case("an a of zeros", _NOTHING),
        Case("a b of zeros", _NO_KEYS),
    ],
    draw=_draw_additive,
    mistakes="""
no tanh: There is no tanh in it. Without one, every query ranks the keys the same way.
    return np.stack([(row + from_k) @ w for row in q @ a])
tanh after the sum: You added up first and bent afterwards. The tanh belongs inside, on each \
hidden unit.
    return np.stack([np.tanh((row + from_k) @ w) for row in q @ a])
tanh of each alone: You bent query and key apart and then added. Add first, tanh(q a + k b): \
otherwise each query ranks the keys the same way.
    return np.stack([(np.tanh(row) + np.tanh(from_k)) @ w for row in q @ a])
product for sum: You multiplied where the formula adds: tanh(q a + k b).
    return np.stack([np.tanh(row * from_k) @ w for row in q @ a])
difference for sum: You subtracted the key's part. The formula adds it.
    return np.stack([np.tanh(row - from_k) @ w for row in q @ a])
w left out: You added the hidden units up without their weights w.
    return np.stack([np.tanh(row + from_k).sum(axis=1) for row in q @ a])
mean of the units: You divided by the number of hidden units. The formula has a sum.
    return np.stack([np.tanh(row + from_k) @ w / len(w) for row in q @ a])
divided by the root: You divided by a square root. The additive score has no scale: its tanh \
bounds it.
    return np.stack([np.tanh(row + from_k) @ w / np.sqrt(len(w)) for row in q @ a])
transposed: Rows are queries and columns are keys. Yours is transposed.
    return np.stack([np.tanh(row + from_k) @ w for row in q @ a], axis=1)
rectified: You cut off at 0. The formula bends with tanh.
    return np.stack([np.maximum(row + from_k, 0) @ w for row in q @ a])
sigmoid: You bent with the sigmoid, from 0 to 1. The formula has tanh, from -1 to 1.
    return np.stack([1 / (1 + np.exp(-row - from_k)) @ w for row in q @ a])
""",
)

# --- One number more --------------------------------------------------------------------------


def my_one_more(q, k):
    half = (k**2).sum(axis=1, keepdims=True) / 2
    one = np.ones((len(q), 1))
    return np.hstack([q, one]), np.hstack([k, -half])


def _leads_of(f: Callable) -> Callable:
    """f, and then by how much each key leads key 0, for each query: [n_q, n_k]."""

    @functools.wraps(f)
    def called(q: Array, k: Array) -> Any:
        answer = f(q, k)
        if answer is None:
            return None
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            return ValueError("Your function should return two arrays: queries, and keys.")
        rows = []
        for name, x, given in zip(("queries", "keys"), answer, (q, k), strict=True):
            x = to_array(x, f"the {name}")
            n, d = np.shape(given)
            if x.ndim != 2 or len(x) != n or x.shape[1] not in (d + 1, d + 2):
                return ValueError(
                    f"The {name} should have shape [{n}, {d + 1}], one number more than they had; "
                    f"yours have {list(x.shape)}."
                )
            rows.append(x.astype(np.float64))
        if rows[0].shape[1] != rows[1].shape[1]:
            return ValueError(
                f"Your queries have {rows[0].shape[1]} numbers and your keys {rows[1].shape[1]}. A "
                "dot product needs equally many."
            )
        s = rows[0] @ rows[1].T
        return s - s[:, :1]

    return called


def _points(name: str, seed: int, n_q: int, n_k: int, d: int, size: float = 1.0) -> Case:
    x = np.random.default_rng(seed).normal(0, size, (n_q + n_k, d)).clip(-100, 100)
    return Case(name, (x[:n_q], x[n_q:]))


def _draw_points(rng: np.random.Generator) -> Case:
    n_q, n_k, d = (int(n) for n in rng.integers(1, 7, 3))
    size, seed = float(rng.choice([0.1, 1.0, 20.0])), int(rng.integers(10**6))
    return _points(f"drawn: {n_q=}, {n_k=}, {d=}", seed, n_q, n_k, d, size)


_NEGATIVE = np.array([[-100.0, -3.0], [-2.0, -0.5], [-7.0, -1.0]])

check_one_more = Check(
    "one_more",
    my_one_more,
    asks="f(q [n_q, d], k [n_k, d]) -> queries [n_q, d + 1], keys [n_k, d + 1]",
    cases=[
        Case("keys 1 to 3 on a line", (np.array([[2.0], [-1.0]]), np.array([[1.0], [2.0], [3.0]]))),
        Case(
            "four keys in the plane",
            (np.array([[1.0, 2.0], [0.0, -3.0]]), np.array([[2.0, 1], [0, 0], [-1, 4], [3, 3]])),
        ),
        _points("as many queries as keys", 0, 4, 4, 3),
        _points("as many keys as numbers", 1, 2, 3, 3),
        _points("one query", 2, 1, 5, 2),
        _points("more queries than keys", 3, 6, 2, 4),
        _points("large numbers", 4, 3, 5, 2, 40.0),
        _points("small numbers", 5, 3, 5, 2, 0.05),
        _points("one of everything", 6, 1, 1, 1),
        _points("nine queries, twelve keys, ten numbers", 7, 9, 12, 10),
        _points("one query on a line", 8, 1, 3, 1),
        Case("keys equal to the queries", (_NEGATIVE, _NEGATIVE.copy())),
        Case(
            "a query of zeros, and two equal keys",
            (np.zeros((1, 2)), np.array([[2.0, 1.0], [2.0, 1.0], [0.0, 3.0]])),
        ),
    ],
    draw=_draw_points,
    watch=_leads_of,
    mistakes="""
the wrong sign: You add half of the squared length to each score. So a far key gains; it should \
lose: append the number with a minus, and a plain 1 to the query.
    return np.hstack([q, one]), np.hstack([k, half])
not halved: You took the whole squared length away. The middle part of the squared distance is \
-2 q k, so for q k there remains half of the last.
    half = (k**2).sum(axis=1, keepdims=True)
not squared: You took the length, not its square.
    half = np.linalg.norm(k, axis=1, keepdims=True) / 2
the whole length: You took the length: neither squared nor halved.
    half = np.linalg.norm(k, axis=1, keepdims=True)
on the query: These are the leads of the dot product as it was. Did you give the number to the \
query, and the 1 to the key? What a query brings is the same for all keys of its row.
    half = (q**2).sum(axis=1, keepdims=True) / 2
    return np.hstack([q, -half]), np.hstack([k, np.ones((len(k), 1))])
mean for sum: You took the mean of the squares. A squared length is their sum.
    half = (k**2).mean(axis=1, keepdims=True) / 2
twice everything: Your scores are twice as large: this is the whole squared distance with a \
minus, and half of it is asked for.
    return np.hstack([2 * q, 2 * one]), np.hstack([k, -half])
products of the number: A query should bring a 1. Yours brings a number of its own, with which the \
key's number is multiplied.
    one = -(q**2).sum(axis=1, keepdims=True) / 2
squared sum: You added up first and squared afterwards. A squared length is the sum of squares.
    half = k.sum(axis=1, keepdims=True) ** 2 / 2
made unit keys: You brought the keys to length 1. They should stay as they are; the number does it.
    return np.hstack([q, one]), np.hstack([k / np.linalg.norm(k, axis=1, keepdims=True), -half])
""",
    note=lambda q, k, leads: (
        "These are the leads of your scores over key 0: for each query, its score with each key "
        "less its score with key 0."
    ),
)

# --- What lengths do --------------------------------------------------------------------------

DOT, Q_LENGTH, K_LENGTH = 0.2 * 3 + 0.2 * 4, 0.3, 5.0
COSINE = DOT / (Q_LENGTH * K_LENGTH)

# fmt: off
check_lengths = Ladder("lengths", [
    Rung("a", "the dot product", DOT, {
        Q_LENGTH * K_LENGTH: "This is the product of the lengths, without the cosine.",
        DOT / math.sqrt(3): "The scale is not asked for here.",
    }, hint="Multiply entry by entry and add up.", rtol=1e-3),
    Rung("b", "the cosine", COSINE, {
        math.acos(COSINE): "This is the angle. Its cosine is asked for.",
        DOT / K_LENGTH: "Divide by the query's length, too.",
        DOT / Q_LENGTH: "Divide by the key's length, too.",
    }, hint="The lengths are 0.3 and 5.", rtol=1e-3),
    Rung("c", "the weight of 2k over that of k", math.exp(2 * DOT - DOT), {
        2: "That is the ratio of the scores. Weights go by exp.",
        math.exp(2 * DOT): "That is exp of the larger score. Divide by the other.",
        math.exp(-DOT): "That is the weight of k over that of 2k.",
    }, hint="A ratio of weights is exp of the difference of the scores.", rtol=2e-3),
    Rung("d", "the same for a query twice as long", math.exp(2 * DOT), {
        2 * math.exp(DOT): "The lead doubles, so the ratio is squared.",
        math.exp(DOT): "All scores of the row double, and so does the lead.",
    }, hint="What becomes of the difference of the scores?", rtol=3e-3),
    Rung("e", "the gain", math.log(10), {
        math.log(11): "The perfect key has ten rivals; itself is no rival.",
        math.log(5): "Half means as much as all ten rivals together.",
        10: "exp of the gain should be 10.",
        1: "At gain 1 it weighs 2.72 against 10. Log to base 10? Take the natural one.",
    }, hint="exp(g) against ten times exp(0).", rtol=2e-3),
    Rung("f", "what to add to the dot's lead", -(3**2) / 2 + 1**2 / 2, {
        4: "The sign: the far key has to lose ground.",
        -(3**2) / 2: "Key 1 gets something appended as well: -1/2.",
        -((1 - 3) ** 2) / 2: "That is the lead by distance. What is the lead by dots?",
    }, hint="-k²/2 for each key: -9/2 for one and -1/2 for the other.", rtol=1e-3),
], asks="the rungs of the ladder")
# fmt: on

# --- Catch the dotprod ------------------------------------------------------------------------


def scaled(q, k):
    q, k = (np.asarray(x, dtype=np.float64) for x in (q, k))
    scale = q.shape[1] ** -0.5
    s = q @ k.T * scale
    return s


def _matrix(d: int) -> Array:
    return np.random.default_rng(d).normal(size=(d, d))


check_score_test = TestCheck(
    "my_score_test",
    asks="test(score), which raises AssertionError unless score(q, k) is the scaled dot product",
    of=scaled,
    right="""
one product: it is the formula
inner: it adds up in another order
    s = np.inner(q, k) * scale
number by number: loops are slow and right
    s = np.array([[sum(x * y for x, y in zip(a, b, strict=True)) for b in k] for a in q]) * scale
queries first: the scale may go to the queries
    s = (q * scale) @ k.T
float32: it computes in float32, so its seventh digit is its last: allow for 1e-5
    q, k = (np.asarray(x, dtype=np.float32) for x in (q, k))
lengths and cosine: lengths times cosine is the dot product
    s = _length(q) * (_unit(q) @ _unit(k).T) * _length(k).T * scale
""",
    wrong="""
no scale: it does not divide by the root of d_k
    scale = 1
divided by d_k: it divides by d_k, not by its root. Is your d_k other than 1?
    scale = 1 / q.shape[1]
always 8: it divides by 8, which is right for d_k = 64. Do you try another width?
    scale = 1 / 8
whole roots: it rounds the root down, which is right for d_k = 1, 4, 9 and 16. Do you try a width \
between them?
    scale = 1 / int(q.shape[1] ** 0.5)
number of keys: it takes the root of the number of keys. Do your sizes differ?
    scale = len(k) ** -0.5
number of queries: it takes the root of the number of queries. Do your sizes differ?
    scale = len(q) ** -0.5
bilinear: a matrix stands between query and key, as in `dotprod`
    s = q @ _matrix(q.shape[1]) @ k.T * scale**2
symmetric bilinear: a symmetric matrix stands between query and key, so swapping them changes \
nothing. Do you look at the values of the scores?
    s = q @ (_matrix(q.shape[1]) + _matrix(q.shape[1]).T) @ k.T * scale**2
cosine: it ignores the lengths
    s = _unit(q) @ _unit(k).T
unit keys: it ignores the keys' lengths. Are some of your keys longer than others?
    s = q @ _unit(k).T * scale
unit queries: it ignores the queries' lengths. Are some of your queries longer than others?
    s = _unit(q) @ k.T * scale
softmax: it returns weights, not scores
    return softmax(s)
shifted: it subtracts each row's largest score. The weights stay right, the scores do not
    return s - s.max(axis=1, keepdims=True)
no signs: it drops the sign. Is a score negative?
    return np.abs(s)
no negatives: it makes negative scores 0. Is one of yours negative?
    return np.maximum(s, 0)
distance: it scores by distance; that is a dot with one number more
    s = -0.5 * ((q[:, None] - k) ** 2).sum(axis=2) * scale
capped: it bends large scores: 20 becomes 19. Do you compare the values of all scores?
    return 50 * np.tanh(s / 50)
eight components: it looks at the first eight components. Are your vectors wider?
    s = q[:, :8] @ k[:, :8].T * scale
square transposed: it is transposed when there are as many queries as keys. Do you try that, too?
    return s.T if len(q) == len(k) else s
transposed unless square: it is transposed unless there are as many queries as keys. Do your \
numbers differ?
    return s if len(q) == len(k) else s.T
squeezed: it drops an axis of length 1. Do you try a single key, and look at the shape?
    return np.squeeze(s)
first query for all: all queries but the last get the first one's scores. Do you look at all rows?
    return s[np.where(np.arange(len(q)) < len(q) - 1, 0, -1)]
""",
)

# --- A match by hand --------------------------------------------------------------------------

NUMBERS = np.arange(-4.0, 5.0)  # of the queries and of the keys
LEAD, MOST, FEWEST = 0.1, 4, 2


def bump_scores(a: Array, b: Array, w: Array) -> Array:
    """[9, 9]  the additive scores of the nine queries and the nine keys."""
    x = np.stack([np.ones(9), NUMBERS], axis=1)  # [9, 2]: the constant 1, then the number
    return np.asarray(np.tanh((x @ a)[:, None] + (x @ b)[None]) @ w)


def _parts(answer: Any) -> list[Array]:
    if not isinstance(answer, tuple | list) or len(answer) != 3:
        raise ValueError("expected three arrays: a, b and w")
    return [to_array(part, "an array of numbers").astype(np.float64) for part in answer]


def _leads(s: Array) -> Array:
    """By how much each query's own key leads its best rival, [9]."""
    return np.diag(s) - np.where(np.eye(9, dtype=bool), -np.inf, s).max(axis=1)


def _praise(a: Array, b: Array, w: Array) -> str:
    lead = _leads(bump_scores(a, b, w)).min()
    fewer = " Can you do it with fewer?" if len(w) > FEWEST else ""
    word = "unit" if len(w) == 1 else "units"
    return f", with {len(w)} hidden {word} and a lead of {lead:.3g}.{fewer}"


def _problem(a: Array, b: Array, w: Array) -> str:
    """The first thing that is wrong with the three arrays; "" if nothing is."""
    if w.ndim != 1 or not 1 <= len(w) <= MOST:
        return f"  w should have shape [d_a], with d_a from 1 to {MOST}; yours has {list(w.shape)}."
    if a.shape == b.shape != (2, len(w)) and a.shape[:1] == (2,) and a.ndim == 2:
        return (
            f"  w should have one number for each column of a and b, which have shape "
            f"{list(a.shape)}; it has {len(w)}."
        )
    for name, x in (("a", a), ("b", b)):
        if x.shape != (2, len(w)):
            return f"  {name} should have shape [2, {len(w)}]; yours has {list(x.shape)}."
    if not all(np.isfinite(part).all() for part in (a, b, w)):
        return "  All numbers should be finite."
    s = bump_scores(a, b, w)
    lead = _leads(s)
    if (lead >= LEAD).all():
        return ""
    i = int(np.argmax(lead < LEAD))
    rival = int(np.where(np.arange(9) == i, -np.inf, s[i]).argmax())
    return (
        f"  Query {NUMBERS[i]:.0f} gives its own key {s[i, i]:.3f} and key {NUMBERS[rival]:.0f} "
        f"{s[i, rival]:.3f}; its own should lead by {LEAD}."
    )


check_bump = DesignCheck(
    "bump",
    _parts,
    _problem,
    _praise,
    asks="f() -> a [2, d_a], b [2, d_a], w [d_a]: each number prefers itself, by 0.1",
)
