"""The check of attention itself: the worked solution and other right answers pass, wrong ones do
not, and the usual mistakes are named.

In the table of wrong answers: name, code, what the message must speak of ("" = any message).
"""

import math

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.attention import reference
from attention_src.exercises.engine.checking import passed
from attention_src.exercises.equation import check_attention

INF = np.inf


# The worked solution, in the words of the chapter.
def my_attention(q, k, v, mask=None):
    s = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(m == -np.inf, 0, m))
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l == 0, 1, l) @ v


def scores(q, k, scale=None):
    return q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)


def weights(s, axis=-1):
    m = s.max(axis=axis, keepdims=True)
    e = np.exp(s - np.where(m > -INF, m, 0))
    l = e.sum(axis=axis, keepdims=True)
    return e / np.where(l > 0, l, 1)


def hide(s, mask, value=-INF):
    return s if mask is None else np.where(mask, s, value)


# --- right -------------------------------------------------------------------------------------


def query_by_query(q, k, v, mask=None):
    o = np.zeros((*q.shape[:-1], v.shape[-1]))
    full = np.broadcast_to(True if mask is None else mask, (*q.shape[:-1], k.shape[-2]))
    for i in np.ndindex(q.shape[:-1]):
        front = i[:-1]
        keys = [j for j in range(k.shape[-2]) if full[i][j]]
        s = [float(q[i] @ k[front][j]) / math.sqrt(q.shape[-1]) for j in keys]
        e = [math.exp(x - max(s)) for x in s]
        for j, x in zip(keys, e, strict=True):
            o[i] += x / math.fsum(e) * v[front][j]
    return o


def by_einsum(q, k, v, mask=None):
    s = np.einsum("...qd,...kd->...qk", q, k) / np.sqrt(q.shape[-1])
    return np.einsum("...qk,...kd->...qd", weights(hide(s, mask)), v)


def divided_at_the_end(q, k, v, mask=None):
    s = hide(scores(q, k), mask)
    m = np.maximum(s.max(axis=-1, keepdims=True), -1e30)
    e = np.exp(s - m)
    l = e.sum(axis=-1, keepdims=True)
    return np.divide(e @ v, l, out=np.zeros((*e.shape[:-1], v.shape[-1])), where=l > 0)


def powers_of_2(q, k, v, mask=None):
    s = hide(scores(q, k) / math.log(2), mask)
    m = s.max(axis=-1, keepdims=True)
    e = np.exp2(s - np.where(m > -INF, m, 0))
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l > 0, l, 1) @ v


def additive(q, k, v, mask=None):
    visible = np.ones((1, 1), dtype=bool) if mask is None else mask
    with np.errstate(invalid="ignore"):
        s = scores(q, k) + np.where(visible, 0.0, -INF)
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        return np.nan_to_num(e / e.sum(axis=-1, keepdims=True)) @ v


def low_and_zeroed(q, k, v, mask=None):
    p = weights(hide(scores(q, k), mask, -1e30))
    return (p if mask is None else p * mask) @ v


def in_torch(q, k, v, mask=None):
    torch = pytest.importorskip("torch")
    q, k, v = (torch.as_tensor(x) for x in (q, k, v))
    s = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        s = s.masked_fill(~torch.as_tensor(mask), -torch.inf)
    return torch.nan_to_num(torch.softmax(s, dim=-1)) @ v


RIGHT = {
    "worked solution": my_attention,
    "package": lambda q, k, v, mask=None: reference.attention(q, k, v, mask=mask),
    "query by query": query_by_query,
    "einsum": by_einsum,
    "divided at the end": divided_at_the_end,
    "additive": additive,
    "powers of 2": powers_of_2,
    "low, then zeroed": low_and_zeroed,
    "torch": in_torch,
    "list": lambda q, k, v, mask=None: my_attention(q, k, v, mask).tolist(),
    "finer": lambda q, k, v, mask=None: my_attention(q.astype(np.longdouble), k, v, mask),
    "queries scaled": lambda q, k, v, mask=None: (
        weights(hide((q * q.shape[-1] ** -0.5) @ k.swapaxes(-1, -2), mask)) @ v
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass_and_may_be_kept(name):
    assert check_attention(RIGHT[name]).status == "passed"
    assert passed[RIGHT[name]] == "attention"


def test_worked_solution_and_stub():
    assert_worked("equation", check_attention, my_attention)


def test_what_is_no_function_is_refused():
    with pytest.raises(ValueError, match="should be a function"):
        check_attention(3)


# --- wrong -------------------------------------------------------------------------------------


def scaled(scale):
    return lambda q, k, v, mask=None: (
        weights(hide(scores(q, k, scale(q.shape, k.shape, v.shape)), mask)) @ v
    )


def in_place(q, k, v, mask=None):
    q /= np.sqrt(q.shape[-1])
    return weights(hide(q @ k.swapaxes(-1, -2), mask)) @ v


def nan_rows(q, k, v, mask=None):
    s = hide(scores(q, k), mask)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


def no_shift(q, k, v, mask=None):
    e = np.exp(hide(scores(q, k), mask))
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l > 0, l, 1) @ v


def after(q, k, v, mask=None):
    p = weights(scores(q, k))
    return (p if mask is None else p * mask) @ v


def one_maximum(q, k, v, mask=None):
    s = hide(scores(q, k), mask)
    e = np.exp(s - s.max())
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l > 0, l, 1) @ v


def shifted_by(maximum):
    """Attention that subtracts maximum(s, hidden s, mask), and guards what is empty."""

    def answer(q, k, v, mask=None):
        s = scores(q, k)
        hidden = hide(s, mask)
        e = np.exp(hidden - maximum(s, hidden, mask))
        l = e.sum(axis=-1, keepdims=True)
        return e / np.where(l > 0, l, 1) @ v

    return answer


def top(s):
    return s.max(axis=-1, keepdims=True)


def shifted_before_the_mask(q, k, v, mask=None):
    s = scores(q, k)
    e = np.exp(s - top(s)) * (1 if mask is None else mask)
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l > 0, l, 1) @ v


def minus_1e4(q, k, v, mask=None):
    empty = False if mask is None else ~np.broadcast_to(mask, scores(q, k).shape).any(-1)
    o = weights(hide(scores(q, k), mask, -1e4)) @ v
    return np.where(np.asarray(empty)[..., None], 0, o)


def clipped_in_float32(q, k, v, mask=None):
    s = scores(q, k)
    return weights(hide(s.clip(-80, 80) if s.dtype == np.float32 else s, mask)) @ v


def heads_taken_for_texts(q, k, v, mask=None):
    if mask is not None and mask.ndim == 3 and q.ndim == 4:
        mask = mask[:, None]
    return my_attention(q, k, v, mask)


def no_three_axes(q, k, v, mask=None):
    if mask is not None and mask.ndim == 3 and q.ndim == 4:
        raise ValueError("mask")
    return my_attention(q, k, v, mask)


def kept_by_shape(q, k, v, mask=None, kept={}):  # noqa: B006
    return kept.setdefault((q.shape, k.shape, v.shape), my_attention(q, k, v, mask))


def always_causal(q, k, v, mask=None):
    s = hide(scores(q, k), mask)
    return weights(np.where(np.tri(*s.shape[-2:], dtype=bool), s, -INF)) @ v


def in_float32(q, k, v, mask=None):
    return my_attention(*(x.astype("f4") for x in (q, k, v)), mask).astype(float)


def first_64(q, k, v, mask=None):
    if mask is not None:
        mask = mask[..., :64]
    return my_attention(q, k[..., :64, :], v[..., :64, :], mask)


WRONG = {
    "wrong axis": (lambda q, k, v, mask=None: weights(hide(scores(q, k), mask), -2) @ v, "column"),
    "whole table": (
        lambda q, k, v, mask=None: weights(hide(scores(q, k), mask), (-2, -1)) @ v,
        "share one sum",
    ),
    "everything": (lambda q, k, v, mask=None: weights(hide(scores(q, k), mask), None) @ v, ""),
    "not scaled": (scaled(lambda q, k, v: 1), "not divided"),
    "scaled twice": (scaled(lambda q, k, v: 1 / q[-1]), "twice by its root"),
    "multiplied": (scaled(lambda q, k, v: q[-1] ** 0.5), ""),
    "root of d_v": (scaled(lambda q, k, v: v[-1] ** -0.5), "root of d_v"),
    "root of n_k": (scaled(lambda q, k, v: k[-2] ** -0.5), "root of n_k"),
    "root of n_q": (scaled(lambda q, k, v: q[-2] ** -0.5), ""),
    "always 8": (scaled(lambda q, k, v: 1 / 8), ""),
    "mask forgotten": (lambda q, k, v, mask=None: my_attention(q, k, v), "without its mask"),
    "polarity": (
        lambda q, k, v, mask=None: my_attention(q, k, v, None if mask is None else ~mask),
        "hid the keys that the mask allows",
    ),
    "masked after": (after, "still count in the sum"),
    "nan": (nan_rows, "nothing to see"),
    "mean": (
        lambda q, k, v, mask=None: weights(hide(scores(q, k), mask, -1e9)) @ v,
        "share the weight",
    ),
    "score 0": (lambda q, k, v, mask=None: weights(hide(scores(q, k), mask, 0.0)) @ v, ""),
    "no shift": (no_shift, "overflows"),
    "one maximum": (one_maximum, ""),
    "k.T": (
        lambda q, k, v, mask=None: weights(hide(q @ k.T * q.shape[-1] ** -0.5, mask)) @ v,
        "",
    ),
    "no default": (lambda q, k, v, mask: my_attention(q, k, v, mask), "mask"),
    "other name": (lambda q, k, v, m=None: my_attention(q, k, v, m), "should be called mask"),
    "in place": (in_place, "in place"),
    "keys as values": (lambda q, k, v, mask=None: my_attention(q, k, k, mask), "shape"),
    "weights": (lambda q, k, v, mask=None: weights(hide(scores(q, k), mask)), "shape"),
    "transposed": (lambda q, k, v, mask=None: my_attention(q, k, v, mask).swapaxes(-1, -2), ""),
    "lost axes": (lambda q, k, v, mask=None: my_attention(q, k, v, mask).squeeze(), "shape"),
    "always causal": (always_causal, ""),
    "first 64 keys": (first_64, ""),
    "kept by shape": (kept_by_shape, ""),
    "float32 inside": (in_float32, ""),
    "six decimals": (lambda q, k, v, mask=None: my_attention(q, k, v, mask).round(6), ""),
    "one maximum, plain": (
        shifted_by(
            lambda s, hidden, mask: s.max() if mask is None else np.maximum(top(hidden), -1e30)
        ),
        "",
    ),
    "at least 0": (
        shifted_by(lambda s, hidden, mask: np.maximum(top(hidden), 0)),
        "",
    ),
    "maximum of absolute scores": (
        shifted_by(lambda s, hidden, mask: np.abs(s).max(axis=-1, keepdims=True)),
        "",
    ),
    "maximum of all keys": (
        shifted_by(lambda s, hidden, mask: top(s)),
        "before the mask",
    ),
    "shifted before the mask": (shifted_before_the_mask, "before the mask"),
    "no maximum with a mask": (
        shifted_by(
            lambda s, hidden, mask: np.where(top(hidden) > -INF, top(hidden), 0) * (mask is None)
        ),
        "",
    ),
    "mean of the row": (
        shifted_by(lambda s, hidden, mask: s.mean(axis=-1, keepdims=True)),
        "",
    ),
    "hidden by -1e4": (minus_1e4, ""),
    "clipped at 700": (
        lambda q, k, v, mask=None: weights(hide(scores(q, k).clip(-700, 700), mask)) @ v,
        "",
    ),
    "clipped in float32": (clipped_in_float32, ""),
    "heads taken for texts": (heads_taken_for_texts, ""),
    "no mask of three axes": (no_three_axes, "ValueError"),
    "clipped": (
        lambda q, k, v, mask=None: weights(hide(scores(q, k).clip(-50, 50), mask)) @ v,
        "",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_attention, answer, spoken_of)


def test_a_crash_is_shown_where_it_happened(capsys):
    check_attention(lambda q, k, v, mask=None: q @ k.reshape(-1, 99, 7))
    assert "q @ k.reshape(-1, 99, 7)" in capsys.readouterr().out
