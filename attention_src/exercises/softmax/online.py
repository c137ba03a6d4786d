"""The check of the online softmax: maximum and sum of a row that arrives in blocks."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attention_src.exercises.engine.cases import any_scores
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result
from attention_src.softmax import reference


def _draw(rng: np.random.Generator) -> tuple | Case:
    """Blocks of unequal length, of one row of scores; some hidden, alone or whole."""
    lengths = rng.integers(1, 6, int(rng.choice([1, 2, 2, 3, 5, 12, 40])))
    row = any_scores(rng, (int(lengths.sum()),))
    if rng.random() < 0.2:
        row = np.sort(row)[:: int(rng.choice([-1, 1]))].copy()
    blocks = np.split(row, np.cumsum(lengths)[:-1])
    if rng.random() < 0.4:
        for block in blocks:
            block[rng.random(len(block)) < rng.choice([0.0, 0.3, 1.0])] = -np.inf
    return ([block.copy() for block in blocks],)


def _stream(blocks: list, rescale: Any, maximum: Any = max, start: float = -np.inf) -> tuple:
    """The online loop, with replaceable parts; rescale(m, m_new) is the old sum's factor."""
    m, l = start, 0.0
    for block in blocks:
        m_new = maximum(m, block.max())
        if m_new == -np.inf:
            continue
        l = l * rescale(m, m_new) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def _rescale(m: float, m_new: float) -> float:
    return np.exp(m - m_new)


def _running(blocks: list) -> tuple[float, float]:
    """m and l over all blocks; (−inf, 0) if they hold only −inf."""
    m, l = reference.online_max_and_sum(blocks)
    return float(m[0]), float(l[0])


def _unguarded(blocks: list) -> tuple:
    m, l = -np.inf, 0.0
    for block in blocks:
        m_new = max(m, block.max())
        l = l * np.exp(m - m_new) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def _wrong_way_unguarded(blocks: list) -> tuple:
    m, l = -np.inf, 0.0
    for block in blocks:
        m_new = max(m, block.max())
        l = l * np.exp(m_new - m) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def _own_maxima(blocks: list) -> tuple:
    m, l = -np.inf, 0.0
    for block in blocks:
        if block.max() > -np.inf:
            m_new = max(m, block.max())
            l = l * np.exp(m - m_new) + np.exp(block - block.max()).sum()
            m = m_new
    return m, l


def _no_shift(blocks: list) -> tuple:
    return max(block.max() for block in blocks), sum(np.exp(block).sum() for block in blocks)


def _second_loop(blocks: list) -> tuple:
    """What two loops make of a generator: the second finds nothing to add."""
    return max(block.max() for block in blocks), 0.0


def _with_log(blocks: list) -> tuple:
    m, l = _running(blocks)
    return m, m + np.log(l)


_WRONG_WAY = (
    "You rescaled the running sum by exp(m_new − m_old). The sign is turned round: when the "
    "maximum rises, the old sum must shrink."
)
_HIDDEN = np.array([-np.inf, -np.inf])
_MANY = [np.sin(np.arange(200.0) * (i + 1)) * 20 + i / 10 for i in range(200)]

ONLINE_SOFTMAX = Check(
    "online_softmax",
    reference=_running,
    cases=[
        Case("one block", ([np.array([1.0, 3.0, 2.5])],)),
        Case("the maximum falls", ([np.array([3.0, 1.0]), np.array([2.0, 0.0])],)),
        Case("the maximum rises", ([np.array([1.0, 0.5]), np.array([3.0]), np.array([5.0, 4.0])],)),
        Case("all scores negative", ([np.array([-3.0, -2.5]), np.array([-4.0, -1.5, -5.0])],)),
        Case("the maximum is no whole number", ([np.array([0.2, -0.7]), np.array([0.9, 0.1])],)),
        Case("equal scores", ([np.array([2.0, 1.0, 2.0, 1.0]), np.array([2.0, 2.0])],)),
        Case("large scores", ([np.array([9990.0, 1e4]), np.array([10002.0]), np.array([-1e4])],)),
        Case("very negative scores", ([np.array([-9e3, -9001.5]), np.array([-8999.5])],)),
        Case("some keys hidden", ([np.array([-np.inf, 1.0]), np.array([2.0, -np.inf])],)),
        Case("the lowest score, and a hidden key", ([np.array([-1e4, -np.inf])],)),
        Case("the last block hidden", ([np.array([1.0, 2.0]), _HIDDEN],)),
        Case("the first block hidden", ([_HIDDEN, np.array([2.0, 1.0])],)),
        Case("everything hidden", ([_HIDDEN, _HIDDEN[:1]],)),
        Case("200 blocks of 200", (_MANY,), max_bytes=100_000),
    ],
    mistakes=[
        Mistake(
            "a second loop over the blocks",
            _second_loop,
            "Your sum is 0: did you loop over the blocks a second time? They come once. Add to l "
            "in the loop that finds the maximum.",
        ),
        Mistake(
            "running sum not rescaled",
            lambda blocks: _stream(blocks, lambda m, m_new: 1.0),
            "You forgot to rescale the running sum: the old l was measured against the old "
            "maximum. When m rises, multiply l by exp(m_old − m_new).",
        ),
        Mistake(
            "rescaled the wrong way",
            lambda blocks: _stream(blocks, lambda m, m_new: np.exp(m_new - m)),
            _WRONG_WAY,
        ),
        Mistake(
            "rescaled the wrong way",
            lambda blocks: _stream(
                blocks, lambda m, m_new: np.exp(m_new - m) if m > -np.inf else 0.0
            ),
            _WRONG_WAY,
        ),
        Mistake(
            "maximum of the block instead of the running one",
            lambda blocks: _stream(blocks, _rescale, maximum=lambda m, b: b),
            "Your m is the last block's maximum. The running maximum never falls: "
            "max(m, block.max()).",
        ),
        Mistake(
            "each block against its own maximum",
            _own_maxima,
            "You subtract each block's own maximum from it. All terms in l must be measured "
            "against the same, running maximum.",
        ),
        Mistake(
            "maximum starts at 0",
            lambda blocks: _stream(blocks, _rescale, start=0.0),
            "Your maximum starts at 0, which is above all the scores here. Start from −inf.",
        ),
        Mistake(
            "no max-shift",
            _no_shift,
            "Your sum is over exp(score), without subtracting the maximum: it overflows for large "
            "scores. Sum exp(score − m).",
        ),
        Mistake(
            "rescaled the wrong way",
            _wrong_way_unguarded,
            _WRONG_WAY,
        ),
        Mistake(
            "no guard for a hidden block",
            _unguarded,
            "−inf − (−inf) is not a number. While only −inf has been seen there is nothing to add: "
            "leave m and l as they are.",
        ),
        Mistake(
            "only the last block counts",
            lambda blocks: _stream(blocks, lambda m, m_new: 0.0),
            "Your sum holds the last block only. Add to the rescaled old sum; don't replace it.",
        ),
        Mistake(
            "log of the sum",
            _with_log,
            "Your second number is the log-sum-exp, m + log l. Return l itself.",
        ),
        Mistake(
            "log of the sum",
            lambda blocks: (_running(blocks)[0], np.log(_running(blocks)[1])),
            "Your second number is log l. Return l itself.",
        ),
        Mistake(
            "swapped",
            lambda blocks: _running(blocks)[::-1],
            "You swapped the two: return (m, l), the maximum first.",
        ),
    ],
    hints=[
        "Keep m and l. For each block: find the new maximum, correct l, add the block to l.",
        "The correction is l * exp(m − m_new): it turns each exp(s − m) into exp(s − m_new).",
        "If the new maximum is still −inf, skip the block: −inf − (−inf) is not a number.",
    ],
    returns=("m", "l"),
    draw=_draw,
)


def _once(blocks: list) -> Iterator[np.ndarray]:
    """Hand out copies, each once, so that who keeps them all needs memory for all."""
    for block in blocks:
        lent = block.copy()
        yield lent
        if lent.tobytes() != block.tobytes():
            block[:] = lent  # now the engine sees a change in place


def _fed_once(f: Callable) -> Callable:
    """The learner's function, fed by a generator instead of a list."""

    @functools.wraps(f)
    def fed(blocks: list) -> Any:
        return f(_once(blocks))

    return fed


def check_online_softmax(f: Any) -> Result:
    """Check f(blocks) -> (m, l): running maximum and sum over 1-D blocks of one row of scores.

    blocks is a generator, which can be read once. The row's log-sum-exp is m + log l. There is at
    least one block, and none is empty. Scores are float64 up to ±10^4; blocks may hold −inf; if all
    scores are −inf, m = −inf and l = 0. One case has 200 blocks of 200 scores, and the function may
    hold 0.1 MB there.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return ONLINE_SOFTMAX.run(_fed_once(f) if callable(f) else f)
