"""The check of attention a few queries at a time: the same numbers, less memory."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Array = np.ndarray


def _softmax(s: Array, axis: Any = -1) -> Array:
    e = np.exp(s - s.max(axis=axis, keepdims=True))
    return np.asarray(e / e.sum(axis=axis, keepdims=True))


def _scores(q: Array, k: Array) -> Array:
    return np.asarray(q @ k.T * q.shape[1] ** -0.5)


def _starts(q: Array, rows: int) -> range:
    return range(0, len(q), rows)


def _by_rows(q: Array, k: Array, v: Array, rows: int) -> Array:
    o = np.empty((len(q), v.shape[1]))
    for i in _starts(q, rows):
        o[i : i + rows] = _softmax(_scores(q[i : i + rows], k)) @ v
    return o


def _only_whole_blocks(q: Array, k: Array, v: Array, rows: int) -> Array:
    o = np.zeros((len(q), v.shape[1]))
    n = len(q) // rows * rows
    o[:n] = _by_rows(q[:n], k, v, rows)
    return o


def _own_keys(q: Array, k: Array, v: Array, rows: int) -> Array:
    """Each block of queries meets the keys at its own places, as far as there are any."""
    o = np.zeros((len(q), v.shape[1]))
    for i in _starts(q, rows):
        here = slice(i, i + rows)
        if len(k[here]):
            o[here] = _softmax(_scores(q[here], k[here])) @ v[here]
    return o


def _blocks_of_keys(q: Array, k: Array, v: Array, rows: int) -> Array:
    """Each block of keys has a softmax of its own."""
    parts = [
        _softmax(_scores(q, k[j : j + rows])) @ v[j : j + rows] for j in range(0, len(k), rows)
    ]
    return np.asarray(sum(parts))


def _over_the_block(q: Array, k: Array, v: Array, rows: int) -> Array:
    blocks = [_softmax(_scores(q[i : i + rows], k), axis=0) @ v for i in _starts(q, rows)]
    return np.concatenate(blocks)


def _unscaled(q: Array, k: Array, v: Array, rows: int) -> Array:
    return np.asarray(_softmax(q @ k.T) @ v)


def _backwards(q: Array, k: Array, v: Array, rows: int) -> Array:
    blocks = [_softmax(_scores(q[i : i + rows], k)) @ v for i in _starts(q, rows)]
    return np.concatenate(blocks[::-1])


def _numbers(seed: int, n_q: int, n_k: int, d_k: int, d_v: int) -> tuple[Array, ...]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=shape) for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v)))


def _draw(rng: np.random.Generator) -> tuple:
    n_q, n_k, d_k, d_v = (int(n) for n in rng.choice([1, 2, 3, 5, 7], 4))
    q, k, v = _numbers(int(rng.integers(1000)), n_q, n_k, d_k, d_v)
    return rng.choice([0.3, 1.0, 30.0, 3e4]) * q, k, v, int(rng.integers(1, 9))


_DOWN = np.array([[900.0], [800.0]])

BY_ROWS = Check(
    "attention_by_rows",
    reference=_by_rows,
    cases=[
        Case("4 queries, 2 at a time", (*_numbers(0, 4, 5, 3, 2), 2)),
        Case("5 queries, 2 at a time", (*_numbers(1, 5, 3, 2, 4), 2)),
        Case("3 queries, 8 at a time", (*_numbers(2, 3, 7, 2, 1), 8)),
        Case("1 query", (*_numbers(3, 1, 4, 2, 3), 1)),
        Case("large scores", (*(900 * x for x in _numbers(4, 3, 4, 2, 2)), 2)),
        Case("large scores below 0", (-1e3 * np.ones((3, 1)), _DOWN, np.eye(2), 2)),
        Case(
            "1,501 queries and keys, 50 at a time", (*_numbers(5, 1501, 1501, 8, 4), 50), 4_000_000
        ),
    ],
    draw=_draw,
    mistakes=[
        Mistake(
            "last queries lost",
            _only_whole_blocks,
            "The last block is shorter when `rows` does not divide the number of queries. Slices "
            "may reach past the end; range(0, n_q, rows) gives every start.",
        ),
        Mistake(
            "each block has its own keys",
            _own_keys,
            "You cut the keys as well. Every query looks at all of them.",
        ),
        Mistake(
            "keys in blocks",
            _blocks_of_keys,
            "You cut the keys, so each block's weights sum to 1 by themselves. Cut the queries: a "
            "row of scores must stay whole for its softmax.",
        ),
        Mistake(
            "wrong axis",
            _over_the_block,
            "You normalised over the queries of a block. Each row of scores has its own budget.",
        ),
        Mistake("not scaled", _unscaled, "The scores are not divided by the root of d_k."),
        Mistake("order", _backwards, "The blocks come out in the opposite order."),
    ],
    hints=[
        "Which rows of Q does row i of the output need? And which rows of K and V?",
        "Make o = np.empty((n_q, d_v)) first, and fill o[i : i + rows] block by block.",
        "for i in range(0, len(q), rows): o[i : i + rows] = attention(q[i : i + rows], k, v)",
    ],
)


def check_attention_by_rows(f: Any) -> Result:
    """Check f(q [n_q, d_k], k [n_k, d_k], v [n_k, d_v], rows) -> o [n_q, d_v], in little memory.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return BY_ROWS.run(f)
