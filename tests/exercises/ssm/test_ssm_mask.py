"""The mask with soft edges: right answers pass, wrong ones do not and are told why.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.ssm import check_decay_mask
from attention_src.linear.reference_parts import decay_between


# The worked solution, in the words of the chapter.
def decay_mask(log_a):
    n = log_a.shape[-1]
    i, j = np.arange(n)[:, None], np.arange(n)
    later = np.where(j < i, log_a[..., :, None], 0)  # [..., n, n]
    return np.where(j <= i, np.exp(np.cumsum(later, axis=-2)), 0)


def test_worked_solution_and_stub():
    assert_worked("ssm", check_decay_mask, decay_mask)


# --- right -------------------------------------------------------------------------------------


def with_loops(log_a):
    n = log_a.shape[-1]
    L = np.zeros((*log_a.shape, n))
    for i in range(n):
        for j in range(i + 1):
            L[..., i, j] = np.exp(log_a[..., j + 1 : i + 1].sum(axis=-1))
    return L


def row_by_row(log_a):
    """Each row is the one before it, faded, with a 1 on the diagonal."""
    a, n = np.exp(log_a), log_a.shape[-1]
    L = np.zeros((*log_a.shape, n))
    for i in range(n):
        if i:
            L[..., i, :] = a[..., i, None] * L[..., i - 1, :]
        L[..., i, i] = 1
    return L


def products(log_a):
    n = log_a.shape[-1]
    i, j = np.arange(n)[:, None], np.arange(n)
    later = np.where(j < i, np.exp(log_a)[..., :, None], 1)
    return np.tril(np.cumprod(later, axis=-2))


def column_by_column(log_a):
    n = log_a.shape[-1]
    L = np.zeros((*log_a.shape, n))
    for j in range(n):
        L[..., j, j] = 1
        L[..., j + 1 :, j] = np.exp(np.cumsum(log_a[..., j + 1 :], axis=-1))
    return L


def one_sum(log_a):
    """A product of three axes: t in j + 1 ... i."""
    n = log_a.shape[-1]
    i, j, t = np.ogrid[:n, :n, :n]
    between = np.where((t > j) & (t <= i), log_a[..., None, None, :], 0)
    return np.where((j <= i)[..., 0], np.exp(between.sum(axis=-1)), 0)


def in_torch(log_a):
    torch = pytest.importorskip("torch")
    n, log_a = log_a.shape[-1], torch.as_tensor(log_a)
    low = torch.ones(n, n, dtype=torch.bool).tril(-1)
    later = torch.where(low, log_a[..., :, None], 0.0).cumsum(-2)
    return later.exp().tril()


RIGHT = {
    "worked solution": decay_mask,
    "loops": with_loops,
    "rows": row_by_row,
    "products": products,
    "columns": column_by_column,
    "one sum": one_sum,
    "torch": in_torch,
    "package": lambda log_a: decay_between(log_a[..., None])[..., 0],
    "lists": lambda log_a: decay_mask(log_a).tolist(),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_decay_mask(RIGHT[name]).status == "passed"


# --- wrong -------------------------------------------------------------------------------------


def difference(log_a):
    c = log_a.cumsum(axis=-1)
    return np.tril(np.exp(c[..., :, None] - c[..., None, :]))


def patched(log_a):
    """The difference, with NaN replaced."""
    return np.nan_to_num(difference(log_a))


def finite(log_a):
    """-inf replaced by a large number: later digits are lost."""
    c = np.maximum(log_a, -1e30).cumsum(axis=-1)
    return np.where(np.tri(log_a.shape[-1], dtype=bool), np.exp(c[..., :, None] - c[..., None]), 0)


def small_finite(log_a):
    return difference(np.maximum(log_a, -12.0))


def exclusive(log_a):
    c = log_a.cumsum(axis=-1) - log_a
    return np.tril(np.exp(c[..., :, None] - c[..., None, :]))


def with_own_gate(log_a):
    return decay_mask(log_a) * np.exp(log_a)[..., None, :]


def zero_diagonal(log_a):
    """The diagonal is 0 where a document begins."""
    L = decay_mask(log_a)
    n = np.arange(log_a.shape[-1])
    L[..., n, n] = np.where(np.isneginf(log_a), 0, 1)
    return L


def two_axes(log_a):
    """Right for one text only."""
    return decay_mask(log_a) if log_a.ndim == 1 else decay_mask(log_a[:1] + 0 * log_a)


WRONG = {
    "difference": (difference, "subtract two running sums"),
    "difference, patched": (patched, ""),
    "made finite": (finite, ""),
    "made finite, small": (small_finite, ""),
    "exclusive sums": (exclusive, ""),
    "own gate": (with_own_gate, "does not pass its own gate"),
    "last left out": (
        lambda log_a: decay_mask(np.concatenate([log_a[..., :1], log_a[..., :-1]], axis=-1)),
        "",
    ),
    "transposed": (lambda log_a: decay_mask(log_a).swapaxes(-1, -2), "Rows are i"),
    "all ones above": (
        lambda log_a: np.where(np.tri(log_a.shape[-1], dtype=bool), decay_mask(log_a), 1),
        "later tokens",
    ),
    "no exp": (lambda log_a: np.log(decay_mask(log_a)), "Take exp"),
    "no triangle": (lambda log_a: np.exp(log_a[..., None, :] + 0 * log_a[..., :, None]), ""),
    "one step only": (
        lambda log_a: np.tril(
            np.exp(np.where(np.eye(log_a.shape[-1]), 0, np.maximum(log_a, -1e300)[..., :, None]))
        ),
        "",
    ),
    "zero diagonal": (zero_diagonal, ""),
    "one text": (two_axes, ""),
    "squeezed": (lambda log_a: decay_mask(log_a).squeeze(), "shape"),
    "float32": (lambda log_a: decay_mask(log_a.astype(np.float32)).astype(float), ""),
    "boolean": (lambda log_a: np.tri(log_a.shape[-1]) + 0 * np.exp(log_a)[..., None], ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_decay_mask, answer, spoken_of)
