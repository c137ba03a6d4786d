"""The check of multi-head attention: right answers pass, wrong ones do not and are named.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.attention.reference import attention
from attention_src.exercises.multihead import check_multihead_attention
from attention_src.multihead import reference
from attention_src.multihead.reference import merge_heads, split_heads


# The worked solution, in the words of the chapter.
def multihead_attention(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q = split_heads(x @ w_q, n_heads)  # [..., H, n, d_k]
    k = split_heads(x @ w_k, n_heads)
    v = split_heads(x @ w_v, n_heads)  # [..., H, n, d_v]
    o = attention(q, k, v, mask=mask)  # one call for all heads
    return merge_heads(o) @ w_o


def test_worked_solution_and_stub():
    assert_worked("multihead", check_multihead_attention, multihead_attention)


def plain_attention(q, k, v, mask=None, scale=None, hidden=-np.inf):
    s = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        s = np.where(mask, s, hidden)
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(np.isfinite(m), m, 0))
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l > 0, l, 1) @ v


def variant(attend=plain_attention, split=split_heads, merge=merge_heads):
    def f(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
        q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
        return merge(attend(q, k, v, mask)) @ w_o

    return f


# --- right -------------------------------------------------------------------------------------


def head_by_head(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    pieces = zip(*(np.split(w, n_heads, axis=1) for w in (w_q, w_k, w_v)), strict=True)
    n = x.shape[-2]
    if mask is not None:
        mask = np.broadcast_to(mask, (*x.shape[:-2], n_heads, n, n))
    out = 0
    for h, ((a, b, c), rows) in enumerate(zip(pieces, np.split(w_o, n_heads), strict=True)):
        of_head = None if mask is None else mask[..., h, :, :]
        out = out + plain_attention(x @ a, x @ b, x @ c, of_head) @ rows
    return out


def in_torch(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    torch = pytest.importorskip("torch")
    x, w_q, w_k, w_v, w_o = (torch.from_numpy(t) for t in (x, w_q, w_k, w_v, w_o))
    q, k, v = (
        (x @ w).unflatten(-1, (n_heads, -1)).transpose(-2, -3).contiguous() for w in (w_q, w_k, w_v)
    )
    s = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        s = s.masked_fill(~torch.from_numpy(mask), -torch.inf)
    o = torch.nan_to_num(torch.softmax(s, -1)) @ v
    return o.transpose(-2, -3).flatten(-2) @ w_o


def by_einsum(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    cut = lambda w: w.reshape(w.shape[0], n_heads, -1)  # noqa: E731
    q, k, v = (np.einsum("...nm,mhd->...hnd", x, cut(w)) for w in (w_q, w_k, w_v))
    o = plain_attention(q, k, v, mask)
    return np.einsum("...hnd,hdm->...nm", o, w_o.reshape(n_heads, -1, w_o.shape[1]))


RIGHT = {
    "worked solution": multihead_attention,
    "package": lambda *a: reference.multihead_attention(*a[:5], n_heads=a[5], mask=a[6]),
    "package, by head": lambda *a: reference.multihead_attention_by_head(
        *a[:5], n_heads=a[5], mask=None if a[6] is None else np.atleast_2d(a[6])
    ),
    "head by head": head_by_head,
    "torch": in_torch,
    "einsum": by_einsum,
    "own attention": variant(),
    "scaled queries": variant(
        lambda q, k, v, m: plain_attention(q / q.shape[-1] ** 0.5, k, v, m, scale=1)
    ),
    "lists": lambda *a: multihead_attention(*a).tolist(),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_multihead_attention(RIGHT[name]).status == "passed"


# --- wrong -------------------------------------------------------------------------------------


def reshaped_split(x, h):
    return x.reshape(*x.shape[:-2], h, x.shape[-2], -1)


def reshaped_merge(x):
    return x.reshape(*x.shape[:-3], x.shape[-2], -1)


def with_scale(width):
    def f(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
        attend = lambda q, k, v, m: plain_attention(q, k, v, m, width(x, w_q, q) ** -0.5)  # noqa: E731
        return variant(attend)(x, w_q, w_k, w_v, w_o, n_heads, mask)

    return f


def unstable(q, k, v, mask=None):
    e = np.exp(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5)
    e = e if mask is None else e * mask
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l > 0, l, 1) @ v


def in_place(x, *rest):
    y = multihead_attention(x, *rest)
    x[...] = 0
    return y


def clipped(q, k, v, mask=None):
    s = np.clip(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5, -1e4, 1e4)
    return plain_attention(s, np.eye(k.shape[-2]), v, mask, scale=1)


def hidden_by(fill):
    """A finite score for hidden keys, and their weights put to 0 afterwards."""

    def attend(q, k, v, mask=None):
        seen = True if mask is None else mask
        s = np.where(seen, q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5, fill)
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True) * seen @ v

    return variant(attend)


def unshifted(q, k, v, mask=None):
    s = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    e = np.exp(s if mask is None else np.where(mask, s, -np.inf))
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l > 0, l, 1) @ v


def in_float32(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    single = (w.astype(np.float32) for w in (x, w_q, w_k, w_v, w_o))
    return variant()(*single, n_heads, mask)


def first_mask_for_all(q, k, v, mask=None):
    return plain_attention(q, k, v, mask[..., :1, :, :] if np.ndim(mask) > 2 else mask)


WRONG = {
    "one head": (lambda *a: multihead_attention(*a[:5], 1, a[6]), "attended once"),
    "scale of all heads": (with_scale(lambda x, w, q: w.shape[1]), "its own width"),
    "scale of d_model": (with_scale(lambda x, w, q: x.shape[-1]), "root of d_model"),
    "no scale": (with_scale(lambda x, w, q: 1), "not divided"),
    "scaled by d_k": (with_scale(lambda x, w, q: q.shape[-1] ** 2), "its root twice"),
    "scale of the tokens": (with_scale(lambda x, w, q: q.shape[-2]), ""),
    "split by reshape": (variant(split=reshaped_split), "lacks the swap"),
    "merge by reshape": (variant(merge=reshaped_merge), "merge mixes"),
    "both by reshape": (variant(split=reshaped_split, merge=reshaped_merge), "Both your split"),
    "interleaved": (
        variant(split=lambda x, h: np.moveaxis(x.reshape(*x.shape[:-1], -1, h), -1, -3)),
        "every H-th column",
    ),
    "no mask": (lambda *a: multihead_attention(*a[:6]), "without a mask"),
    "polarity": (
        lambda *a: multihead_attention(*a[:6], None if a[6] is None else ~a[6]),
        "True means",
    ),
    "no w_o": (lambda *a: multihead_attention(*a[:4], np.eye(len(a[4])), *a[5:]), "through w_o"),
    "keys and values swapped": (lambda x, q, k, v, *r: multihead_attention(x, q, v, k, *r), ""),
    "queries and keys swapped": (
        lambda x, q, k, *r: multihead_attention(x, k, q, *r),
        "queries are made with w_k",
    ),
    "w_o transposed": (lambda *a: multihead_attention(*a[:4], a[4].T, *a[5:]), ""),
    "heads added": (
        lambda *a: variant(merge=lambda o: np.tile(o.sum(-3), a[5]))(*a),
        "",
    ),
    "softmax over queries": (
        variant(
            lambda q, k, v, m: (
                (np.exp(q @ k.swapaxes(-1, -2)) / np.exp(q @ k.swapaxes(-1, -2)).sum(-2)[..., None])
                @ v
            )
        ),
        "",
    ),
    "empty rows uniform": (
        variant(lambda q, k, v, m: plain_attention(q, k, v, m, None, -1e9)),
        "gets a mean",
    ),
    "no maximum": (variant(unstable), "around 1,000"),
    "no maximum, hidden by -inf": (variant(unshifted), "overflows"),
    "clipped scores": (variant(clipped), ""),
    "hidden by -1e4": (hidden_by(-1e4), "around 100,000"),
    "hidden by -1e9": (hidden_by(-1e9), "10^12"),
    "float32 throughout": (in_float32, "near 10,000"),
    "scale of the values": (
        variant(lambda q, k, v, m: plain_attention(q, k, v, m, v.shape[-1] ** -0.5)),
        "root of d_v",
    ),
    "one mask for all heads": (variant(first_mask_for_all), ""),
    "residual added": (lambda *a: a[0] + multihead_attention(*a), ""),
    "causal always": (
        lambda *a: multihead_attention(*a[:6], np.tri(a[0].shape[-2], dtype=bool)),
        "",
    ),
    "in place": (in_place, "in place"),
    "squeezed": (lambda *a: multihead_attention(*a).squeeze(), "shape"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_multihead_attention, answer, spoken_of)
