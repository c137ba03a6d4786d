"""The check of softmax: right answers of every style pass, wrong ones are named or refused."""

import math

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.softmax import check_softmax
from attention_src.softmax import reference


def my_softmax(x):
    x = np.asarray(x, dtype=float)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def by_lists(x):
    def go(part):
        if part.ndim > 1:
            return [go(row) for row in part]
        m = part.max().item()
        e = [math.exp(score - m) for score in part.tolist()]
        total = math.fsum(e)
        return [each / total for each in e]

    return go(np.asarray(x, dtype=float))


def by_torch(x):
    torch = pytest.importorskip("torch")
    return torch.softmax(torch.tensor(np.asarray(x, dtype=float), requires_grad=True), -1)


def row_by_row(x):
    out = np.empty(x.shape)
    for index in np.ndindex(x.shape[:-1]):
        out[index] = my_softmax(x[index])
    return out


def by_einsum(x):
    e = np.exp(np.asarray(x, dtype=float) - np.amax(x, axis=-1)[..., None])
    return np.einsum("...j,...->...j", e, 1 / np.einsum("...j->...", e))


def keys_first(x):
    x = np.moveaxis(np.asarray(x, dtype=float), -1, 0)
    e = np.exp(x - x.max(axis=0))
    return np.moveaxis(e / e.sum(axis=0), 0, -1)


RIGHT = {
    "x minus log-sum-exp": lambda x: np.exp(
        x - reference.log_sum_exp(np.asarray(x, dtype=float))[..., None]
    ),
    "logaddexp": lambda x: np.exp(
        x - np.logaddexp.reduce(np.asarray(x, dtype=float), axis=-1, keepdims=True)
    ),
    "Python lists": by_lists,
    "torch, requiring a gradient": by_torch,
    "row by row": row_by_row,
    "einsum": by_einsum,
    "keys first": keys_first,
    "one long matrix": lambda x: my_softmax(x.reshape(-1, x.shape[-1])).reshape(x.shape),
    "the dtype of x": lambda x: my_softmax(x).astype(x.dtype if x.dtype.kind == "f" else float),
    "longdouble": lambda x: my_softmax(np.asarray(x, dtype=np.longdouble)),
}


def no_shift(x):
    return np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True)


def no_shift_in_lists(x):
    return (np.exp(x) / np.exp(x).sum(-1, keepdims=True)).tolist()


def maximum_of_everything(x):
    e = np.exp(x - np.max(x))
    return e / e.sum(axis=-1, keepdims=True)


def axis_0(x):
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


def axis_1(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def everything_sums_to_one(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def one_sum_for_all_rows(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / np.sum(e)


def unnormalised(x):
    return np.exp(x - x.max(axis=-1, keepdims=True))


def divides_scores(x):
    return x / x.sum(axis=-1, keepdims=True)


def lost_axis(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1)


def in_place(x):
    if x.dtype.kind == "i":
        return my_softmax(x)
    x -= x.max(axis=-1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=-1, keepdims=True)
    return x


def shifts_in_place(x):
    x -= x.max(axis=-1, keepdims=True)
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


def integer_buffer(x):
    out = np.zeros_like(x)
    out[...] = my_softmax(x)
    return out


def logarithms(x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def hardmax(x):
    return (x == x.max(axis=-1, keepdims=True)).astype(float)


def half_precision(x):
    return my_softmax(x).astype(np.float16)


WRONG = {
    no_shift: "no max-shift",
    no_shift_in_lists: "no max-shift",
    maximum_of_everything: "Each row needs its own maximum",
    axis_0: "columns sum to 1 instead of your rows",
    axis_1: "axis=1 is the last axis of a matrix only",
    everything_sums_to_one: "All rows together sum to 1",
    one_sum_for_all_rows: "Each row needs its own sum",
    unnormalised: "no normalisation",
    divides_scores: "Take np.exp of them",
    lost_axis: "Use keepdims=True",
    in_place: "changed its input x in place",
    shifts_in_place: "changed its input x in place",
    integer_buffer: "dtype int64, which cannot hold the digits",
    logarithms: "logarithms of the weights",
    hardmax: "expected = [0.6652 0.2447 0.09",
    half_precision: "dtype float16",
}


def sum_cut_off(x):
    if x.dtype != np.float16:
        return my_softmax(x)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / np.nan_to_num(e.sum(axis=-1, keepdims=True))


def seen():
    """An answer kept for each shape."""
    kept = {}
    return lambda x: kept.setdefault(x.shape, my_softmax(x)).copy()


def one_buffer():
    """The same array returned for each input of one shape."""
    kept = {}

    def answer(x):
        out = kept.setdefault(x.shape, np.empty(x.shape))
        out[...] = my_softmax(x)
        return out

    return answer


def shifted_by(shift, dtype=float):
    def answer(x):
        x = np.asarray(x, dtype=dtype)
        e = np.exp(x - shift(x))
        return e / e.sum(axis=-1, keepdims=True)

    return answer


def every_row(**axes):
    return lambda x: np.max(x, keepdims=True, **axes)


SLY = {
    "one maximum for a matrix": shifted_by(
        lambda x: x.max(axis=(-2, -1) if x.ndim > 1 else -1, keepdims=True)
    ),
    "rows right in 2-D only": lambda x: my_softmax(x) if x.ndim == 2 else shifted_by(np.max)(x),
    "4-D transposed": lambda x: (
        my_softmax(x) if x.ndim < 4 else my_softmax(x.swapaxes(2, 3)).swapaxes(2, 3)
    ),
    "float32 inside": lambda x: shifted_by(every_row(axis=-1), np.float32)(x).astype(float),
    "float32 at the end": lambda x: my_softmax(x).astype(np.float32).astype(float),
    "squeezed": lambda x: np.squeeze(my_softmax(x)),
    "no shift for long rows": lambda x: (
        my_softmax(x) if x.shape[-1] < 1000 else shifted_by(lambda x: 0.0)(x)
    ),
    "shift by the mean": shifted_by(lambda x: x.mean(axis=-1, keepdims=True)),
    "shift by the first": shifted_by(lambda x: x[..., :1]),
    "shift only downwards": shifted_by(lambda x: np.maximum(x.max(axis=-1, keepdims=True), 0)),
    "clipped": lambda x: my_softmax(np.clip(x, -700, 700)),
    "−inf taken for −1000": lambda x: my_softmax(np.where(np.isneginf(x), -1e3, x)),
    "−inf taken for −10^4": lambda x: my_softmax(np.maximum(x, -1e4)),
    "65,504 for an overflowing sum": lambda x: sum_cut_off(x),
    "0 in long rows": lambda x: my_softmax(x) * (x.shape[-1] < 1000 or x.ndim == 1),
    "0 in long rows of float32": lambda x: (
        my_softmax(x) * (x.shape[-1] < 1000 or x.dtype != np.float32)
    ),
    "kept by shape": seen(),
    "one buffer": one_buffer(),
    "rounded": lambda x: np.round(my_softmax(x), 6),
    "a small number added to the sum": lambda x: my_softmax(x) / (1 + 1e-6),
    "masked array": lambda x: np.ma.masked_less(my_softmax(x), 0.1),
    "complex": lambda x: my_softmax(x).astype(complex),
}


def test_the_worked_solution_and_a_stub():
    assert_worked("softmax", check_softmax, my_softmax)


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_written_differently(name):
    assert check_softmax(RIGHT[name]), name


@pytest.mark.parametrize("answer", WRONG, ids=lambda f: f.__name__)
def test_wrong_answers_that_people_give(answer):
    assert_rejected(check_softmax, answer, WRONG[answer])


@pytest.mark.parametrize("name", SLY)
def test_answers_that_are_nearly_right(name):
    assert check_softmax(SLY[name]).status == "wrong", name
