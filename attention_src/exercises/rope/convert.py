"""The check of the conversion of weights from interleaved to half-split pairs."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result


def _order(w: np.ndarray, n_heads: int) -> np.ndarray:
    """[n_heads, d]  where each column comes from."""
    d = w.shape[1] // n_heads
    within = np.concatenate([np.arange(0, d, 2), np.arange(1, d, 2)])
    return np.arange(n_heads)[:, None] * d + within


def _to_half_split(w: np.ndarray, n_heads: int) -> np.ndarray:
    return w[:, _order(w, n_heads).ravel()]


def _labelled(rows: int, n_heads: int, d: int) -> np.ndarray:
    """Row r, head h, component c holds 100 r + 10 h + c."""
    parts = np.arange(rows)[:, None, None], np.arange(n_heads)[:, None], np.arange(d)
    return np.asarray(100.0 * parts[0] + 10 * parts[1] + parts[2]).reshape(rows, -1)


def _draw(rng: np.random.Generator) -> tuple:
    n_heads, rows, half = (int(size) for size in rng.integers(1, 6, 3))
    w = rng.normal(size=(rows, n_heads * 2 * half))
    return (w.astype(np.float32) if rng.random() < 0.3 else w), n_heads


CONVERT = Check(
    "to_half_split",
    reference=_to_half_split,
    cases=[
        Case("one head of width 4", (_labelled(1, 1, 4), 1)),
        Case("two heads of width 6", (_labelled(1, 2, 6), 2)),
        Case("three rows, two heads of width 8", (_labelled(3, 2, 8), 2)),
        Case("as many rows as columns", (_labelled(8, 2, 4), 2)),
        Case("heads of width 2: nothing moves", (_labelled(2, 3, 2), 3)),
        Case("numbers that float32 cannot hold", (1e300 * _labelled(2, 2, 4), 2)),
        Case("three heads of width 128", (_labelled(1, 3, 128), 3)),
    ],
    draw=_draw,
    mistakes=[
        Mistake(
            "the way back",
            lambda w, n_heads: w[
                :, (np.argsort(_order(w, n_heads), axis=1) + _order(w, n_heads)[:, :1]).ravel()
            ],
            "This is the way back, from half-split to interleaved.",
        ),
        Mistake(
            "all heads at once",
            lambda w, n_heads: _to_half_split(w, 1),
            "You reordered all columns as one head. Each head keeps its own d columns.",
        ),
        Mistake(
            "rows",
            lambda w, n_heads: w[
                np.concatenate([np.arange(0, len(w), 2), np.arange(1, len(w), 2)])
            ],
            "You moved rows. We write x @ w: a component of a query is a column.",
        ),
        Mistake(
            "n_heads taken for the width",
            lambda w, n_heads: _to_half_split(w, w.shape[1] // n_heads),
            "You made heads of width n_heads. n_heads is how many there are.",
        ),
        Mistake("nothing", lambda w, n_heads: w.copy(), "Nothing moved."),
        Mistake(
            "odd ones first",
            lambda w, n_heads: np.roll(
                _to_half_split(w, n_heads).reshape(len(w), n_heads, 2, -1), 1, axis=2
            ).reshape(w.shape),
            "The odd components came first. That turns every pair the other way round.",
        ),
    ],
    hints=[
        "Within a head the new order is 0, 2, 4, ..., then 1, 3, 5, ...",
        "w.reshape(rows, n_heads, d // 2, 2) has the pairs on the last axis.",
        "Swap its last two axes, and reshape back.",
    ],
)


def check_to_half_split(f: Any) -> Result:
    """Check f(w [d_model, n_heads * d], n_heads) -> the same columns, ordered for half-split pairs.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return CONVERT.run(f)
