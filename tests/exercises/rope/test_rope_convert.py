"""Converting weights: right answers pass, wrong ones do not and are named.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.rope import check_to_half_split
from attention_src.rope import reference


# The worked solution, in the words of the chapter.
def to_half_split(w, n_heads):
    rows, columns = w.shape
    pairs = w.reshape(rows, n_heads, columns // n_heads // 2, 2)
    return pairs.swapaxes(-1, -2).reshape(rows, columns)


def test_worked_solution_and_stub():
    assert_worked("rope", check_to_half_split, to_half_split)


def convert_by_loops(w, n_heads):
    d = w.shape[1] // n_heads
    out = np.empty_like(w)
    for h in range(n_heads):
        for i in range(d // 2):
            out[:, h * d + i] = w[:, h * d + 2 * i]
            out[:, h * d + d // 2 + i] = w[:, h * d + 2 * i + 1]
    return out


def convert_by_heads(w, n_heads):
    parts = [np.hstack([p[:, ::2], p[:, 1::2]]) for p in np.split(w, n_heads, axis=1)]
    return np.hstack(parts)


def convert_order(w, n_heads):
    d = w.shape[1] // n_heads
    order = reference.half_split_order(d)
    return np.concatenate([h * d + order for h in range(n_heads)])


def convert_by_order(w, n_heads):
    return w[:, convert_order(w, n_heads)]


def convert_by_matrix(w, n_heads):
    d = w.shape[1] // n_heads
    return w @ np.kron(np.eye(n_heads), np.eye(d)[:, reference.half_split_order(d)])


def convert_in_torch(w, n_heads):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(w).unflatten(1, (n_heads, -1, 2)).mT.flatten(1)


RIGHT = {
    "worked solution": to_half_split,
    "loops": convert_by_loops,
    "by heads": convert_by_heads,
    "by order": convert_by_order,
    "permutation matrix": convert_by_matrix,
    "torch": convert_in_torch,
    "einsum": lambda w, h: np.einsum("rhic->rhci", w.reshape(len(w), h, -1, 2)).reshape(w.shape),
    "lists": lambda w, h: convert_by_heads(w, h).tolist(),
}


def way_back(w, n_heads):
    pairs = w.reshape(len(w), n_heads, 2, -1)
    return pairs.swapaxes(-1, -2).reshape(w.shape)


def convert_in_place(w, n_heads):
    w[...] = to_half_split(w.copy(), n_heads)
    return w


WRONG = {
    "way back": (way_back, "This is the way back"),
    "one head": (lambda w, h: to_half_split(w, 1), "as one head"),
    "rows": (
        lambda w, h: np.concatenate([w[::2], w[1::2]]) if len(w) > 1 else w.copy(),
        "",
    ),
    "n_heads as width": (lambda w, h: convert_by_heads(w, w.shape[1] // h), "width n_heads"),
    "nothing": (lambda w, h: w.copy(), "Nothing moved"),
    "odd first": (
        lambda w, h: np.hstack(
            [np.hstack([p[:, 1::2], p[:, ::2]]) for p in np.split(w, h, axis=1)]
        ),
        "odd components came first",
    ),
    "transposed": (lambda w, h: to_half_split(w, h).T, ""),
    "halves swapped": (
        lambda w, h: np.roll(w.reshape(len(w), h, 2, -1), 1, axis=2).reshape(w.shape),
        "",
    ),
    "reversed": (lambda w, h: to_half_split(w, h)[:, ::-1], ""),
    "heads apart": (lambda w, h: to_half_split(w, h).reshape(len(w), h, -1), "shape"),
    "first head alone": (
        lambda w, h: np.hstack(
            [to_half_split(w[:, : w.shape[1] // h], 1), w[:, w.shape[1] // h :]]
        ),
        "",
    ),
    "heads mixed": (
        lambda w, h: w.reshape(len(w), -1, h, 2).transpose(0, 2, 3, 1).reshape(w.shape),
        "",
    ),
    "twice": (lambda w, h: to_half_split(to_half_split(w, h), h), ""),
    "float32": (lambda w, h: to_half_split(w, h).astype(np.float32), "float32 cannot hold"),
    "in place": (convert_in_place, "in place"),
    "places in 8 bits": (lambda w, h: w[:, convert_order(w, h).astype(np.uint8)], "width 128"),
    "width of four": (
        lambda w, h: to_half_split(w, h) if w.shape[1] == 4 * h else w.copy(),
        "",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_to_half_split(RIGHT[name]).status == "passed"


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    assert_rejected(check_to_half_split, *WRONG[name])
