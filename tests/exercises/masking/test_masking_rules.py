"""The checks of the masks that a learner builds: packed documents, a window with sinks.

In the tables of wrong answers: name, code, what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.attention import masks
from attention_src.exercises.masking import check_packed_causal_mask, check_window_mask


# The worked solutions, in the words of the chapter.
def my_packed_causal_mask(document_ids):
    ids = np.asarray(document_ids)
    same_document = ids[:, None] == ids[None, :]
    return same_document & np.tri(len(ids), dtype=bool)


def my_window_mask(n_q, n_k, window, sinks):
    position = np.arange(n_q)[:, None] + n_k - n_q
    key = np.arange(n_k)[None, :]
    in_window = key > position - window
    return (key <= position) & (in_window | (key < sinks))


packed, window_mask = my_packed_causal_mask, my_window_mask


def tri(ids, k=0):
    return np.tri(len(ids), k=k, dtype=bool)


def square(ids):
    return np.zeros((len(ids), len(ids)), dtype=bool)


# --- packed documents --------------------------------------------------------------------------


def one_hot(ids):
    codes = np.eye(len(ids), dtype=bool)[np.unique(ids, return_inverse=True)[1]]
    return np.tril(codes @ codes.T)


def document_by_document(ids):
    mask = square(ids)
    for name in set(ids.tolist()):
        mask[np.ix_(ids == name, ids == name)] = True
    return np.tril(mask)


def token_by_token(ids):
    mask = square(ids)
    for i in range(len(ids)):
        mask[i, : i + 1] = ids[: i + 1] == ids[i]
    return mask


RIGHT_PACKED = {
    "worked solution": packed,
    "package": lambda ids: masks.document_mask(ids) & masks.causal_mask(len(ids)),
    "one-hot": one_hot,
    "document by document": document_by_document,
    "token by token": token_by_token,
    "lists": lambda ids: [
        [i >= j and a == b for j, b in enumerate(ids)] for i, a in enumerate(ids)
    ],
    "differences": lambda ids: np.tril(np.subtract.outer(ids, ids) == 0),
    "times": lambda ids: np.equal.outer(ids, ids) * tri(ids),
}


def in_one_piece(ids):
    return packed(np.cumsum(np.append(0, np.diff(ids) != 0)))


def by_counts(ids):
    mask, start = square(ids), 0
    for count in np.unique(ids, return_counts=True)[1]:
        mask[start : start + count, start : start + count] = np.tri(count)
        start += count
    return mask


def first_to_last(ids):
    mask = square(ids)
    for name in set(ids.tolist()):
        first, last = np.flatnonzero(ids == name)[[0, -1]]
        mask[first : last + 1, first : last + 1] = np.tri(last + 1 - first)
    return mask


def ids_from_0(ids):
    mask = square(ids)
    for name in range(min(int(ids.max()) + 1, 1000)):
        mask[np.ix_(ids == name, ids == name)] = True
    return np.tril(mask)


def shifted_in_place(ids):
    ids -= ids.min()
    return packed(ids)


WRONG_PACKED = {
    "wrong polarity": (lambda ids: ~packed(ids), "swapped"),
    "ids without causal": (masks.document_mask, "later tokens of its own document"),
    "causal without ids": (tri, "Compare the ids as well"),
    "upper triangle": (lambda ids: packed(ids).T, "transposed"),
    "strictly before": (lambda ids: packed(ids) & tri(ids, -1), "off by one"),
    "one too many": (lambda ids: masks.document_mask(ids) & tri(ids, 1), ""),
    "or": (lambda ids: masks.document_mask(ids) | tri(ids), "use &"),
    "ids as numbers in order": (lambda ids: (ids <= ids[:, None]) & tri(ids), "ids are names"),
    "additive": (lambda ids: masks.to_additive(packed(ids), np.float64), "additive mask"),
    "numbers": (lambda ids: packed(ids) * 1, "dtype bool"),
    "in one piece": (in_one_piece, "wherever the id changes"),
    "modulo": (lambda ids: packed(ids % (2**31 - 1)), ""),
    "by counts": (by_counts, ""),
    "first to last": (first_to_last, "take turns"),
    "ids from 0": (ids_from_0, ""),
    "one-hot of the id": (lambda ids: packed(np.eye(5)[ids].argmax(1)), ""),
    "floats": (lambda ids: packed(ids.astype(float)), "float64 cannot tell apart"),
    "nearly equal": (lambda ids: np.isclose(ids, ids[:, None]) & tri(ids), "float64"),
    "without signs": (lambda ids: packed(abs(ids)), ""),
    "negative is padding": (lambda ids: packed(ids) & (ids >= 0), ""),
    "sorted": (lambda ids: packed(np.sort(ids)), ""),
    "in place": (shifted_in_place, "in place"),
    "64 tokens back": (lambda ids: packed(ids) & ~tri(ids, -64), ""),
    "four axes": (lambda ids: packed(ids)[None, None], "shape"),
}


# --- a window with sinks -----------------------------------------------------------------------


def grid(n_q, n_k):
    """Positions of the queries, as a column, and of the keys, as a row."""
    return np.arange(n_k - n_q, n_k)[:, None], np.arange(n_k)[None, :]


def by_slices(n_q, n_k, window, sinks):
    mask = np.zeros((n_q, n_k), dtype=bool)
    for i, position in enumerate(range(n_k - n_q, n_k)):
        mask[i, max(0, position - window + 1) : position + 1] = True
        mask[i, : min(sinks, position + 1)] = True
    return mask


def by_triangles(n_q, n_k, window, sinks):
    causal = np.tri(n_q, n_k, n_k - n_q, dtype=bool)
    old = np.tri(n_q, n_k, n_k - n_q - window, dtype=bool)
    return causal & (~old | (np.arange(n_k) < sinks))


def by_loops(n_q, n_k, window, sinks):
    return [
        [j <= t and (t - j < window or j < sinks) for j in range(n_k)]
        for t in range(n_k - n_q, n_k)
    ]


RIGHT_WINDOW = {
    "worked solution": window_mask,
    "package": masks.window_mask,
    "slices": by_slices,
    "triangles": by_triangles,
    "loops": by_loops,
    "last rows": lambda n_q, n_k, w, s: window_mask(n_k, n_k, w, s)[n_k - n_q :],
    "what is not hidden": lambda n_q, n_k, w, s: (
        ~(
            np.triu(np.ones((n_q, n_k), bool), n_k - n_q + 1)
            | (np.tri(n_q, n_k, n_k - n_q - w, dtype=bool) & (np.arange(n_k) >= s))
        )
    ),
}


def top_left(n_q, n_k, window, sinks):
    i, j = np.arange(n_q)[:, None], np.arange(n_k)[None, :]
    return (j <= i) & ((i - j < window) | (j < sinks))


def rule(visible):
    """A mask from a rule of the position t, the key j, the window and the sinks."""
    return lambda n_q, n_k, w, s: visible(*grid(n_q, n_k), w, s)


def negative_slices(n_q, n_k, window, sinks):
    mask = np.zeros((n_q, n_k), dtype=bool)
    for i, t in enumerate(range(n_k - n_q, n_k)):
        mask[i, t - window + 1 : t + 1] = True
        mask[i, : min(sinks, t + 1)] = True
    return mask


WRONG_WINDOW = {
    "wrong polarity": (lambda *a: ~window_mask(*a), "swapped"),
    "top-left": (top_left, "top-left alignment"),
    "off by one, wide": (rule(lambda t, j, w, s: (j <= t) & ((t - j <= w) | (j < s))), "+ 1 keys"),
    "off by one, narrow": (lambda q, k, w, s: window_mask(q, k, w - 1, s), "window - 1 keys"),
    "not causal": (rule(lambda t, j, w, s: (abs(t - j) < w) | (j < s)), "into the future"),
    "sinks from the future": (
        rule(lambda t, j, w, s: ((j <= t) & (t - j < w)) | (j < s)),
        "before they were written",
    ),
    "sinks forgotten": (lambda q, k, w, s: window_mask(q, k, w, 0), "forgot the sinks"),
    "sink too many": (rule(lambda t, j, w, s: (j <= t) & ((t - j < w) | (j <= s))), "off by one"),
    "sinks at the end": (lambda q, k, w, s: window_mask(q, k, w, s)[:, ::-1], ""),
    "window counts after the sinks": (lambda q, k, w, s: window_mask(q, k, w + s, s), ""),
    "plain causal": (lambda q, k, w, s: masks.causal_mask(q, k), "left the window"),
    "window and sinks swapped": (lambda q, k, w, s: window_mask(q, k, s, w), ""),
    "queries and keys swapped": (lambda q, k, w, s: window_mask(k, q, w, s), ""),
    "square": (lambda q, k, w, s: window_mask(k, k, w, s), "shape"),
    "first rows": (lambda q, k, w, s: window_mask(k, k, w, s)[:q], "top-left alignment"),
    "own key hidden": (rule(lambda t, j, w, s: (j < t) & ((t - j <= w) | (j < s))), ""),
    "additive": (lambda *a: masks.to_additive(window_mask(*a), np.float64), "additive mask"),
    "numbers": (lambda *a: window_mask(*a).astype(float), "dtype bool"),
    "transposed": (lambda *a: window_mask(*a).T, "transposed"),
    "lost axis": (lambda *a: window_mask(*a).squeeze(), "shape"),
    "negative slices": (negative_slices, ""),
    "window at most n_q": (lambda q, k, w, s: window_mask(q, k, min(w, q), s), ""),
    "at most 4 sinks": (lambda q, k, w, s: window_mask(q, k, w, min(s, 4)), ""),
    "tiles of 64": (lambda q, k, w, s: window_mask(q, k, w, s) & ~np.tri(q, k, k - q - 64) > 0, ""),
}


SOLUTIONS = {my_packed_causal_mask: check_packed_causal_mask, my_window_mask: check_window_mask}


@pytest.mark.parametrize("solution", SOLUTIONS)
def test_worked_solutions_and_stubs(solution):
    assert_worked("masking", SOLUTIONS[solution], solution)


RIGHT = [(check_packed_causal_mask, answer) for answer in RIGHT_PACKED.values()]
RIGHT += [(check_window_mask, answer) for answer in RIGHT_WINDOW.values()]
WRONG = [(check_packed_causal_mask, *wrong) for wrong in WRONG_PACKED.values()]
WRONG += [(check_window_mask, *wrong) for wrong in WRONG_WINDOW.values()]


@pytest.mark.parametrize(("check", "answer"), RIGHT)
def test_right_answers_pass(check, answer):
    assert check(answer).status == "passed"


@pytest.mark.parametrize(("check", "answer", "spoken_of"), WRONG)
def test_wrong_answers_are_rejected_and_named(check, answer, spoken_of):
    assert_rejected(check, answer, spoken_of)
