"""The check of the masked softmax: the worked solution and other right answers pass, wrong ones
do not, and the usual mistakes are named.

In the tables of wrong answers: name, code, what the message must speak of ("" = any message).
"""

import math

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.masking import check_masked_softmax

INF = np.inf


# The worked solution, in the words of the chapter.
def my_masked_softmax(scores, mask):
    s = np.where(mask, scores, -np.inf)
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(m == -np.inf, 0, m))
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l == 0, 1, l)


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def hidden(s, m, value=-INF):
    return np.where(m, s, value)


def shares(e):
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l > 0, l, 1)


# --- right -------------------------------------------------------------------------------------


def row_by_row(scores, mask):
    mask, out = np.broadcast_to(mask, scores.shape), np.zeros(scores.shape)
    for row in np.ndindex(scores.shape[:-1]):
        keys = [j for j in range(scores.shape[-1]) if mask[row][j] and scores[row][j] > -INF]
        top = max((scores[row][j] for j in keys), default=0)
        e = {j: math.exp(scores[row][j] - top) for j in keys}
        for j in keys:
            out[row][j] = e[j] / math.fsum(e.values())
    return out


def only_where_visible(s, m):
    seen = np.broadcast_to(m, s.shape) & (s > -INF)
    top = np.max(s, axis=-1, keepdims=True, where=seen, initial=-INF)
    e = np.exp(np.where(seen, s, 0) - np.where(seen, top, 0)) * seen
    l = e.sum(axis=-1, keepdims=True)
    return np.divide(e, l, out=np.zeros_like(e), where=l > 0)


def by_log_sum_exp(s, m):
    s = hidden(s, m)
    top = np.maximum(s.max(axis=-1, keepdims=True), -1e30)
    lse = top + np.log(np.exp(s - top).sum(axis=-1, keepdims=True))
    return np.where(lse > -INF, np.exp(s - np.where(lse > -INF, lse, 0)), 0)


def streaming(s, m):
    s = hidden(s, m)
    top, l = np.full(s.shape[:-1], -INF), np.zeros(s.shape[:-1])
    for j in range(s.shape[-1]):
        new = np.maximum(top, s[..., j])
        safe = np.where(new > -INF, new, 0)
        l, top = l * np.exp(top - safe) + np.exp(s[..., j] - safe), new
    safe = np.where(top > -INF, top, 0)[..., None]
    return np.exp(s - safe) / np.where(l > 0, l, 1)[..., None]


def in_torch(s, m):
    torch = pytest.importorskip("torch")
    s = torch.as_tensor(s).masked_fill(~torch.as_tensor(m), -torch.inf)
    return torch.nan_to_num(torch.softmax(s, dim=-1))


def flattened(s, m):
    n_k, m = s.shape[-1], np.broadcast_to(m, s.shape)
    return my_masked_softmax(s.reshape(-1, n_k), m.reshape(-1, n_k)).reshape(s.shape)


RIGHT = {
    "worked solution": my_masked_softmax,
    "row by row": row_by_row,
    "only where visible": only_where_visible,
    "log-sum-exp": by_log_sum_exp,
    "streaming": streaming,
    "torch": in_torch,
    "flattened": flattened,
    "NaN to 0": lambda s, m: np.nan_to_num(softmax(hidden(s, m))),
    "list": lambda s, m: my_masked_softmax(s, m).tolist(),
    "finer dtype": lambda s, m: my_masked_softmax(s.astype(np.longdouble), m),
    "same dtype": lambda s, m: my_masked_softmax(s, m).astype(s.dtype),
    "low finite number, then zeroed": lambda s, m: (
        softmax(hidden(s, m & (s > -INF), -1e30)) * (m & (s > -INF))
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_masked_softmax(RIGHT[name]).status == "passed"


def test_worked_solution_and_stub():
    assert_worked("masking", check_masked_softmax, my_masked_softmax)


# --- wrong -------------------------------------------------------------------------------------


def write_minus_infinity(scores, mask):
    scores[~np.broadcast_to(mask, scores.shape)] = -np.inf
    return my_masked_softmax(scores, mask)


def spoil_the_mask(scores, mask):
    w = my_masked_softmax(scores, mask)
    mask[...] = False
    return w


def one_maximum(axis):
    def masked(s, m):
        s = hidden(s, m)
        top = s.max(axis=axis, keepdims=True)
        return shares(np.exp(s - np.where(top > -INF, top, 0)))

    return masked


def over_axis(axis):
    def masked(s, m):
        e = np.exp(hidden(s, m) - np.maximum(hidden(s, m).max(axis, keepdims=True), -1e30))
        l = e.sum(axis, keepdims=True)
        return e / np.where(l > 0, l, 1)

    return masked


def visible_together(s, m):
    out, m = np.zeros(s.shape), np.broadcast_to(m, s.shape)
    out[m] = softmax(s[m]) if m.any() else 0
    return out


def guard_by_mask_alone(s, m):
    empty = ~np.broadcast_to(m, s.shape).any(axis=-1, keepdims=True)
    return np.where(empty, 0, softmax(np.where(empty, 0, hidden(s, m))))


def empty_rows_uniform(s, m):
    empty = ~np.broadcast_to(m, s.shape).any(axis=-1, keepdims=True)
    return np.where(empty, 1 / s.shape[-1], my_masked_softmax(s, m))


def padded_on_the_right(s, m):
    return my_masked_softmax(s, m.reshape(*m.shape, *[1] * (s.ndim - m.ndim)))


def up_to_64_keys(s, m):
    w = my_masked_softmax(s, m)
    w[..., 64:] = 0
    return w


def kept_by_shape(s, m, kept={}):  # noqa: B006
    return kept.setdefault((s.shape, m.shape), my_masked_softmax(s, m))


WRONG = {
    "wrong polarity": (lambda s, m: my_masked_softmax(s, ~m), "reversed polarity"),
    "mask times -1e9": (lambda s, m: softmax(s + m * -1e9), "the keys that the mask allows"),
    "masked after softmax": (lambda s, m: softmax(s) * m, "zeroed after softmax"),
    "scores times mask": (lambda s, m: softmax(s * m), "exp(0) = 1"),
    "nan in an empty row": (lambda s, m: softmax(hidden(s, m)), "nan in a fully masked row"),
    "uniform empty row": (
        lambda s, m: softmax(hidden(s, m, np.finfo(float).min)),
        "uniform fully masked row",
    ),
    "minus 1e9 added": (lambda s, m: softmax(s + ~m * -1e9), "You added a large finite number"),
    "maximum over hidden keys": (
        lambda s, m: shares(np.exp(s - s.max(axis=-1, keepdims=True)) * m),
        "maximum that belongs to a hidden key",
    ),
    "after the softmax, then divided": (
        lambda s, m: shares(np.nan_to_num(softmax(s)) * m),
        "Hide before you normalise",
    ),
    "minus 1e9 and nan_to_num": (
        lambda s, m: np.nan_to_num(softmax(hidden(s, m, -1e9))),
        "all scores became the same",
    ),
    "four axes at most": (lambda s, m: my_masked_softmax(s, m) if s.ndim < 5 else s, "six axes"),
    "no maximum": (lambda s, m: shares(hidden(np.exp(s), m, 0)), "largest visible score"),
    "scores changed": (write_minus_infinity, "changed its input scores in place"),
    "mask changed": (spoil_the_mask, "changed its input mask in place"),
    "columns normalised": (over_axis(-2), "over the queries"),
    "axis 1": (over_axis(1), ""),
    "whole table normalised": (over_axis((-1, -2)), ""),
    "nothing masked": (lambda s, m: softmax(s), "nothing was hidden"),
    "one maximum for all rows": (one_maximum((-1, -2)), "rows far apart"),
    "one maximum for everything": (one_maximum(None), "rows far apart"),
    "all visible keys share 1": (visible_together, ""),
    "visible rows of -inf alone": (guard_by_mask_alone, "visible scores of -inf"),
    "empty rows uniform": (empty_rows_uniform, "second may see nothing"),
    "mask padded on the right": (padded_on_the_right, ""),
    "mask indexed": (lambda s, m: softmax(s[m]), ""),
    "mask of a full table": (lambda s, m: my_masked_softmax(s, m.reshape(s.shape)), "[n_k]"),
    "mask of the first sentence": (lambda s, m: my_masked_softmax(s, m[0]), ""),
    "mask transposed": (lambda s, m: my_masked_softmax(s, m.T), ""),
    "float32 inside": (lambda s, m: my_masked_softmax(s.astype("f4"), m).astype(float), ""),
    "whole numbers": (lambda s, m: my_masked_softmax(np.round(s), m), ""),
    "six decimals": (lambda s, m: my_masked_softmax(s, m).round(6), ""),
    "small weights dropped": (
        lambda s, m: np.where(my_masked_softmax(s, m) < 1e-4, 0, my_masked_softmax(s, m)),
        "small weights count",
    ),
    "scores clipped": (lambda s, m: my_masked_softmax(s.clip(-700, 700), m), "large scores"),
    "lost axes": (lambda s, m: my_masked_softmax(s, m).squeeze(), "shape"),
    "first 64 keys": (up_to_64_keys, ""),
    "kept by shape": (kept_by_shape, ""),
    "logarithms": (lambda s, m: np.log(my_masked_softmax(s, m)), ""),
    "not normalised": (lambda s, m: my_masked_softmax(s, m) * m.sum(), ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_masked_softmax, answer, spoken_of)
