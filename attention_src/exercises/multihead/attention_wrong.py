"""Wrong multi-head attention that people write, and what to tell them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from attention_src.attention.reference import attention
from attention_src.exercises.engine.checking import Mistake
from attention_src.multihead.reference import merge_heads, split_heads

Array = np.ndarray


def _with(
    split: Callable = split_heads,
    merge: Callable = merge_heads,
    scale_width: Callable | None = None,
    use_mask: Callable = lambda mask: mask,
    output: Callable = lambda o, w_o: o @ w_o,
    attend: Callable = attention,
) -> Callable:
    """Multi-head attention with one of its steps exchanged."""

    def multihead_attention(
        x: Array, w_q: Array, w_k: Array, w_v: Array, w_o: Array, n_heads: int, mask: Any = None
    ) -> Array:
        q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
        scale = None if scale_width is None else scale_width(w_q, n_heads) ** -0.5
        o = attend(q, k, v, mask=use_mask(mask), scale=scale)
        return np.asarray(output(merge(o), w_o))

    return multihead_attention


def _attend(
    q: Array,
    k: Array,
    v: Array,
    mask: Any = None,
    scale: float | None = None,
    axis: int = -1,
    shifted: bool = True,
    hidden: float = -np.inf,
) -> Array:
    """Attention that sums over any axis, with or without the shift by the largest score."""
    s = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    s = s if mask is None else np.where(mask, s, hidden)
    m = s.max(axis=axis, keepdims=True)
    e = np.exp(s - np.where(np.isfinite(m), m, 0) if shifted else s)
    l = e.sum(axis=axis, keepdims=True)
    return np.asarray(e / np.where(l > 0, l, 1) @ v)


def _reshaped_split(x: Array, n_heads: int) -> Array:
    return x.reshape(*x.shape[:-2], n_heads, x.shape[-2], -1)


def _reshaped_merge(x: Array) -> Array:
    return x.reshape(*x.shape[:-3], x.shape[-2], -1)


def _interleaved_split(x: Array, n_heads: int) -> Array:
    return np.moveaxis(x.reshape(*x.shape[:-1], -1, n_heads), -1, -3)


def _one_head(
    x: Array, w_q: Array, w_k: Array, w_v: Array, w_o: Array, n_heads: int, mask: Any = None
) -> Array:
    return np.asarray(_with()(x, w_q, w_k, w_v, w_o, 1, mask))


def _swapped(
    x: Array, w_q: Array, w_k: Array, w_v: Array, w_o: Array, n_heads: int, mask: Any = None
) -> Array:
    return np.asarray(_with()(x, w_k, w_q, w_v, w_o, n_heads, mask))


def _scaled_by_d_v(q: Array, k: Array, v: Array, mask: Any, scale: Any) -> Array:
    return attention(q, k, v, mask=mask, scale=v.shape[-1] ** -0.5)


MISTAKES = [
    Mistake(
        "one head",
        _one_head,
        "You attended once, with the full width. Split q, k and v first: each head has its "
        "own softmax.",
    ),
    Mistake(
        "scaled by the full width",
        _with(scale_width=lambda w_q, n_heads: w_q.shape[1]),
        "You divided by the root of H * d_k. The scale of a head is that of its own width.",
    ),
    Mistake(
        "scaled by d_model",
        _with(scale_width=lambda w_q, n_heads: w_q.shape[0]),
        "You divided the scores by the root of d_model. A head's queries are d_k wide.",
    ),
    Mistake(
        "no scale",
        _with(scale_width=lambda w_q, n_heads: 1),
        "The scores are not divided by the root of d_k.",
    ),
    Mistake(
        "split by reshape",
        _with(split=_reshaped_split),
        "Your split cuts the tokens into heads, not the columns: it lacks the swap of axes.",
    ),
    Mistake(
        "merged by reshape",
        _with(merge=_reshaped_merge),
        "Your merge mixes several tokens in one row: swap heads and tokens before you reshape.",
    ),
    Mistake(
        "split and merged by reshape",
        _with(split=_reshaped_split, merge=_reshaped_merge),
        "Both your split and your merge lack the swap of axes: heads attend among pieces of "
        "neighbouring tokens.",
    ),
    Mistake(
        "interleaved",
        _with(split=_interleaved_split),
        "Each head took every H-th column. A head's columns are adjacent.",
    ),
    Mistake(
        "mask not used",
        _with(use_mask=lambda mask: None),
        "This is attention without a mask.",
    ),
    Mistake(
        "reversed polarity",
        _with(use_mask=lambda mask: None if mask is None else ~mask),
        "You hid the keys that the mask allows. Here True means: may attend.",
    ),
    Mistake(
        "w_o left out",
        _with(output=lambda o, w_o: o),
        "The merged heads still have to go through w_o.",
    ),
    Mistake(
        "scaled twice",
        _with(scale_width=lambda w_q, n_heads: (w_q.shape[1] // n_heads) ** 2),
        "You divided by d_k: by its root twice. attention scales its scores itself.",
    ),
    Mistake(
        "scaled by d_v",
        _with(attend=_scaled_by_d_v),
        "You divided the scores by the root of d_v, the width of the values.",
    ),
    Mistake(
        "w_q and w_k swapped",
        _swapped,
        "Your queries are made with w_k and your keys with w_q.",
    ),
    Mistake(
        "softmax over the queries",
        _with(attend=partial(_attend, axis=-2)),
        "Your softmax runs over the queries. Each query's weights sum to 1 over its keys.",
    ),
    Mistake(
        "blind rows averaged",
        _with(attend=partial(_attend, hidden=-1e9)),
        "A hidden score of -1e9 is a finite one: a query that may see nothing gets a mean, and "
        "large scores are overtaken. Use -inf, and let an empty row give 0.",
    ),
    Mistake(
        "no shift",
        _with(attend=partial(_attend, shifted=False)),
        "exp of a large score overflows: take the largest visible score of each row off first.",
    ),
]
