"""The check of the mask with soft edges."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Array = np.ndarray


def _decay_mask(log_a: Array) -> Array:
    n = log_a.shape[-1]
    i, j = np.arange(n)[:, None], np.arange(n)
    later = np.where(j < i, log_a[..., :, None], 0)
    return np.asarray(np.where(j <= i, np.exp(np.cumsum(later, axis=-2)), 0))


def _summed(first: int, last: int) -> Any:
    """The sum from j + first to i + last - 1; right: 1 and 1."""

    def wrong(log_a: Array) -> Array:
        n = log_a.shape[-1]
        L = np.zeros((*log_a.shape, n))
        for i in range(n):
            for j in range(i + 1):
                L[..., i, j] = np.exp(log_a[..., j + first : i + last].sum(axis=-1))
        return L

    return wrong


def _difference(log_a: Array) -> Array:
    c = np.cumsum(log_a, axis=-1)
    n = log_a.shape[-1]
    return np.asarray(np.where(np.tri(n, dtype=bool), np.exp(c[..., :, None] - c[..., None, :]), 0))


def _everywhere(log_a: Array) -> Array:
    """1 above the diagonal."""
    n = log_a.shape[-1]
    return np.asarray(np.where(np.tri(n, dtype=bool), _decay_mask(log_a), 1))


def _logarithms(log_a: Array) -> Array:
    return np.log(_decay_mask(log_a))


def _products(log_a: Array) -> Array:
    """The logarithms taken for the gates themselves."""
    n = log_a.shape[-1]
    i, j = np.arange(n)[:, None], np.arange(n)
    later = np.where(j < i, log_a[..., :, None], 1)
    return np.asarray(np.where(j <= i, np.cumprod(later, axis=-2), 0))


def _case(name: str, *rows: Any) -> Case:
    return Case(name, (np.array(rows if len(rows) > 1 else rows[0], dtype=np.float64),))


def _draw(rng: np.random.Generator) -> tuple:
    lead = tuple(int(size) for size in rng.integers(1, 4, rng.integers(0, 3)))
    n = int(rng.integers(1, 8))
    log_a = -rng.exponential(size=(*lead, n)) * rng.choice([0.1, 1.0, 1.0, 30.0])
    if rng.random() < 0.5:
        log_a = np.where(rng.random(log_a.shape) < 0.25, -np.inf, log_a)
    if rng.random() < 0.3:
        log_a = np.where(rng.random(log_a.shape) < 0.2, -1e12, log_a)
    return (log_a,)


_LONG = -np.random.default_rng(0).exponential(0.01, 300)

DECAY_MASK = Check(
    "decay_mask",
    reference=_decay_mask,
    cases=[
        _case("three tokens", [-0.5, -0.2, -0.7]),
        _case("all gates 1", [0.0, 0.0, 0.0, 0.0]),
        _case("one token", [-0.3]),
        _case("a new document: one gate is 0", [-0.5, -0.2, -np.inf, -0.1]),
        _case("two new documents", [-0.1, -np.inf, -0.2, -np.inf, -np.inf, -0.3]),
        _case("the first gate is 0", [-np.inf, -0.2, -0.4]),
        _case("a sum below -100,000", [-0.5, -1e5, -0.2, -3e5]),
        _case("small ones after -1e12", [-0.5, -1e12, -0.125, -0.3, -0.2]),
        Case("three hundred tokens", (_LONG,)),
        _case("two texts", [-0.5, -0.2, -0.7], [-1.0, -0.1, -0.3]),
        Case("two axes in front", (-np.random.default_rng(1).exponential(size=(2, 3, 4)),)),
    ],
    draw=_draw,
    drawn=50,
    mistakes=[
        Mistake(
            "own gate counted",
            _summed(0, 1),
            "Your product starts at a_j. What token j has written does not pass its own gate: "
            "start at a_(j+1), so that the diagonal is 1.",
        ),
        Mistake(
            "last gate left out",
            _summed(1, 0),
            "Your product ends at a_(i-1). At step i all that was there fades by a_i.",
        ),
        Mistake(
            "difference of running sums",
            _difference,
            "You subtract two running sums. Where a gate is 0 that is -inf - (-inf), not a number, "
            "and after a very large sum the small ones have lost their digits.",
        ),
        Mistake(
            "transposed",
            lambda log_a: _decay_mask(log_a).swapaxes(-1, -2),
            "Rows are i, the later token; yours are columns.",
        ),
        Mistake(
            "the future", _everywhere, "Above the diagonal stand later tokens. They should have 0."
        ),
        Mistake("logarithms", _logarithms, "These are the logarithms. Take exp at the end."),
        Mistake(
            "products of logarithms",
            _products,
            "log_a holds logarithms: add them and take exp; you multiplied them.",
        ),
    ],
    hints=[
        "What is L[i, i], and what L[i, i - 1]?",
        "For each j, a running sum over i that starts after j: put 0 where t <= j, then cumsum.",
        "np.where(j < i, log_a[..., :, None], 0), then cumsum along axis -2.",
    ],
)


def check_decay_mask(f: Any) -> Result:
    """Check f(log_a [..., n]) -> L [..., n, n].

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return DECAY_MASK.run(f)
