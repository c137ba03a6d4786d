"""The check of attention a few keys at a time: output and log-sum-exp, without the table."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Array = np.ndarray
Two = tuple[Array, Array]


def _tiled(q: Array, k: Array, v: Array, block: int) -> Two:
    return _walk(q, k, v, block)


def _walk(
    q: Array,
    k: Array,
    v: Array,
    block: int,
    start: float = -np.inf,
    shift: bool = True,
    rescale_l: bool = True,
    rescale_acc: bool = True,
    last: bool = True,
    scale: float | None = None,
) -> Two:
    """Online softmax over blocks of keys, with parts of it left out on request."""
    scale = q.shape[1] ** -0.5 if scale is None else scale
    m = np.full((len(q), 1), start if shift else 0.0)
    l, acc = np.zeros_like(m), np.zeros((len(q), v.shape[1]))
    stop = len(k) if last else len(k) // block * block
    for j in range(0, stop, block):
        s = scale * q @ k[j : j + block].T
        m_new = np.maximum(m, s.max(axis=1, keepdims=True)) if shift else m
        p, rescale = np.exp(s - m_new), np.exp(m - m_new)
        l = (rescale if rescale_l else 1) * l + p.sum(axis=1, keepdims=True)
        acc = (rescale if rescale_acc else 1) * acc + p @ v[j : j + block]
        m = m_new
    return acc / l, (m + np.log(l))[:, 0]


def _blocks_alone(q: Array, k: Array, v: Array, block: int) -> list[Two]:
    starts = range(0, len(k), block)
    return [_walk(q, k[j : j + block], v[j : j + block], block) for j in starts]


def _mean_of_blocks(q: Array, k: Array, v: Array, block: int) -> Two:
    each = _blocks_alone(q, k, v, block)
    return np.mean([o for o, _ in each], axis=0), _tiled(q, k, v, block)[1]


def _sum_of_blocks(q: Array, k: Array, v: Array, block: int) -> Two:
    each = _blocks_alone(q, k, v, block)
    return np.sum([o for o, _ in each], axis=0), _tiled(q, k, v, block)[1]


def _undivided(q: Array, k: Array, v: Array, block: int) -> Two:
    o, lse = _tiled(q, k, v, block)
    m = (q @ k.T * q.shape[1] ** -0.5).max(axis=1)
    return o * np.exp(lse - m)[:, None], lse


def _log_l(q: Array, k: Array, v: Array, block: int) -> Two:
    o, lse = _tiled(q, k, v, block)
    return o, lse - (q @ k.T * q.shape[1] ** -0.5).max(axis=1)


def _base_2(q: Array, k: Array, v: Array, block: int) -> Two:
    o, lse = _tiled(q, k, v, block)
    return o, lse / np.log(2)


def _numbers(seed: int, n_q: int, n_k: int, d_k: int, d_v: int) -> tuple[Array, ...]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=shape) for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v)))


def _loud(seed: int, size: float, *sizes: int) -> tuple[Array, ...]:
    q, k, v = _numbers(seed, *sizes)
    return size * q, k, v


def _falling(sign: float) -> tuple[Array, ...]:
    """Scores of one row that fall, or rise, by hundreds from key to key."""
    _, _, v = _numbers(9, 1, 7, 1, 2)
    return np.ones((2, 1)), sign * 400 * np.arange(7.0)[:, None] - 1500, v


def _near_ties(sign: float) -> tuple[Array, ...]:
    """Seven scores within 5 of a million, or of minus a million."""
    _, _, v = _numbers(10, 1, 7, 1, 2)
    steps = np.array([3.1, 1.2, 2.3, 0.0, 4.7, 0.9, 3.6])[:, None]
    return np.full((2, 1), 1e6), sign * (1 - 1e-6 * steps), v


def _draw(rng: np.random.Generator) -> tuple:
    n_q, n_k, d_k, d_v = (int(n) for n in rng.choice([1, 2, 3, 5, 8], 4))
    loud = float(rng.choice([0.3, 1.0, 30.0, 3e4]))
    return *_loud(int(rng.integers(10**6)), loud, n_q, n_k, d_k, d_v), int(rng.integers(1, 7))


TILED = Check(
    "tiled_attention",
    reference=_tiled,
    cases=[
        Case("2 queries, 4 keys, 2 at a time", (*_numbers(0, 2, 4, 3, 2), 2)),
        Case("5 keys, 2 at a time", (*_numbers(1, 3, 5, 2, 4), 2)),
        Case("1 key at a time", (*_numbers(2, 3, 4, 2, 1), 1)),
        Case("3 keys, 8 at a time", (*_numbers(3, 4, 3, 2, 2), 8)),
        Case("scores that rise by hundreds", (*_falling(1.0), 2)),
        Case("scores that fall by hundreds", (*_falling(-1.0), 2)),
        Case("large scores", (*_loud(4, 1e4, 3, 6, 2, 2), 2)),
        Case("all scores near 1,000,000", (*_near_ties(1.0), 2)),
        Case("all scores near −1,000,000", (*_near_ties(-1.0), 3)),
        Case(
            "40 queries, 20,000 keys, 100 at a time",
            (*_numbers(5, 40, 20_000, 8, 4), 100),
            2 * 10**6,
        ),
    ],
    draw=_draw,
    mistakes=[
        Mistake(
            "acc not rescaled",
            lambda q, k, v, block: _walk(q, k, v, block, rescale_acc=False),
            "lse is right, the output is not: when the maximum rises, acc needs the factor "
            "exp(m − m_new) as well.",
        ),
        Mistake(
            "l not rescaled",
            lambda q, k, v, block: _walk(q, k, v, block, rescale_l=False),
            "You rescale acc and leave l. Both were measured against the old maximum.",
        ),
        Mistake(
            "nothing rescaled",
            lambda q, k, v, block: _walk(q, k, v, block, rescale_l=False, rescale_acc=False),
            "When the maximum rises, what l and acc hold was measured against the old one. "
            "Multiply both by exp(m − m_new).",
        ),
        Mistake(
            "each block for itself",
            _mean_of_blocks,
            "You average the blocks' outputs. A block with larger scores must count more.",
        ),
        Mistake(
            "blocks added up",
            _sum_of_blocks,
            "You divide each block by its own sum. Divide once, at the end, by the sum over all.",
        ),
        Mistake(
            "last keys lost",
            lambda q, k, v, block: _walk(q, k, v, block, last=False),
            "The last block is shorter when `block` does not divide the number of keys. Slices may "
            "reach past the end; range(0, n_k, block) gives every start.",
        ),
        Mistake(
            "not scaled",
            lambda q, k, v, block: _walk(q, k, v, block, scale=1.0),
            "The scores lack the factor d_k^(−1/2).",
        ),
        Mistake("not divided", _undivided, "The output is acc / l; you returned acc."),
        Mistake("log of l", _log_l, "Your lse is log l alone. It is m + log l."),
        Mistake("base 2", _base_2, "Your lse is in base 2. Multiply it by ln 2."),
        Mistake(
            "maximum starts at 0",
            lambda q, k, v, block: _walk(q, k, v, block, start=0.0),
            "Your maximum starts at 0. A row whose scores are far below 0 then underflows: start "
            "from −inf.",
        ),
        Mistake(
            "no maximum",
            lambda q, k, v, block: _walk(q, k, v, block, shift=False),
            "You do not subtract a maximum: exponentials of large scores overflow.",
        ),
    ],
    hints=[
        "Keep m, l and acc for all queries at once: (n_q, 1), (n_q, 1) and (n_q, d_v).",
        "For each block: scores, the new maximum, p, and the factor exp(m − m_new).",
        "After the last block: acc / l, and m + np.log(l), which must become [n_q].",
    ],
    returns=("o", "lse"),
)


def check_tiled_attention(f: Any) -> Result:
    """Check f(q [n_q, d_k], k [n_k, d_k], v [n_k, d_v], block) -> (o [n_q, d_v], lse [n_q]).

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return TILED.run(f)
