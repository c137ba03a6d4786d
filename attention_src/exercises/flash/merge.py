"""The check of the merge of two partial results."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Array = np.ndarray
Three = tuple[Array, Array, Array]


def merged(m_a: Array, l_a: Array, acc_a: Array, m_b: Array, l_b: Array, acc_b: Array) -> Three:
    """Merge two partial results of different keys.

    Args:
        m_a, l_a: [..., n_q]  running maximum and sum of the first
        acc_a: [..., n_q, d_v]  its weighted sum of values
        m_b, l_b, acc_b: of the second
    Returns: m, l, acc of both; m = −inf, l = 0 and acc = 0 where neither has seen a key
    """
    m = np.maximum(m_a, m_b)
    safe = np.where(m == -np.inf, 0, m)
    a, b = np.exp(m_a - safe), np.exp(m_b - safe)
    return m, a * l_a + b * l_b, a[..., None] * acc_a + b[..., None] * acc_b


def _with(factors: Any, maximum: Any = np.maximum) -> Any:
    """A merge with other factors, as a function of the six inputs."""

    def wrong(m_a: Array, l_a: Array, acc_a: Array, m_b: Array, l_b: Array, acc_b: Array) -> Three:
        m = maximum(m_a, m_b)
        a, b = factors(m_a, m_b, m)
        return m, a * l_a + b * l_b, a[..., None] * acc_a + b[..., None] * acc_b

    return wrong


def _first_on_ties(
    m_a: Array, l_a: Array, acc_a: Array, m_b: Array, l_b: Array, acc_b: Array
) -> Three:
    m, l, acc = merged(m_a, l_a, acc_a, m_b, l_b, acc_b)
    tie = m_a == m_b
    return m, np.where(tie, l_a, l), np.where(tie[..., None], acc_a, acc)


def _ones(m_a: Array, m_b: Array, m: Array) -> tuple[Array, Array]:
    return np.ones_like(m), np.ones_like(m)


def _first_alone(m_a: Array, m_b: Array, m: Array) -> tuple[Array, Array]:
    return np.exp(m_a - m), np.ones_like(m)


def _unguarded(m_a: Array, m_b: Array, m: Array) -> tuple[Array, Array]:
    return np.exp(m_a - m), np.exp(m_b - m)


def _turned(m_a: Array, m_b: Array, m: Array) -> tuple[Array, Array]:
    return np.exp(m - m_a), np.exp(m - m_b)


def _swapped(m_a: Array, m_b: Array, m: Array) -> tuple[Array, Array]:
    return np.exp(m_b - m), np.exp(m_a - m)


def _acc_left(m_a: Array, l_a: Array, acc_a: Array, m_b: Array, l_b: Array, acc_b: Array) -> Three:
    m, l, _ = merged(m_a, l_a, acc_a, m_b, l_b, acc_b)
    return m, l, acc_a + acc_b


def _l_left(m_a: Array, l_a: Array, acc_a: Array, m_b: Array, l_b: Array, acc_b: Array) -> Three:
    m, _, acc = merged(m_a, l_a, acc_a, m_b, l_b, acc_b)
    return m, l_a + l_b, acc


def _divided(m_a: Array, l_a: Array, acc_a: Array, m_b: Array, l_b: Array, acc_b: Array) -> Three:
    m, l, acc = merged(m_a, l_a, acc_a, m_b, l_b, acc_b)
    return m, l, acc / np.where(l == 0, 1, l)[..., None]


def _numbers(
    seed: int,
    shape: tuple[int, ...],
    d_v: int,
    spread: float,
    blind: float = 0.0,
    tied: float = 0.0,
) -> tuple[Array, ...]:
    """Two partial results.

    `blind` is the share of rows in which one has seen no key, `tied` that of equal maxima.
    """
    rng = np.random.default_rng(seed)
    parts: list[Array] = []
    for _ in range(2):
        m, l = spread * rng.normal(size=shape), rng.uniform(1, 9, shape)
        acc = rng.normal(size=(*shape, d_v)) * l[..., None]
        empty = rng.random(shape) < blind
        parts += [np.where(empty, -np.inf, m), np.where(empty, 0, l)]
        parts.append(np.where(empty[..., None], 0, acc))
    tie = (rng.random(shape) < tied) & np.isfinite(parts[0]) & np.isfinite(parts[3])
    parts[3] = np.where(tie, parts[0], parts[3])
    return tuple(parts)


def _draw(rng: np.random.Generator) -> tuple:
    shape = tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(1, 4))))
    spread = float(rng.choice([0.3, 3.0, 300.0, 1e5]))
    seed, d_v = int(rng.integers(10**6)), int(rng.integers(1, 5))
    return _numbers(seed, shape, d_v, spread, rng.choice([0.0, 0.4]), rng.choice([0.0, 0.4]))


_FIRST = (np.array([3.0]), np.array([1.5]), np.array([[20.0, 1.0]]))
_SECOND = (np.array([5.0]), np.array([1.25]), np.array([[40.0, -2.0]]))
_NONE = (np.array([-np.inf]), np.array([0.0]), np.array([[0.0, 0.0]]))

MERGE = Check(
    "merge",
    reference=merged,
    cases=[
        Case("one query, the second has the larger m", (*_FIRST, *_SECOND)),
        Case("one query, the first has the larger m", (*_SECOND, *_FIRST)),
        Case("three queries, d_v = 2", _numbers(0, (3,), 2, 2.0)),
        Case("as many queries as d_v", _numbers(1, (3,), 3, 2.0)),
        Case("2 heads of 3 queries", _numbers(2, (2, 3), 4, 2.0)),
        Case("maxima far apart", _numbers(3, (4,), 2, 1e5)),
        Case("equal maxima in some rows", _numbers(6, (9,), 2, 3.0, tied=0.5)),
        Case("the first has seen no key", (*_NONE, *_SECOND)),
        Case("the second has seen no key", (*_FIRST, *_NONE)),
        Case("neither has seen a key", (*_NONE, *_NONE)),
        Case("some rows have seen no key", _numbers(4, (9,), 2, 3.0, 0.5)),
        Case("d_v = 1", _numbers(5, (1, 4), 1, 3.0)),
    ],
    mistakes=[
        Mistake(
            "not rescaled",
            _with(_ones),
            "You added the sums as they are, but each is measured against its own maximum. "
            "Multiply the one by exp(m_a − m), the other by exp(m_b − m).",
        ),
        Mistake(
            "only one is rescaled",
            _with(_first_alone),
            "You rescale the first alone. The second may have the smaller maximum: it needs "
            "exp(m_b − m).",
        ),
        Mistake(
            "rescaled the wrong way",
            _with(_turned),
            "You multiply by exp(m − m_a). It is the other way round: e^(s − m_a) becomes "
            "e^(s − m) by exp(m_a − m), which is at most 1.",
        ),
        Mistake(
            "factors swapped",
            _with(_swapped),
            "You gave each part the other's factor.",
        ),
        Mistake(
            "acc not rescaled",
            _acc_left,
            "l is right, but acc was added as it is. It rides along with the same two factors.",
        ),
        Mistake(
            "l not rescaled",
            _l_left,
            "acc is right, but l was added as it is. It needs the same two factors.",
        ),
        Mistake(
            "ties",
            _first_on_ties,
            "Where the two maxima are equal you return the first part alone. Equal maxima are no "
            "sign of empty parts: both factors are then 1.",
        ),
        Mistake(
            "divided",
            _divided,
            "You divided acc by l. A partial result stays undivided: more may be merged into it.",
        ),
        Mistake(
            "smaller maximum",
            _with(_unguarded, np.minimum),
            "Your m is the smaller of the two. Take the larger, or exponentials overflow.",
        ),
        Mistake(
            "no guard for −∞",
            _with(_unguarded),
            "Where neither has seen a key, −inf − (−inf) is not a number. Subtract 0 instead of "
            "−inf there; both exponentials are then 0.",
        ),
    ],
    hints=[
        "What turns e^(s − m_a) into e^(s − m)? The same factor serves l_a and acc_a.",
        "acc has one axis more than the factors: factor[..., None] * acc.",
        "safe = np.where(m == -np.inf, 0, m), and np.exp(m_a - safe).",
    ],
    returns=("m", "l", "acc"),
    draw=_draw,
)


def check_merge(f: Any) -> Result:
    """Check f(m_a, l_a, acc_a, m_b, l_b, acc_b) -> (m, l, acc).

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return MERGE.run(f)
