"""The check of the backward pass: right answers of every style pass, wrong ones are refused."""

import inspect

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.gradients import check_attention_backward, pairs


# The worked solution, in the words of the chapter.
def attention_backward(q, k, v, do, mask=None):
    scale = q.shape[-1] ** -0.5
    s = scale * q @ k.swapaxes(-1, -2)
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(m == -np.inf, 0, m))
    l = e.sum(axis=-1, keepdims=True)
    p = e / np.where(l == 0, 1, l)
    delta = (do * (p @ v)).sum(axis=-1, keepdims=True)
    ds = p * (do @ v.swapaxes(-1, -2) - delta)
    dv = p.swapaxes(-1, -2) @ do
    return scale * ds @ k, scale * ds.swapaxes(-1, -2) @ q, dv


def test_the_worked_solution_and_a_stub():
    assert_worked("gradients", check_attention_backward, attention_backward)


# --- attention_backward: right ---------------------------------------------------------------


def weights(q, k, mask):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    seen = np.broadcast_to(True if mask is None else mask, s.shape)
    m = np.max(s, axis=-1, keepdims=True, where=seen, initial=-np.inf)
    e = np.exp(np.where(seen, s - np.where(np.isfinite(m), m, 0), -np.inf))
    l = e.sum(axis=-1, keepdims=True)
    return np.divide(e, l, out=np.zeros_like(e), where=l > 0)


def query_by_query(q, k, v, do, mask=None):
    mask = np.broadcast_to(True if mask is None else mask, (*q.shape[:-1], k.shape[-2]))
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for at in np.ndindex(q.shape[:-2]):
        for i in range(q.shape[-2]):
            p = weights(q[at][i : i + 1], k[at], mask[at][i])[0]
            o = p @ v[at]
            for j in range(len(p)):
                ds = p[j] * (do[at][i] @ (v[at][j] - o)) / np.sqrt(q.shape[-1])
                dq[at][i] += ds * k[at][j]
                dk[at][j] += ds * q[at][i]
                dv[at][j] += p[j] * do[at][i]
    return dq, dk, dv


def by_jacobian(q, k, v, do, mask=None):
    p = weights(q, k, mask)
    J = p[..., :, None] * np.eye(k.shape[-2]) - p[..., :, None] * p[..., None, :]
    ds = np.einsum("...qij,...qd,...jd->...qi", J, do, v) / np.sqrt(q.shape[-1])
    dq, dk = np.einsum("...qk,...kd->...qd", ds, k), np.einsum("...qk,...qd->...kd", ds, q)
    return dq, dk, np.einsum("...qk,...qd->...kd", p, do)


def as_a_list_of_lists(q, k, v, do, mask=None):
    return [g.tolist() for g in attention_backward(q, k, v, do, mask)]


def in_torch(q, k, v, do, mask=None):
    torch = pytest.importorskip("torch")
    x = [torch.tensor(a, requires_grad=True) for a in (q, k, v)]
    s = x[0] @ x[1].mT / q.shape[-1] ** 0.5
    seen = (
        torch.ones(s.shape, dtype=bool) if mask is None else torch.as_tensor(mask).expand(s.shape)
    )
    some = seen.any(-1, keepdim=True)
    p = torch.softmax(s.masked_fill(~seen & some, -torch.inf), -1) * some
    (p @ x[2]).backward(torch.tensor(do))
    return tuple(t.grad for t in x)


def along_flattened_batches(q, k, v, do, mask=None):
    full = np.broadcast_to(True if mask is None else mask, (*q.shape[:-1], k.shape[-2]))
    flat = [x.reshape(-1, *x.shape[-2:]) for x in (q, k, v, do, full)]
    parts = [attention_backward(*one) for one in zip(*flat, strict=True)]
    return tuple(np.reshape([p[i] for p in parts], x.shape) for i, x in enumerate((q, k, v)))


def scale_on_the_queries(q, k, v, do, mask=None):
    c = q.shape[-1] ** -0.5
    p = weights(q, k, mask)
    dp = do @ v.swapaxes(-1, -2)
    ds = p * dp - p * (p * dp).sum(axis=-1, keepdims=True)
    return c * (ds @ k), ds.swapaxes(-1, -2) @ (c * q), p.swapaxes(-1, -2) @ do


RIGHT = [
    query_by_query,
    by_jacobian,
    as_a_list_of_lists,
    in_torch,
    along_flattened_batches,
    scale_on_the_queries,
    lambda *x: pairs.broken("", *x),
]


@pytest.mark.parametrize("answer", RIGHT)
def test_right_answers_written_differently(answer):
    assert check_attention_backward(answer)


# --- attention_backward: wrong ---------------------------------------------------------------

NAMED = {
    "no scale": "and again in dq and dk",
    "scores not scaled": "scores are not divided",
    "scale twice": "scaled twice",
    "dk not scaled": "dk lacks the factor",
    "dq not scaled": "dq lacks the factor",
    "no delta": "subtract each row's delta",
    "plain mean": "not the plain mean",
    "one delta": "its own delta",
    "delta of columns": "not over the queries",
    "no p": "multiply it by p",
    "sign": "turned round",
    "dk reshaped": "dk needs ds transposed",
    "dv reshaped": "dv needs p transposed",
    "ones for do": "You left do out",
    "mask ignored": "The mask is ignored",
    "polarity": "polarity of the mask",
    "zeroed after": "Hide before the softmax",
    "minus 1e9": "large finite number",
    "nan": "became NaN",
    "no maximum": "exp overflows",
    "dq and dk swapped": "dq is made from the keys",
    "not transposed": "",
    "dk scaled twice": "dk is scaled twice",
    "dq too long": "",
    "d_v": "",
    "last key": "",
}


@pytest.mark.parametrize("how", NAMED)
def test_wrong_answers_that_people_give(how):
    assert_rejected(check_attention_backward, lambda *x: pairs.broken(how, *x), NAMED[how])


EDITS = {  # of the worked solution: the cause is named for these too
    "lacks the factor": ("return scale * ds @ k", "return ds @ k"),
    "dk is scaled twice": ("scale * ds.swapaxes", "scale**2 * ds.swapaxes"),
    "not by d_v": ("scale = q.shape", "scale = v.shape"),
    "polarity of the mask": ("np.where(mask, s, -np.inf)", "np.where(mask, -np.inf, s)"),
    "The mask is ignored": ("if mask is not None", "if False"),
    "large finite number": ("np.where(mask, s, -np.inf)", "np.where(mask, s, -1e9)"),
}


@pytest.mark.parametrize("words", EDITS)
def test_one_slip_in_the_worked_solution_is_named(words):
    names = {"np": np}
    exec(inspect.getsource(attention_backward).replace(*EDITS[words]), names)
    assert_rejected(check_attention_backward, names["attention_backward"], words)


def in_place(q, k, v, do, mask=None):
    right = attention_backward(q, k, v, do, mask)
    do *= 0
    return right


def kept_by_shape(q, k, v, do, mask=None, kept={}):  # noqa: B006
    key = (q.shape, k.shape, v.shape, np.shape(mask))
    return kept.setdefault(key, attention_backward(q, k, v, do, mask))


def two_axes_only(q, k, v, do, mask=None):
    c = q.shape[-1] ** -0.5
    p = weights(q, k, mask)
    dp = do @ v.swapaxes(-1, -2)
    ds = p * (dp - (p * dp).sum(axis=1, keepdims=True))
    return c * ds @ k, c * ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ do


def square_mask_only(q, k, v, do, mask=None):
    if mask is not None and mask.ndim == 1:
        mask = None
    return attention_backward(q, k, v, do, mask)


def nan_to_zero_at_the_end(q, k, v, do, mask=None):
    return tuple(np.nan_to_num(g) for g in pairs.broken("nan", q, k, v, do, mask))


SLY = {
    "in place": in_place,
    "kept by shape": kept_by_shape,
    "two axes only": two_axes_only,
    "square mask only": square_mask_only,
    "NaN to 0 at the end": nan_to_zero_at_the_end,
    "float32 inside": lambda q, k, v, do, mask=None: tuple(
        g.astype(float) for g in attention_backward(*(x.astype("f4") for x in (q, k, v, do)), mask)
    ),
    "six decimals": lambda *x: tuple(g.round(6) for g in attention_backward(*x)),
    "first batch": lambda q, k, v, do, mask=None: tuple(
        np.broadcast_to(g[:1], g.shape) if g.ndim > 2 else g
        for g in attention_backward(q, k, v, do, mask)
    ),
    "another order": lambda *x: attention_backward(*x)[::-1],
    "squeezed": lambda *x: tuple(np.squeeze(g) for g in attention_backward(*x)),
    "dq alone": lambda *x: attention_backward(*x)[0],
    "clipped scores": lambda q, k, v, do, mask=None: attention_backward(
        np.clip(q, -50, 50), k, v, do, mask
    ),
    "small weights dropped": lambda q, k, v, do, mask=None: tuple(
        np.where(abs(g) < 1e-4, 0, g) for g in attention_backward(q, k, v, do, mask)
    ),
}


@pytest.mark.parametrize("name", SLY)
def test_answers_that_are_nearly_right(name):
    assert check_attention_backward(SLY[name]).status == "wrong"
