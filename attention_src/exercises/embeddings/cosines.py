"""The check of all cosines between two sets of rows."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result


def _unit(x: Any) -> np.ndarray:
    rows = np.asarray(x, dtype=np.float64)
    norm = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return rows / np.where(norm == 0, 1, norm)


def _cosines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Dot products of rows of length 1; a row of zeros stays one."""
    return np.asarray(_unit(x) @ _unit(y).T)


def _f(x: Any) -> np.ndarray:
    return np.asarray(x, dtype=np.float64)


def _norms(x: Any) -> np.ndarray:
    return np.sqrt((_f(x) ** 2).sum(axis=1))


def _safe(x: Any) -> np.ndarray:
    return np.where(x == 0, 1, x)


def _grid(n: int, d: int) -> np.ndarray:
    return np.asarray(np.cos(np.arange(1.0, n * d + 1)).reshape(n, d))


def _draw(rng: np.random.Generator) -> tuple:
    """Rows of all lengths, some of them zero; float64, float32 or integers."""
    n, m, d = (int(i) for i in rng.choice([1, 2, 3, 5, 7], 3))
    rows = []
    for count in (n, m):
        x = rng.normal(size=(count, d))
        x = x / _safe(_norms(x))[:, None] * 10 ** rng.uniform(-3, 4, (count, 1))
        x[rng.random(count) < 0.1] = 0
        rows.append(x)
    kind = rng.choice(["float64", "float64", "float32", "integers"])
    if kind == "integers":
        return tuple(rng.integers(-90, 91, x.shape, dtype=np.int64) for x in rows)
    return tuple(x.astype(kind) for x in rows)


COSINES = Check(
    "cosines",
    reference=_cosines,
    cases=[
        Case(
            "two rows and three",
            (np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([[6.0, 8.0], [0.0, 2.0], [-4.0, 3.0]])),
        ),
        Case(
            "three rows and two, of five numbers",
            (np.arange(15.0).reshape(3, 5) - 6, np.cos(np.arange(10.0)).reshape(2, 5)),
        ),
        Case(
            "whole numbers",
            (np.array([[3, 4], [50, 90]], dtype=np.int64), np.array([[8, 6]], dtype=np.int64)),
        ),
        Case("many rows of many numbers", (_grid(60, 59), _grid(50, 59))),
        Case("a row of zeros", (np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[2.0, 0.0]]))),
        Case("short rows", (np.array([[3e-3, 4e-3]]), np.array([[1e-3, 0.0], [6e3, 8e3]]))),
        Case("one number each", (np.array([[-2.0]]), np.array([[5.0], [-0.5]]))),
        Case(
            "float32",
            (np.array([[3, 4]], dtype=np.float32), np.array([[4, 3]], dtype=np.float32)),
        ),
    ],
    mistakes=[
        Mistake(
            "dot products",
            lambda x, y: _f(x) @ _f(y).T,
            "These are dot products: longer rows get more. Divide by both norms.",
        ),
        Mistake(
            "one norm",
            lambda x, y: _unit(x) @ _f(y).T,
            "You divided by the norms of x. Those of y are still in there.",
        ),
        Mistake(
            "the other norm",
            lambda x, y: _f(x) @ _unit(y).T,
            "You divided by the norms of y. Those of x are still in there.",
        ),
        Mistake(
            "squared norms",
            lambda x, y: _f(x) @ _f(y).T / _safe(np.outer(_norms(x) ** 2, _norms(y) ** 2)),
            "You divided by the squares of the norms. The root is missing.",
        ),
        Mistake(
            "one norm for all rows",
            lambda x, y: _f(x) @ _f(y).T / _safe(np.linalg.norm(_f(x)) * np.linalg.norm(_f(y))),
            "You divided by one norm for the whole matrix. Each row has its own: axis=1.",
        ),
        Mistake(
            "columns",
            lambda x, y: (
                (_f(x) / _safe(np.linalg.norm(_f(x), axis=0)))
                @ (_f(y) / _safe(np.linalg.norm(_f(y), axis=0))).T
            ),
            "You took the norms of columns. A vector is a row: axis=1.",
        ),
        Mistake(
            "sum of absolute values",
            lambda x, y: (
                _f(x)
                @ _f(y).T
                / _safe(np.outer(np.abs(_f(x)).sum(axis=1), np.abs(_f(y)).sum(axis=1)))
            ),
            "You divided by sums of absolute values. A norm is the root of the sum of squares.",
        ),
        Mistake(
            "absolute value",
            lambda x, y: np.abs(_cosines(x, y)),
            "Cosines may be negative: vectors can point in opposite ways.",
        ),
        Mistake(
            "transposed",
            lambda x, y: _cosines(y, x),
            "Rows belong to x and columns to y. Yours is transposed.",
        ),
        Mistake(
            "distances",
            lambda x, y: 1 - _cosines(x, y),
            "This is 1 minus the cosine, a distance. Vectors that point the same way have 1.",
        ),
        Mistake(
            "zeros divided",
            lambda x, y: _f(x) @ _f(y).T / np.outer(_norms(x), _norms(y)),
            "A row of zeros was divided by its norm, 0. Divide by 1 there.",
        ),
    ],
    hints=[
        "Divide each row by its own norm first. What is left to do?",
        "np.sqrt((x**2).sum(axis=1, keepdims=True)) is a column of norms, [n, 1].",
        "unit_x @ unit_y.T, with norms of 0 replaced by 1.",
    ],
    draw=_draw,
)


def check_cosines(f: Any) -> Result:
    """Check f(x [n, d], y [m, d]) -> [n, m], the cosines of all rows with all rows.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return COSINES.run(f)
