"""The check of the three projections of one sequence."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.cases import any_shape
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Three = tuple[np.ndarray, np.ndarray, np.ndarray]


def _project(x: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, w_v: np.ndarray) -> Three:
    """Queries, keys and values of one sequence."""
    return x @ w_q, x @ w_k, x @ w_v


def _numbers(rng: np.random.Generator, *shape: int, dtype: type = np.float64) -> np.ndarray:
    return np.asarray(np.round(rng.normal(0, 2, shape), 3), dtype=dtype)


def _inputs(
    rng: np.random.Generator, x: tuple[int, ...], d_k: int, d_v: int, dtype: type = np.float64
) -> tuple:
    widths = [(x[-1], d_k), (x[-1], d_k), (x[-1], d_v)]
    return tuple(_numbers(rng, *shape, dtype=dtype) for shape in (x, *widths))


def _draw(rng: np.random.Generator) -> tuple:
    """Two to five axes; often all three widths are equal, and then so are the shapes."""
    shape = any_shape(rng, fewest=2, most=5)
    d_k, d_v = (int(width) for width in rng.integers(1, 5, 2))
    if rng.random() < 0.3:
        d_k = d_v = shape[-1]
    return _inputs(rng, shape, d_k, d_v, np.float32 if rng.random() < 0.2 else np.float64)


_RNG = np.random.default_rng(11)

PROJECT = Check(
    "project",
    reference=_project,
    returns=("q", "k", "v"),
    cases=[
        Case("two tokens, d_k = 2, d_v = 4", _inputs(_RNG, (2, 3), 2, 4)),
        Case("all widths alike", _inputs(_RNG, (4, 3), 3, 3)),
        Case("three tokens, narrow values", _inputs(_RNG, (3, 5), 4, 1)),
        Case("one token", _inputs(_RNG, (1, 4), 2, 3)),
        Case("two sentences of three tokens", _inputs(_RNG, (2, 3, 4), 2, 5)),
        Case("two axes in front", _inputs(_RNG, (2, 1, 3, 4), 3, 2)),
        Case("three axes in front", _inputs(_RNG, (2, 1, 2, 3, 4), 2, 3)),
        Case("float32", _inputs(_RNG, (5, 4), 2, 3, np.float32)),
    ],
    draw=_draw,
    mistakes=[
        Mistake(
            "roles exchanged",
            lambda x, w_q, w_k, w_v: _project(x, w_k, w_q, w_v),
            "Your queries are made with w_k and your keys with w_q. Scores would come out "
            "transposed: token i would get what token j should.",
        ),
        Mistake(
            "one matrix for queries and keys",
            lambda x, w_q, w_k, w_v: _project(x, w_q, w_q, w_v),
            "Queries and keys are made with the same matrix. Scores would be symmetric.",
        ),
        Mistake(
            "values made of queries",
            lambda x, w_q, w_k, w_v: _project(x, w_q, w_k, w_q),
            "Your values are the queries again. They have a matrix of their own, w_v.",
        ),
        Mistake(
            "in a chain",
            lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_q @ w_k, x @ w_q @ w_k @ w_v),
            "You project what was projected before. All three start from x.",
        ),
        Mistake(
            "transposed",
            lambda x, w_q, w_k, w_v: _project(x, w_q.T, w_k.T, w_v.T),
            "You multiply by the transposed matrices, as torch.nn.Linear stores them. Here a "
            "matrix is [d_model, d], the input on the left.",
        ),
        Mistake(
            "scaled too early",
            lambda x, w_q, w_k, w_v: (x @ w_q / w_q.shape[1] ** 0.5, x @ w_k, x @ w_v),
            "You divided the queries by sqrt(d_k). That is attention's business: it would be "
            "done twice.",
        ),
        Mistake(
            "added to the token",
            lambda x, w_q, w_k, w_v: (x + x @ w_q, x + x @ w_k, x + x @ w_v),
            "You added the token itself. A projection is the product alone.",
        ),
    ],
    hints=[
        "Three products, each with x on the left.",
        "x @ w_q works for any number of axes in front.",
        "return x @ w_q, x @ w_k, x @ w_v",
    ],
)


def check_project(f: Any) -> Result:
    """Check f(x [..., n, d_model], w_q, w_k, w_v) -> q, k [..., n, d_k] and v [..., n, d_v].

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return PROJECT.run(f)
