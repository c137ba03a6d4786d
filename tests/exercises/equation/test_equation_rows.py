"""Attention a few queries at a time, and the ladder on shapes."""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.equation import check_attention_by_rows, check_shapes


# The worked solution, in the words of the chapter.
def my_attention_by_rows(q, k, v, rows):
    o = np.empty((len(q), v.shape[1]))
    for i in range(0, len(q), rows):
        s = q[i : i + rows] @ k.T * q.shape[1] ** -0.5  # (rows, n_k)
        e = np.exp(s - s.max(axis=1, keepdims=True))
        o[i : i + rows] = e @ v / e.sum(axis=1, keepdims=True)
    return o


def whole(q, k, v, rows=None):
    s = q @ k.T / np.sqrt(q.shape[1])
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) @ v


def joined(q, k, v, rows):
    return np.concatenate([whole(q[i : i + rows], k, v) for i in range(0, len(q), rows)])


def one_by_one(q, k, v, rows):
    return np.array([whole(row[None], k, v)[0] for row in q])


def from_the_end(q, k, v, rows):
    o = np.zeros((len(q), v.shape[1]))
    for end in range(len(q), 0, -rows):
        here = slice(max(0, end - rows), end)
        o[here] = whole(q[here], k, v)
    return o


def split(q, k, v, rows):
    return np.vstack([whole(part, k, v) for part in np.split(q, range(rows, len(q), rows))])


def recursive(q, k, v, rows):
    if len(q) <= rows:
        return whole(q, k, v)
    return np.vstack([whole(q[:rows], k, v), recursive(q[rows:], k, v, rows)])


def keys_and_queries_in_blocks(q, k, v, rows):
    """A running softmax, which the exercise does not ask for."""
    o = np.zeros((len(q), v.shape[1]))
    for i in range(0, len(q), rows):
        m, l, acc = -np.inf, 0.0, 0.0
        for j in range(0, len(k), 64):
            s = q[i : i + rows] @ k[j : j + 64].T / np.sqrt(q.shape[1])
            new = np.maximum(m, s.max(axis=1, keepdims=True))
            e, shrink = np.exp(s - new), np.exp(m - new)
            l, acc, m = l * shrink + e.sum(1, keepdims=True), acc * shrink + e @ v[j : j + 64], new
        o[i : i + rows] = acc / l
    return o


RIGHT = [joined, one_by_one, from_the_end, split, recursive, keys_and_queries_in_blocks]


@pytest.mark.parametrize("answer", RIGHT)
def test_right_answers_pass(answer):
    assert check_attention_by_rows(answer).status == "passed"


def test_worked_solution_and_stub():
    assert_worked("equation", check_attention_by_rows, my_attention_by_rows)


def by_blocks(f):
    """An answer from a function of one block of queries, and of where it begins."""

    def answer(q, k, v, rows):
        o = np.zeros((len(q), v.shape[1]))
        for i in range(0, len(q), rows):
            o[i : i + rows] = f(q[i : i + rows], k, v, i, rows)
        return o

    return answer


def softmax(s, axis=-1):
    e = np.exp(s - s.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def rest_lost(q, k, v, rows):
    o = np.zeros((len(q), v.shape[1]))
    for i in range(len(q) // rows):
        here = slice(i * rows, (i + 1) * rows)
        o[here] = whole(q[here], k, v)
    return o


def own_keys(q, k, v, rows):
    o = np.zeros((len(q), v.shape[1]))
    for i in range(0, len(q), rows):
        here = slice(i, i + rows)
        if len(k[here]):
            o[here] = whole(q[here], k[here], v[here])
    return o


def keys_cut(q, k, v, rows):
    return sum(whole(q, k[j : j + rows], v[j : j + rows]) for j in range(0, len(k), rows))


def keys_cut_and_averaged(q, k, v, rows):
    starts = range(0, len(k), rows)
    return sum(whole(q, k[j : j + rows], v[j : j + rows]) for j in starts) / len(starts)


def no_shift(q, k, v, i, rows):
    e = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    return e / e.sum(axis=1, keepdims=True) @ v


def one_maximum(q, k, v, i, rows):
    s = q @ k.T / np.sqrt(q.shape[1])
    e = np.exp(s - s.max())
    return e / e.sum(axis=1, keepdims=True) @ v


def at_least_0(q, k, v, i, rows):
    s = q @ k.T / np.sqrt(q.shape[1])
    e = np.exp(s - np.maximum(s.max(axis=1, keepdims=True), 0))
    return e / e.sum(axis=1, keepdims=True) @ v


def table_kept(q, k, v, rows):
    p = [softmax(q[i : i + rows] @ k.T / np.sqrt(q.shape[1])) for i in range(0, len(q), rows)]
    return np.concatenate(p) @ v


def in_place(q, k, v, rows):
    q /= np.sqrt(q.shape[1])
    return joined(q * np.sqrt(q.shape[1]), k, v, rows)


WRONG = {
    "the table at once": (whole, "MB of memory"),
    "the table kept": (table_kept, "MB of memory"),
    "rest lost": (rest_lost, "The last block is shorter"),
    "own keys": (own_keys, "You cut the keys as well"),
    "keys cut": (keys_cut, "Cut the queries"),
    "keys cut and averaged": (keys_cut_and_averaged, ""),
    "over the block": (
        by_blocks(lambda q, k, v, i, rows: softmax(q @ k.T / np.sqrt(q.shape[1]), 0) @ v),
        "own budget",
    ),
    "not scaled": (by_blocks(lambda q, k, v, i, rows: softmax(q @ k.T) @ v), "not divided"),
    "scaled by rows": (
        by_blocks(lambda q, k, v, i, rows: softmax(q @ k.T / np.sqrt(len(q))) @ v),
        "",
    ),
    "past only": (
        by_blocks(lambda q, k, v, i, rows: whole(q, k[: i + rows], v[: i + rows])),
        "",
    ),
    "no shift": (by_blocks(no_shift), ""),
    "one maximum": (by_blocks(one_maximum), ""),
    "maximum of at least 0": (by_blocks(at_least_0), ""),
    "order": (
        lambda q, k, v, rows: joined(q[::-1], k, v, rows)[::-1][: len(q) - 1],
        "shape",
    ),
    "blocks turned": (
        lambda q, k, v, rows: np.concatenate(
            [whole(q[i : i + rows], k, v) for i in range(0, len(q), rows)][::-1]
        ),
        "opposite order",
    ),
    "a list of blocks": (
        lambda q, k, v, rows: [whole(q[i : i + rows], k, v) for i in range(0, len(q), rows)],
        "",
    ),
    "in place": (in_place, "in place"),
    "first block for all": (by_blocks(lambda q, k, v, i, rows: whole(q, k, v)[:1]), ""),
    "float32": (
        lambda q, k, v, rows: joined(*(x.astype("f4") for x in (q, k, v)), rows).astype(float),
        "",
    ),
    "at most 1,024 queries": (
        lambda q, k, v, rows: np.vstack([joined(q[:1024], k, v, rows), 0 * v[: len(q[1024:])]]),
        "",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    assert_rejected(check_attention_by_rows, *WRONG[name])


# --- the ladder --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [tuple, list, np.array])
def test_shapes_in_several_forms(form):
    shapes = [form(x) for x in ((6, 9), (6, 7), (12, 7), (2, 3, 4, 9))]
    assert check_shapes(*shapes, 1188.0, np.float64(1)).status == "passed"


@pytest.mark.parametrize(
    ("rung", "answer", "words"),
    [
        ("a", (9, 6), "Transposed"),
        ("a", (4, 4), "it is gone"),
        ("a", (6, 6), "equally many"),
        ("a", 54, "Expected"),
        ("b", (9, 7), "Who asks"),
        ("b", (6, 4), "as wide as"),
        ("b", (6, 9), "shape of the weights"),
        ("c", (12, 4), "whatever d_k is"),
        ("c", (7, 12), "x @ w_v"),
        ("d", (4, 9, 3, 2), "all four axes"),
        ("d", (2, 3, 9, 4), "wrong axis"),
        ("e", 594, "here they are two"),
        ("e", 432, "first product"),
        ("e", 864, "rows have 7"),
        ("e", 1134, "Yours: 1134"),
        ("e", 1187, "Yours: 1187"),
        ("f", 0.5, "takes 2 bytes"),
        ("f", 1 / 32, "There are 32"),
        ("f", 4, "float64"),
        ("f", 2, "float32"),
    ],
)
def test_a_wrong_rung_gets_its_reply(rung, answer, words):
    assert_rejected(lambda value: check_shapes(**{rung: value}), answer, words)
