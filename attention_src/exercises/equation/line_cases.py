"""What the check of attention tries: named cases, and how more are drawn."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case

Array = np.ndarray


def _numbers(seed: int, *shapes: tuple[int, ...], dtype: Any = np.float64) -> tuple[Array, ...]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=shape).astype(dtype) for shape in shapes)


def _queries_and_keys(
    rng: np.random.Generator, q_shape: tuple[int, ...], k_shape: tuple[int, ...]
) -> tuple[Array, Array]:
    """Of one of four kinds; scores of the last three reach about 10, 200 and 10^4."""
    q, k = rng.normal(size=q_shape), rng.normal(size=k_shape)
    kind = rng.choice(["usual", "float32", "whole", "large", "far"], p=[0.4, 0.1, 0.1, 0.2, 0.2])
    if kind == "usual":
        return rng.choice([0.3, 1.0, 3.0, 30.0]) * q, k
    if kind == "float32":
        return q.astype(np.float32), k.astype(np.float32)
    if kind == "whole":  # float32 holds these scores exactly, if the root of d_k is whole
        whole = [rng.integers(-10, 11, shape).astype(np.float32) for shape in (q_shape, k_shape)]
        return whole[0], whole[1]
    if kind == "far":  # rows far apart, above 0 and below, and in each row scores close together
        k = rng.choice([-1.0, 1.0]) + 1e-3 * k
    return 1500 * q, k


def _mask(rng: np.random.Generator, front: tuple[int, ...], n_q: int, n_k: int) -> Array | None:
    """None, or a mask with any number of the axes in front, some of them of length 1."""
    if rng.random() < 0.3:
        return None
    shape = [1 if rng.random() < 0.3 else n for n in (*front, n_q, n_k)]
    shape = shape[int(rng.integers(0, len(front) + 1)) :]
    return rng.random(shape) < rng.choice([0.3, 0.7, 1.0])


def draw(rng: np.random.Generator) -> tuple:
    """Draw queries, keys and values with 0 to 2 axes in front, and in most cases a mask.

    Args:
        rng: a seeded generator
    Returns: q, k, v, mask
    """
    front = tuple(int(n) for n in rng.integers(1, 4, size=rng.integers(0, 3)))
    n_q, n_k = (int(n) for n in rng.choice([1, 2, 3, 5, 7], 2))
    d_k, d_v = (int(n) for n in rng.choice([1, 2, 3, 4, 6], 2))
    if rng.random() < 0.1:
        n_k = 130
    q, k = _queries_and_keys(rng, (*front, n_q, d_k), (*front, n_k, d_k))
    if q.dtype == np.float32 and d_k not in (1, 4):  # else a score may round to another
        q, k = q.clip(-1, 1), k.clip(-1, 1)
    v = rng.normal(size=(*front, n_k, d_v)).astype(q.dtype)
    return q, k, v, _mask(rng, front, n_q, n_k)


_SMALL = (
    np.array([[2.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 4.0]]),
    np.array([[2.0, 1.0, 1.0, 0.0], [0.0, 2.0, 1.0, 0.0], [0.0, 0.0, 0.0, 2.0]]),
    np.array([[3.0], [1.0], [40.0]]),
)
_LARGE = (
    np.array([[300.0, 0.0], [-300.0, 9.0]]),
    np.array([[40.0, 1.0], [-41.0, 3.0]]),
    np.array([[1.0], [5.0]]),
)
_APART = (  # a row of scores near 10^4, a row near -10^4; d_k = 1, so these are q k
    np.array([[1e4], [-1e4]]),
    np.array([[1.0], [0.9999], [0.9]]),
    np.array([[1.0, 0.0], [2.0, 5.0], [4.0, 7.0]]),
)
_ONE_HIDDEN = np.array([[True, True, False], [True, False, True]])
_BEST_HIDDEN = np.array([[False, False, True], [True, False, False]])


def _named(name: str, qkv: tuple[Array, ...], mask: Array | None = None) -> Case:
    return Case(name, (*qkv, mask))


def _in_float32(qkv: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(x.astype(np.float32) for x in qkv)


_HUNDRED = (np.array([[1.0], [-1.0]]), np.array([[100.0], [90.0]]), np.array([[1.0], [5.0]]))
_THREE_AXES = np.random.default_rng(8).random((3, 4, 5)) < 0.6

CASES = [
    _named("two guests, three goods, no mask", _SMALL),
    _named("d_v wider than d_k", _numbers(0, (5, 2), (7, 2), (7, 3))),
    _named("one hidden good each", _SMALL, _ONE_HIDDEN),
    _named(
        "the second guest may look at nothing",
        _SMALL,
        np.array([[True, False, True], [False, False, False]]),
    ),
    _named("large scores", _LARGE),
    _named("large scores, rows far apart", _APART),
    _named("large scores below 0", (_APART[0][1:], *_APART[1:])),
    _named("large scores, a mask that hides nothing", _APART, np.ones((2, 3), dtype=bool)),
    _named("large scores, the best key hidden", _APART, _BEST_HIDDEN),
    _named(
        "a visible score of -10^4",
        (np.array([[-1.0]]), np.array([[1e4], [0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])),
        np.array([[True, False]]),
    ),
    _named("two texts, three heads", _numbers(1, (2, 3, 4, 2), (2, 3, 5, 2), (2, 3, 5, 3))),
    _named("as many texts as tokens as numbers", _numbers(2, (4, 4, 4), (4, 4, 4), (4, 4, 4))),
    _named(
        "two texts, three heads, a mask [2, 1, 1, n_k] for their ends",
        _numbers(3, (2, 3, 4, 2), (2, 3, 5, 2), (2, 3, 5, 3)),
        np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], dtype=bool)[:, None, None],
    ),
    _named("one mask [n_q, n_k] for three heads", _numbers(4, *[(3, 4, 2)] * 3), np.tri(4) > 0),
    _named(
        "two texts, three heads, a mask [3, n_q, n_k] for the heads",
        _numbers(7, (2, 3, 4, 2), (2, 3, 5, 2), (2, 3, 5, 3)),
        _THREE_AXES,
    ),
    _named(
        "three texts, three heads, a mask [3, n_q, n_k] for the heads",
        _numbers(8, (3, 3, 4, 2), (3, 3, 5, 2), (3, 3, 5, 3)),
        _THREE_AXES,
    ),
    _named("float32", _numbers(5, (3, 4), (2, 4), (2, 5), dtype=np.float32)),
    _named("float32, scores of 100 and 90, and below 0", _in_float32(_HUNDRED)),
    _named("float32, scores in the thousands", _in_float32(_LARGE)),
    _named("one query, one key", _numbers(6, (1, 3), (1, 3), (1, 2)), np.array([[True]])),
]
