"""Wrong grouped-query attention that people write, and what to tell them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.attention.reference import attention
from attention_src.exercises.engine.checking import Mistake

Array = np.ndarray


def with_heads(head_of: Callable[[int, int, int], int], **changes: Any) -> Callable:
    """Attention whose query head h uses key/value head head_of(h, H, H_kv).

    Args:
        head_of: the rule
        changes: `mask`, a function of the mask; `scale`, a function of q, k and v
    Returns: f(q, k, v, mask)
    """
    seen = changes.get("mask", lambda mask: mask)
    scale = changes.get("scale", lambda q, k, v: None)

    def grouped_attention(q: Array, k: Array, v: Array, mask: Any) -> Array:
        H, H_kv = q.shape[-3], k.shape[-3]
        heads = [head_of(h, H, H_kv) for h in range(H)]
        k_all, v_all = k[..., heads, :, :], v[..., heads, :, :]
        mask = seen(mask)
        if mask is not None:
            mask = np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2]))
        return attention(q, k_all, v_all, mask=mask, scale=scale(q, k, v))

    return grouped_attention


def _right(h: int, H: int, H_kv: int) -> int:
    return h // (H // H_kv)


def _mean_heads(q: Array, k: Array, v: Array, mask: Any) -> Array:
    same = with_heads(lambda h, H, H_kv: 0)
    mean = (x.mean(axis=-3, keepdims=True) for x in (k, v))
    return np.asarray(same(q, *mean, mask))


def _keys_tiled(q: Array, k: Array, v: Array, mask: Any) -> Array:
    heads = np.arange(q.shape[-3]) % k.shape[-3]
    v = np.repeat(v, q.shape[-3] // v.shape[-3], axis=-3)
    return np.asarray(with_heads(lambda h, H, H_kv: h)(q, k[..., heads, :, :], v, mask))


def _values_tiled(q: Array, k: Array, v: Array, mask: Any) -> Array:
    heads = np.arange(q.shape[-3]) % k.shape[-3]
    k = np.repeat(k, q.shape[-3] // k.shape[-3], axis=-3)
    return np.asarray(with_heads(lambda h, H, H_kv: h)(q, k, v[..., heads, :, :], mask))


def _summed(q: Array, k: Array, v: Array, mask: Any) -> Array:
    o = with_heads(_right)(q, k, v, mask)
    H, H_kv = q.shape[-3], k.shape[-3]
    return np.asarray(o.reshape(*o.shape[:-3], H_kv, H // H_kv, *o.shape[-2:]).sum(axis=-3))


def _five_axes(q: Array, k: Array, v: Array, mask: Any) -> Array:
    o = with_heads(_right)(q, k, v, mask)
    H, H_kv = q.shape[-3], k.shape[-3]
    return np.asarray(o.reshape(*o.shape[:-3], H_kv, H // H_kv, *o.shape[-2:]))


MISTAKES = [
    Mistake(
        "tiled",
        with_heads(lambda h, H, H_kv: h % H_kv),
        "Your query head h uses key/value head h % H_kv: the row of heads is tiled. Neighbours "
        "share: head h // r, with r = H // H_kv.",
    ),
    Mistake(
        "divided by H_kv",
        with_heads(lambda h, H, H_kv: min(h // H_kv, H_kv - 1)),
        "You divide h by H_kv. Divide by r = H // H_kv, the number of query heads that share.",
    ),
    Mistake(
        "first head for all",
        with_heads(lambda h, H, H_kv: 0),
        "All your query heads use key/value head 0. That is right only if there is no other.",
    ),
    Mistake("mean", _mean_heads, "You averaged the key/value heads. Each group has its own."),
    Mistake(
        "keys tiled", _keys_tiled, "Your values are shared by neighbours, your keys are tiled."
    ),
    Mistake(
        "values tiled", _values_tiled, "Your keys are shared by neighbours, your values are tiled."
    ),
    Mistake(
        "copied",
        with_heads(_right),
        "You made a copy of k and v for each query head, and the memory does not suffice. An axis "
        "of size 1 broadcasts without a copy.",
    ),
    Mistake(
        "mask not used",
        with_heads(_right, mask=lambda mask: None),
        "This is attention without its mask.",
    ),
    Mistake(
        "reversed polarity",
        with_heads(_right, mask=lambda mask: None if mask is None else ~mask),
        "True means: may attend. Yours hides exactly those keys.",
    ),
    Mistake(
        "not scaled",
        with_heads(_right, scale=lambda q, k, v: 1.0),
        "The scores are not divided by the root of d_k.",
    ),
    Mistake(
        "scaled by d_v",
        with_heads(_right, scale=lambda q, k, v: v.shape[-1] ** -0.5),
        "You took the root of d_v; scores are sums over d_k.",
    ),
    Mistake("heads added", _summed, "You added up the heads of a group. Each has its own output."),
    Mistake(
        "group axis left",
        _five_axes,
        "Your output still has an axis for the group. Join it with H_kv: [..., H, n_q, d_v].",
    ),
]
