"""The check of taking a fused matrix apart: queries, keys and values stored head by head."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Three = tuple[np.ndarray, np.ndarray, np.ndarray]


def _unpack(w: np.ndarray, n_heads: int) -> Three:
    """Columns come as q k v of head 0, q k v of head 1, and so on."""
    parts = w.reshape(len(w), n_heads, 3, -1)
    return _joined(parts[:, :, 0], parts[:, :, 1], parts[:, :, 2])


def _joined(*parts: np.ndarray) -> Three:
    q, k, v = (part.reshape(len(part), -1) for part in parts)
    return q, k, v


def _by_role(w: np.ndarray, n_heads: int) -> Three:
    q, k, v = np.split(w, 3, axis=1)
    return q, k, v


def _by_column(w: np.ndarray, n_heads: int) -> Three:
    return w[:, 0::3], w[:, 1::3], w[:, 2::3]


def _heads_last(w: np.ndarray, n_heads: int) -> Three:
    parts = w.reshape(len(w), n_heads, 3, -1).swapaxes(1, 3)  # [d_model, d_head, 3, n_heads]
    return _joined(parts[:, :, 0], parts[:, :, 1], parts[:, :, 2])


def _first_head(w: np.ndarray, n_heads: int) -> Three:
    d = w.shape[1] // (3 * n_heads)
    return w[:, :d], w[:, d : 2 * d], w[:, 2 * d : 3 * d]


def _rows(w: np.ndarray, n_heads: int) -> Three:
    q, k, v = (part.T for part in _unpack(w, n_heads))
    return q, k, v


def _matrix(d_model: int, n_heads: int, d_head: int) -> tuple:
    """Each entry says its column, and its row behind the point."""
    columns = np.arange(3.0 * n_heads * d_head) + 1
    return columns + np.arange(d_model)[:, None] / 10, n_heads


def _draw(rng: np.random.Generator) -> tuple:
    d_model, n_heads, d_head = (int(size) for size in rng.integers(1, 7, 3))
    w = np.round(rng.normal(size=(d_model, 3 * n_heads * d_head)), 3)
    return (w.astype(np.float32) if rng.random() < 0.2 else w), n_heads


UNPACK = Check(
    "unpack",
    reference=_unpack,
    returns=("w_q", "w_k", "w_v"),
    cases=[
        Case("two heads of width 2", _matrix(2, 2, 2)),
        Case("two heads of width 3", _matrix(4, 2, 3)),
        Case("three heads of width 2", _matrix(5, 3, 2)),
        Case("one head", _matrix(3, 1, 4)),
        Case("heads of width 1", _matrix(2, 4, 1)),
        Case("one row", _matrix(1, 2, 5)),
    ],
    draw=_draw,
    mistakes=[
        Mistake(
            "Q, K, V in three blocks",
            _by_role,
            "You cut the matrix in three. It is stored head by head: the first third holds keys "
            "and values as well. This is the bug of the box above, and with one head nobody "
            "notices.",
        ),
        Mistake(
            "column by column",
            _by_column,
            "You took every third column. The columns of one head's queries lie side by side.",
        ),
        Mistake(
            "heads last",
            _heads_last,
            "The parts are right, but their columns are shuffled: keep head 0's columns together, "
            "then head 1's.",
        ),
        Mistake(
            "first head only",
            _first_head,
            "These are the matrices of head 0 alone. Put the other heads' columns beside them.",
        ),
        Mistake(
            "keys and values exchanged",
            lambda w, n_heads: tuple(_unpack(w, n_heads)[i] for i in (0, 2, 1)),
            "Your keys are values, and your values are keys. The order is q, k, v.",
        ),
        Mistake(
            "keys first",
            lambda w, n_heads: tuple(_unpack(w, n_heads)[i] for i in (1, 0, 2)),
            "Your queries are keys, and your keys are queries. The order is q, k, v.",
        ),
        Mistake(
            "transposed",
            _rows,
            "These are the transposed matrices. A row of w belongs to one number of the token.",
        ),
    ],
    hints=[
        "Write the labels of the columns down for two heads of width 2.",
        "w.reshape(len(w), n_heads, 3, -1) gives each head, and each role in it, an axis.",
        "parts[:, :, 0].reshape(len(w), -1) are the queries' columns.",
    ],
)


def check_unpack(f: Any) -> Result:
    """Check f(w [d_model, n_heads * 3 * d_head], n_heads) -> w_q, w_k, w_v.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return UNPACK.run(f)
