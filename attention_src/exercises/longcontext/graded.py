"""The check of a learner's own test: does it tell a window with sinks from its neighbours?"""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.attention.masks import window_mask
from attention_src.attention.reference import attention
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.grading import Implementation, TestCheck
from attention_src.flash.reference import flash_attention

Array = np.ndarray


def by_rule(rule: Callable[[Array, Array, int, int], Array]) -> Callable:
    """Attention in which query t sees key j where the rule says so.

    Args:
        rule: of t [n, 1], j [n], window and sinks; bool [n, n]
    Returns: attend(q [n, d_k], k [n, d_k], v [n, d_v], window, sinks)
    """

    def attend(q: Array, k: Array, v: Array, window: int, sinks: int) -> Array:
        j = np.arange(len(q))
        return attention(q, k, v, mask=rule(j[:, None], j, window, sinks))

    return attend


def right(t: Array, j: Array, window: int, sinks: int) -> Array:
    """The rule of the chapter.

    Args:
        t, j: positions of queries [n, 1] and of keys [n]
        window, sinks: as for `masks.window_mask`
    Returns: bool [n, n]
    """
    return (j <= t) & ((t - j < window) | (j < sinks))


def by_mask(q: Array, k: Array, v: Array, window: int, sinks: int) -> Array:
    """With the package's mask.

    Args:
        q, k, v: [n, d_k], [n, d_k], [n, d_v]
        window, sinks: as for `right`
    Returns: [n, d_v]
    """
    return attention(q, k, v, mask=window_mask(len(q), None, window, sinks))


def by_rows(q: Array, k: Array, v: Array, window: int, sinks: int) -> Array:
    """One query after the other, with the keys that it sees.

    Args:
        q, k, v, window, sinks: as for `by_mask`
    Returns: as `by_mask`
    """
    rows = []
    for t in range(len(q)):
        first = max(0, t - window + 1)
        seen = [*range(min(sinks, first)), *range(first, t + 1)]
        rows.append(attention(q[t : t + 1], k[seen], v[seen])[0])
    return np.stack(rows)


def by_blocks(q: Array, k: Array, v: Array, window: int, sinks: int) -> Array:
    """In blocks of three queries and keys; blocks that nobody sees are skipped.

    Args:
        q, k, v, window, sinks: as for `by_mask`
    Returns: as `by_mask`
    """
    sizes: dict[str, Any] = dict(block_q=3, block_k=3)
    return flash_attention(q, k, v, window=window, sinks=sinks, **sizes)[0]


def in_float32(q: Array, k: Array, v: Array, window: int, sinks: int) -> Array:
    """As `by_mask`, in float32.

    Args:
        q, k, v, window, sinks: as for `by_mask`
    Returns: as `by_mask`
    """
    q, k, v = (np.asarray(x, dtype=np.float32) for x in (q, k, v))
    return by_mask(q, k, v, window, sinks)


def _whole_blocks(t: Array, j: Array, window: int, sinks: int) -> Array:
    """The left border of the window is not masked within its block of four."""
    return (j <= t) & ((j >= (t - window + 1) // 4 * 4) | (j < sinks))


def _not_renormalised(q: Array, k: Array, v: Array, window: int, sinks: int) -> Array:
    """Weights of all keys before the query, those outside set to 0 afterwards."""
    j = np.arange(len(q))
    s = np.where(j <= j[:, None], q @ k.T / np.sqrt(q.shape[-1]), -np.inf)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    return np.where(right(j[:, None], j, window, sinks), p, 0) @ v


def _silent_sinks(q: Array, k: Array, v: Array, window: int, sinks: int) -> Array:
    """Sinks take their weight and hand over nothing, once they have left the window."""
    j = np.arange(len(q))
    p = attention(q, k, np.eye(len(q)), mask=right(j[:, None], j, window, sinks))
    return np.where(j[:, None] - j < window, p, 0) @ v


WINDOW_TEST = TestCheck(
    "my_window_test",
    right=[
        Implementation("a mask", by_mask, "it hides with a table of booleans"),
        Implementation("rows", by_rows, "it takes, query by query, the keys that are seen"),
        Implementation("blocks", by_blocks, "it skips blocks that nobody sees"),
        Implementation("a rule", by_rule(right), "it hides by arithmetic"),
        Implementation(
            "float32", in_float32, "it computes in float32: allow for differences of 1e-5"
        ),
    ],
    wrong=[
        Implementation(
            "one too wide",
            by_rule(lambda t, j, w, s: (j <= t) & ((t - j <= w) | (j < s))),
            "its window holds one key too many: the query's own does not count",
        ),
        Implementation(
            "one too narrow",
            by_rule(lambda t, j, w, s: (j <= t) & ((t - j < max(w - 1, 1)) | (j < s))),
            "its window holds one key too few, unless it is 1",
        ),
        Implementation(
            "at most four",
            by_rule(lambda t, j, w, s: right(t, j, min(w, 4), s)),
            "its window never holds more than four keys",
        ),
        Implementation(
            "both sides",
            by_rule(lambda t, j, w, s: (abs(t - j) < w) | ((j < s) & (j <= t))),
            "its window looks ahead as well",
        ),
        Implementation(
            "no sinks",
            by_rule(lambda t, j, w, s: right(t, j, w, 0)),
            "it forgets the sinks",
        ),
        Implementation(
            "one sink",
            by_rule(lambda t, j, w, s: right(t, j, w, min(s, 1))),
            "it keeps one sink, however many are asked for",
        ),
        Implementation(
            "one sink too many",
            by_rule(lambda t, j, w, s: right(t, j, w, s + 1 if s else 0)),
            "it keeps one sink too many",
        ),
        Implementation(
            "a sink of its own",
            by_rule(lambda t, j, w, s: right(t, j, w, max(s, 1))),
            "it keeps a sink where none is asked for",
        ),
        Implementation(
            "sinks ahead",
            by_rule(lambda t, j, w, s: right(t, j, w, 0) | (j < s)),
            "early queries see sinks that come after them",
        ),
        Implementation(
            "sinks at the window's cost",
            by_rule(lambda t, j, w, s: right(t, j, max(w - s, 1), s)),
            "its sinks are taken out of the window",
        ),
        Implementation(
            "no window",
            by_rule(lambda t, j, w, s: j <= t),
            "it hides nothing that is past",
        ),
        Implementation(
            "whole blocks", by_rule(_whole_blocks), "it does not mask within the oldest block"
        ),
        Implementation(
            "not renormalised",
            _not_renormalised,
            "its rows of weights do not sum to 1: hidden keys are in the denominator",
        ),
        Implementation(
            "silent sinks", _silent_sinks, "sinks take weight, and their values are dropped"
        ),
    ],
    hints=[
        "With the identity as values the output is the weights: exact zeros where keys are hidden.",
        "Try several windows and numbers of sinks, 0 and 1 among them, and 12 tokens or more.",
    ],
)


def check_window_test(test: Any) -> Result:
    """Grade the learner's test of attention with a window and sinks.

    Args:
        test: the learner's function of attend(q, k, v, window, sinks)
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return WINDOW_TEST.run(test)
