"""The check of the Jacobian of one query's output by one key."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Array = np.ndarray


def _weights(q: Array, k: Array, scale: float | None = None) -> Array:
    s = k @ q * (q.shape[0] ** -0.5 if scale is None else scale)
    e = np.exp(s - s.max())
    return np.asarray(e / e.sum())


def _by_key(q: Array, k: Array, v: Array, j: int) -> Array:
    p = _weights(q, k)
    return np.asarray(np.outer(p[j] * (v[j] - p @ v), q) / q.shape[0] ** 0.5)


def _by_query(q: Array, k: Array, v: Array, j: int) -> Array:
    p = _weights(q, k)
    return np.asarray((v - p @ v).T @ (p[:, None] * (k - p @ k)) / q.shape[0] ** 0.5)


def _unscaled(q: Array, k: Array, v: Array, j: int) -> Array:
    p = _weights(q, k, 1.0)
    return np.asarray(np.outer(p[j] * (v[j] - p @ v), q))


def _own_part(q: Array, k: Array, v: Array, j: int) -> Array:
    p = _weights(q, k)
    return np.asarray(np.outer(p[j] * (1 - p[j]) * v[j], q) / q.shape[0] ** 0.5)


def _with(change: Any) -> Any:
    """The Jacobian with change(p_j, v_j, o, k_j, k_mean, q) in place of its two factors."""

    def wrong(q: Array, k: Array, v: Array, j: int) -> Array:
        p = _weights(q, k)
        left, right = change(p[j], v[j], p @ v, k[j], p @ k, q)
        return np.asarray(np.outer(left, right) / q.shape[0] ** 0.5)

    return wrong


def _draw(rng: np.random.Generator) -> tuple:
    n_k, d_k, d_v = (int(n) for n in rng.integers(1, 7, 3))
    size = rng.choice([0.5, 1.0, 4.0])
    q, k, v = (rng.normal(0, size, n) for n in (d_k, (n_k, d_k), (n_k, d_v)))
    return q, k, v * rng.choice([1.0, 100.0]), int(rng.integers(n_k))


_RNG = np.random.default_rng(5)
_K, _V = np.array([[1.0, 0, 2], [0, 1, -1]]), np.array([[0.0, 1], [4, 3]])

OUTPUT_BY_KEY = Check(
    "output_by_key",
    reference=_by_key,
    cases=[
        Case("two keys, three numbers each", (np.array([1.0, 2, 0]), _K, _V, 0)),
        Case("the other key", (np.array([1.0, 2, 0]), _K, _V, 1)),
        Case("five keys", (*(_RNG.normal(size=n) for n in (4, (5, 4), (5, 3))), 3)),
        Case("d_k = d_v", (*(_RNG.normal(size=n) for n in (3, (4, 3), (4, 3))), 2)),
        Case("one key", (np.array([1.0, 2]), np.array([[3.0, 1]]), np.array([[5.0]]), 0)),
        Case("scores of 50", (np.array([10.0]), np.array([[5.0], [4.9]]), _V, 1)),
    ],
    mistakes=[
        Mistake("by the query", _by_query, "This is how o moves with q. Asked is: with key j."),
        Mistake(
            "scale",
            _unscaled,
            "The scale is missing: the scores, and their slopes, are divided by sqrt(d_k).",
        ),
        Mistake(
            "scale of the slope",
            lambda q, k, v, j: _by_key(q, k, v, j) * q.shape[0] ** 0.5,
            "The weights are right; the score also moves with k_j by q / sqrt(d_k), not by q.",
        ),
        Mistake(
            "transposed",
            lambda q, k, v, j: _by_key(q, k, v, j).T,
            "The shape is [d_v, d_k]: one row for each number of the output.",
        ),
        Mistake(
            "softmax held fixed",
            _with(lambda p, v, o, k, k_mean, q: (p * v, q)),
            "p_j v_j is one term. The other weights move too: that is where the mean o comes in.",
        ),
        Mistake(
            "own weight only",
            _own_part,
            "You moved p_j only. As p_j grows all others shrink, and o loses their values.",
        ),
        Mistake(
            "along the key",
            _with(lambda p, v, o, k, k_mean, q: (p * (v - o), k)),
            "The score moves with k_j along q, the vector that it is multiplied with.",
        ),
        Mistake(
            "weight forgotten",
            _with(lambda p, v, o, k, k_mean, q: (v - o, q)),
            "Right but for the weight: multiply by p_j.",
        ),
        Mistake(
            "sign",
            lambda q, k, v, j: -_by_key(q, k, v, j),
            "The sign is turned round: v_j minus o.",
        ),
    ],
    hints=[
        "o = sum_i p_i v_i, and p_i moves with s_j by p_i (1[i = j] - p_j). Sum over i.",
        "The sum is p_j (v_j - o), one number for each entry of o.",
        "np.outer(p_j * (v_j - o), q) / sqrt(d_k)",
    ],
    draw=_draw,
)


def check_output_by_key(f: Any) -> Result:
    """Check f(q, k, v, j) -> [d_v, d_k]: how the output of one query moves with key j.

    q is [d_k], k [n_k, d_k], v [n_k, d_v], float64, none empty; j from 0 to n_k - 1.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return OUTPUT_BY_KEY.run(f)
