"""Splitting into heads and merging them: right answers pass, wrong ones do not and are named.

In the tables of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.multihead import check_merge_heads, check_split_heads
from attention_src.multihead import reference


# The worked solutions, in the words of the chapter.
def split_heads(x, n_heads):
    d = x.shape[-1] // n_heads
    cut = x.reshape(*x.shape[:-1], n_heads, d)  # [..., n, H, d]
    return cut.swapaxes(-2, -3)


def merge_heads(x):
    H, n, d = x.shape[-3:]
    return x.swapaxes(-2, -3).reshape(*x.shape[:-3], n, H * d)


@pytest.mark.parametrize(
    ("check", "solution"), [(check_split_heads, split_heads), (check_merge_heads, merge_heads)]
)
def test_worked_solutions_and_stubs(check, solution):
    assert_worked("multihead", check, solution)


# --- split -------------------------------------------------------------------------------------


def split_by_loops(x, n_heads):
    d = x.shape[-1] // n_heads
    out = np.zeros((*x.shape[:-2], n_heads, x.shape[-2], d), x.dtype)
    for h in range(n_heads):
        for c in range(d):
            out[..., h, :, c] = x[..., h * d + c]
    return out


def split_in_torch(x, n_heads):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(x).unflatten(-1, (n_heads, -1)).transpose(-2, -3)


def split_by_einsum(x, n_heads):
    cut = x.reshape(*x.shape[:-1], n_heads, -1)
    return np.einsum("...nhd->...hnd", cut)


RIGHT_SPLIT = {
    "worked solution": split_heads,
    "package": reference.split_heads,
    "stacked slices": lambda x, h: np.stack(np.split(x, h, axis=-1), axis=-3),
    "loops": split_by_loops,
    "torch": split_in_torch,
    "einsum": split_by_einsum,
    "by columns": lambda x, h: np.moveaxis(
        np.moveaxis(x, -1, 0).reshape(h, -1, *x.shape[:-1]), (0, 1), (-3, -1)
    ),
    "lists": lambda x, h: split_heads(x, h).tolist(),
}


def split_in_place(x, n_heads):
    out = split_heads(x, n_heads).copy()
    x[...] = 0
    return out


def split_kept_by_shape(x, n_heads, kept={}):  # noqa: B006
    return kept.setdefault((x.shape, n_heads), split_heads(x, n_heads).copy())


WRONG_SPLIT = {
    "reshape alone": (
        lambda x, h: x.reshape(*x.shape[:-2], h, x.shape[-2], -1),
        "cut the tokens into heads",
    ),
    "no swap": (lambda x, h: x.reshape(*x.shape[:-1], h, -1), "Swap the axes of tokens and heads"),
    "interleaved": (
        lambda x, h: np.moveaxis(x.reshape(*x.shape[:-1], -1, h), -1, -3),
        "every H-th column",
    ),
    "width before tokens": (lambda x, h: split_heads(x, h).swapaxes(-1, -2), "[..., H, d, n]"),
    "n_heads as width": (lambda x, h: split_heads(x, x.shape[-1] // h), "width n_heads"),
    "heads in front": (
        lambda x, h: np.moveaxis(x.reshape(*x.shape[:-1], h, -1), -2, 0),
        "in front of the batch",
    ),
    "two axes only": (lambda x, h: x.reshape(len(x), h, -1).swapaxes(0, 1), ""),
    "axes counted from the front": (
        lambda x, h: x.reshape(*x.shape[:-1], h, -1).swapaxes(0, 1),
        "",
    ),
    "transposed": (lambda x, h: x.reshape(*x.shape[:-1], h, -1).T, ""),
    "last head first": (lambda x, h: split_heads(x, h)[..., ::-1, :, :], ""),
    "squeezed": (lambda x, h: split_heads(x, h).squeeze(), "shape"),
    "list of heads": (lambda x, h: np.split(x, h, axis=-1), ""),
    "rounded": (lambda x, h: split_heads(x, h).round(), ""),
    "in place": (split_in_place, "in place"),
    "kept by shape": (split_kept_by_shape, ""),
    "eight heads at most": (lambda x, h: split_heads(x, min(h, 8)), ""),
    "float32": (lambda x, h: split_heads(x, h).astype(np.float32), "float32 cannot hold"),
    "last token lost": (lambda x, h: split_heads(x, h)[..., :-1, :], "shape"),
}


# --- merge -------------------------------------------------------------------------------------


def merge_by_loops(x):
    H, n, d = x.shape[-3:]
    out = np.zeros((*x.shape[:-3], n, H * d), x.dtype)
    for h in range(H):
        out[..., h * d : (h + 1) * d] = x[..., h, :, :]
    return out


def merge_in_torch(x):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(x).transpose(-2, -3).flatten(-2)


RIGHT_MERGE = {
    "worked solution": merge_heads,
    "package": reference.merge_heads,
    "concatenated": lambda x: np.concatenate(np.moveaxis(x, -3, 0), axis=-1),
    "loops": merge_by_loops,
    "torch": merge_in_torch,
    "hstack of transposes": lambda x: np.moveaxis(x, -2, -3).reshape(
        *x.shape[:-3], x.shape[-2], -1
    ),
    "lists": lambda x: merge_heads(x).tolist(),
}


def merge_in_place(x):
    out = merge_heads(x).copy()
    x[...] = 0
    return out


def merge_kept_by_shape(x, kept={}):  # noqa: B006
    return kept.setdefault(x.shape, merge_heads(x).copy())


WRONG_MERGE = {
    "reshape alone": (lambda x: x.reshape(*x.shape[:-3], x.shape[-2], -1), "mixes several tokens"),
    "interleaved": (
        lambda x: np.moveaxis(x, -3, -1).reshape(*x.shape[:-3], x.shape[-2], -1),
        "take turns",
    ),
    "added": (lambda x: x.sum(axis=-3), "W_O does the adding"),
    "mean": (lambda x: x.mean(axis=-3), ""),
    "tokens in a row": (lambda x: x.reshape(*x.shape[:-2], -1), "one row for each token"),
    "not joined": (lambda x: x.swapaxes(-2, -3), "Join the last two axes"),
    "last head first": (lambda x: merge_heads(x[..., ::-1, :, :]), "last head came first"),
    "axes counted from the front": (
        lambda x: x.swapaxes(0, 1).reshape(*x.shape[:-3], x.shape[-2], -1),
        "",
    ),
    "width first": (lambda x: merge_heads(x.swapaxes(-1, -2)), ""),
    "transposed": (lambda x: merge_heads(x).swapaxes(-1, -2), ""),
    "squeezed": (lambda x: merge_heads(x).squeeze(), "shape"),
    "first head": (lambda x: x[..., 0, :, :], ""),
    "in place": (merge_in_place, "in place"),
    "kept by shape": (merge_kept_by_shape, ""),
    "float32": (lambda x: merge_heads(x).astype(np.float32), "float32 cannot hold"),
    "three axes": (lambda x: np.hstack(list(x)), ""),
}

RIGHT = [(check_split_heads, answer) for answer in RIGHT_SPLIT.values()]
RIGHT += [(check_merge_heads, answer) for answer in RIGHT_MERGE.values()]
WRONG = [(check_split_heads, *wrong) for wrong in WRONG_SPLIT.values()]
WRONG += [(check_merge_heads, *wrong) for wrong in WRONG_MERGE.values()]


@pytest.mark.parametrize(("check", "answer"), RIGHT)
def test_right_answers_pass(check, answer):
    assert check(answer).status == "passed"


@pytest.mark.parametrize(("check", "answer", "spoken_of"), WRONG)
def test_wrong_answers_are_rejected_and_named(check, answer, spoken_of):
    assert_rejected(check, answer, spoken_of)
