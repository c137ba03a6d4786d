"""The check of a learner's own test: does it tell who shares with whom?"""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.attention.reference import attention
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.grading import Implementation, TestCheck

Array = np.ndarray


def by_rule(rule_k: Callable, rule_v: Callable | None = None, scale: Any = None) -> Callable:
    """Attention whose query head h uses the key head rule_k(h, H, H_kv).

    Args:
        rule_k: gives a key head
        rule_v: gives a value head; None = the same
        scale: a function of r and d_k; None = 1 / sqrt(d_k)
    Returns: f(q [H, n_q, d_k], k [H_kv, n_k, d_k], v [H_kv, n_k, d_v])
    """

    def grouped(q: Array, k: Array, v: Array) -> Array:
        H, H_kv = len(q), len(k)
        keys = [rule_k(h, H, H_kv) for h in range(H)]
        values = [(rule_v or rule_k)(h, H, H_kv) for h in range(H)]
        by = None if scale is None else scale(H // H_kv, q.shape[-1])
        return attention(q, k[keys], v[values], scale=by)

    return grouped


def right(h: int, H: int, H_kv: int) -> int:
    """The head that query head h uses: neighbours share.

    Args:
        h, H, H_kv: a query head, and how many heads there are
    Returns: the key/value head
    """
    return h * H_kv // H


def by_view(q: Array, k: Array, v: Array) -> Array:
    """With an axis for the group, and no copies.

    Args:
        q, k, v: [H, n_q, d_k], [H_kv, n_k, d_k], [H_kv, n_k, d_v]
    Returns: [H, n_q, d_v]
    """
    grouped = q.reshape(len(k), -1, *q.shape[1:])
    o = attention(grouped, k[:, None], v[:, None])
    return o.reshape(len(q), *o.shape[2:])


def by_rows(q: Array, k: Array, v: Array) -> Array:
    """The queries of a group, one below the other.

    Args:
        q, k, v: as for `by_view`
    Returns: as `by_view`
    """
    o = attention(q.reshape(len(k), -1, q.shape[-1]), k, v)
    return o.reshape(len(q), -1, v.shape[-1])


def by_loop(q: Array, k: Array, v: Array) -> Array:
    """One query head after the other.

    Args:
        q, k, v: as for `by_view`
    Returns: as `by_view`
    """
    r = len(q) // len(k)
    return np.stack([attention(q[h], k[h // r], v[h // r]) for h in range(len(q))])


def in_float32(q: Array, k: Array, v: Array) -> Array:
    """As `by_view`, in float32.

    Args:
        q, k, v: as for `by_view`
    Returns: as `by_view`
    """
    return by_view(*(np.asarray(x, dtype=np.float32) for x in (q, k, v)))


def _mixed(q: Array, k: Array, v: Array) -> Array:
    same = [np.broadcast_to(x.mean(axis=0, keepdims=True), x.shape) for x in (k, v)]
    return by_view(q, *same)


def _summed(q: Array, k: Array, v: Array) -> Array:
    """Every query of a group gets the group's mean output."""
    o = by_view(q, k, v).reshape(len(k), -1, q.shape[1], v.shape[-1])
    same = np.broadcast_to(o.mean(axis=1, keepdims=True), o.shape)
    return same.reshape(len(q), q.shape[1], -1)


def _group_by_tokens(q: Array, k: Array, v: Array) -> Array:
    """The queries of a group are regrouped in the wrong order."""
    H, n_q, d_k = q.shape
    rows = q.reshape(len(k), H // len(k), n_q, d_k).swapaxes(1, 2)
    o = attention(rows.reshape(len(k), -1, d_k), k, v)
    return o.reshape(H, n_q, -1)


SHARING_TEST = TestCheck(
    "my_sharing_test",
    right=[
        Implementation("a view", by_view, "the group has an axis of its own"),
        Implementation("rows", by_rows, "the queries of a group stand below one another"),
        Implementation("a loop", by_loop, "it goes head by head"),
        Implementation("repeat", by_rule(right), "copies give the same numbers"),
        Implementation(
            "float32", in_float32, "it computes in float32: allow for differences of 1e-5"
        ),
    ],
    wrong=[
        Implementation("tiled", by_rule(lambda h, H, H_kv: h % H_kv), "it takes head h % H_kv"),
        Implementation(
            "keys tiled",
            by_rule(lambda h, H, H_kv: h % H_kv, right),
            "its values are shared by neighbours, its keys are tiled",
        ),
        Implementation(
            "values tiled",
            by_rule(right, lambda h, H, H_kv: h % H_kv),
            "its keys are shared by neighbours, its values are tiled",
        ),
        Implementation(
            "divides by H_kv",
            by_rule(lambda h, H, H_kv: min(h // H_kv, H_kv - 1)),
            "it takes head h // H_kv, which is right as long as H is the square of H_kv, as in "
            "9 and 3, or 64 and 8",
        ),
        Implementation("head 0", by_rule(lambda h, H, H_kv: 0), "all use key/value head 0"),
        Implementation("the mean", _mixed, "it averages the key/value heads"),
        Implementation(
            "the other way round",
            by_rule(lambda h, H, H_kv: H_kv - 1 - right(h, H, H_kv)),
            "its groups are right and meet the heads in reverse order",
        ),
        Implementation(
            "one too early",
            by_rule(lambda h, H, H_kv: min(right(h + 1, H, H_kv), H_kv - 1)),
            "the last query head of each group already uses the next head",
        ),
        Implementation(
            "the last head",
            by_rule(lambda h, H, H_kv: 0 if h == H - 1 else right(h, H, H_kv)),
            "its last query head alone is wrong: it uses key/value head 0",
        ),
        Implementation(
            "only pairs",
            by_rule(lambda h, H, H_kv: min(h // 2, H_kv - 1) if H_kv < H else h),
            "it takes head h // 2, which is right if two share. Do you try groups of three?",
        ),
        Implementation(
            "group's mean", _summed, "all query heads of a group get the mean of their outputs"
        ),
        Implementation(
            "rows mixed up",
            _group_by_tokens,
            "it regroups queries by token and not by head. Have you more than one query?",
        ),
        Implementation(
            "scaled by the group",
            by_rule(right, scale=lambda r, d: (r * d) ** -0.5),
            "its scale counts the group: 1 / sqrt(r d_k)",
        ),
        Implementation(
            "not scaled",
            by_rule(right, scale=lambda r, d: 1.0),
            "it does not scale its scores",
        ),
    ],
    hints=[
        "Compare each output head with attention(q[h], k[g], v[g]) for the g that it should use.",
        "Sizes: 6 query heads on 2 key/value heads, several queries, and d_k unlike d_v.",
        "np.allclose(grouped(q, k, v)[h], attention(q[h], k[h // 3], v[h // 3]), atol=1e-5)",
    ],
)


def check_sharing_test(test: Any) -> Result:
    """Check test(grouped), which raises AssertionError if heads are shared wrongly.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return SHARING_TEST.run(test)
