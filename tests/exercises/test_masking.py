"""The checks of the chapter on masking: the worked solutions pass, the usual mistakes do not."""

from pathlib import Path

import numpy as np
import pytest
import torch
from worked import assert_rejected, assert_worked

from attention_src.attention import masks
from attention_src.exercises.masking import (
    check_masked_softmax,
    check_packed_causal_mask,
    check_window_mask,
)

CHAPTER = Path(__file__).parents[2] / "book" / "masking.md"


# The worked solutions, in the words of the chapter.
def my_masked_softmax(scores, mask):
    s = np.where(mask, scores, -np.inf)
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(m == -np.inf, 0, m))
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l == 0, 1, l)


def my_packed_causal_mask(document_ids):
    ids = np.asarray(document_ids)
    same_document = ids[:, None] == ids[None, :]
    return same_document & np.tri(len(ids), dtype=bool)


def my_window_mask(n_q, n_k, window, sinks):
    position = np.arange(n_q)[:, None] + n_k - n_q
    key = np.arange(n_k)[None, :]
    in_window = key > position - window
    return (key <= position) & (in_window | (key < sinks))


SOLUTIONS = {
    my_masked_softmax: check_masked_softmax,
    my_packed_causal_mask: check_packed_causal_mask,
    my_window_mask: check_window_mask,
}


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


# Wrong answers as learners write them: name, code, what the message must speak of.
def write_minus_infinity(scores, mask):
    scores[~np.broadcast_to(mask, scores.shape)] = -np.inf
    return my_masked_softmax(scores, mask)


def multiply_in_place(scores, mask):
    w = my_masked_softmax(scores, mask)
    mask *= False
    return w


def exp_without_shift(scores, mask):
    e = np.where(mask, np.exp(scores), 0)
    l = e.sum(axis=-1, keepdims=True)
    return np.where(l > 0, e / l, 0)


def shift_by_all(scores, mask):
    e = np.where(mask, np.exp(scores - scores.max(axis=-1, keepdims=True)), 0.0)
    total = e.sum(axis=-1, keepdims=True)
    return np.where(total == 0, 0, e / total)


def torch_masked(scores, mask):
    hidden = ~torch.as_tensor(mask)
    return torch.softmax(torch.as_tensor(scores).masked_fill(hidden, -torch.inf), dim=-1)


def document_003(scores, mask):
    return softmax(scores + mask * (-1e9))


WRONG_SOFTMAX = {
    "wrong polarity": (lambda s, m: my_masked_softmax(s, ~m), "reversed polarity"),
    "document 003's formula": (document_003, "You hid the keys that the mask allows"),
    "masked after softmax": (lambda s, m: softmax(s) * m, "zeroed after softmax"),
    "scores times mask": (lambda s, m: softmax(s * m), "exp(0) = 1"),
    "nan in an empty row": (torch_masked, "nan in a fully masked row"),
    "uniform empty row": (
        lambda s, m: softmax(np.where(m, s, np.finfo(float).min)),
        "uniform fully masked row",
    ),
    "minus 1e9 added": (lambda s, m: softmax(s + ~m * -1e9), "You added a large finite number"),
    "maximum over hidden keys": (shift_by_all, "maximum that belongs to a hidden key"),
    "no maximum": (exp_without_shift, "Subtract the largest visible score"),
    "scores changed": (write_minus_infinity, "changed its input scores in place"),
    "mask changed": (multiply_in_place, "changed its input mask in place"),
    "columns normalised": (lambda s, m: my_masked_softmax(s.mT, m.mT).mT, "over the queries"),
    "nothing masked": (lambda s, m: softmax(s), "nothing was hidden"),
}


def rows_and_columns(n_q, n_k):
    return np.arange(n_q)[:, None], np.arange(n_k)[None, :]


def window_from_the_top(n_q, n_k, window, sinks):
    i, j = rows_and_columns(n_q, n_k)
    return (j <= i) & ((i - j < window) | (j < sinks))


def window_with_one_more(n_q, n_k, window, sinks):
    i, j = rows_and_columns(n_q, n_k)
    back = i + n_k - n_q - j
    return (back >= 0) & ((back <= window) | (j < sinks))


def window_both_ways(n_q, n_k, window, sinks):
    i, j = rows_and_columns(n_q, n_k)
    return (np.abs(i + n_k - n_q - j) < window) | (j < sinks)


def window_tril_triu(n_q, n_k, window, sinks):
    ones = np.ones((n_q, n_k), dtype=bool)
    mask = np.tril(ones, n_k - n_q) & np.triu(ones, n_k - n_q - window + 1)
    mask[:, :sinks] = True
    return mask


WRONG_WINDOW = {
    "wrong polarity": (lambda *a: ~my_window_mask(*a), "swapped"),
    "top-left": (window_from_the_top, "top-left alignment"),
    "off by one, wide": (window_with_one_more, "window + 1 keys"),
    "off by one, narrow": (
        lambda n_q, n_k, w, s: my_window_mask(n_q, n_k, w - 1, s),
        "window - 1 keys",
    ),
    "not causal": (window_both_ways, "reaches into the future"),
    "sinks from the future": (window_tril_triu, "before they were written"),
    "sinks forgotten": (lambda n_q, n_k, w, s: my_window_mask(n_q, n_k, w, 0), "forgot the sinks"),
    "plain causal": (lambda n_q, n_k, w, s: masks.causal_mask(n_q, n_k), "left the window"),
    "additive": (
        lambda *a: masks.to_additive(my_window_mask(*a), np.float64),
        "additive mask",
    ),
    "numbers": (lambda *a: my_window_mask(*a).astype(float), "dtype bool"),
    "transposed": (lambda *a: my_window_mask(*a).T, "transposed"),
}

WRONG_PACKED = {
    "wrong polarity": (lambda ids: ~my_packed_causal_mask(ids), "swapped"),
    "ids without causal": (masks.document_mask, "later tokens of its own document"),
    "causal without ids": (lambda ids: masks.causal_mask(len(ids)), "Compare the ids as well"),
    "upper triangle": (
        lambda ids: masks.document_mask(ids) & np.triu(np.ones((len(ids), len(ids)), dtype=bool)),
        "transposed",
    ),
    "strictly before": (
        lambda ids: masks.document_mask(ids) & np.tri(len(ids), k=-1, dtype=bool),
        "off by one",
    ),
    "or": (lambda ids: masks.document_mask(ids) | masks.causal_mask(len(ids)), "use &"),
    "ids as numbers in order": (
        lambda ids: (ids[None, :] <= ids[:, None]) & masks.causal_mask(len(ids)),
        "ids are names",
    ),
    "additive": (
        lambda ids: masks.to_additive(my_packed_causal_mask(ids), np.float64),
        "additive mask",
    ),
    "numbers": (lambda ids: my_packed_causal_mask(ids) * 1, "dtype bool"),
}


@pytest.mark.parametrize("solution", SOLUTIONS)
def test_worked_solutions_and_stubs(solution):
    assert_worked("masking", SOLUTIONS[solution], solution)


def test_the_package_passes_its_own_checks():
    assert check_window_mask(masks.window_mask).status == "passed"
    packed = check_packed_causal_mask(
        lambda ids: masks.document_mask(ids) & masks.causal_mask(len(ids))
    )
    assert packed.status == "passed"


def test_torch_answers_are_accepted():
    torch_mask = check_window_mask(lambda *a: torch.from_numpy(my_window_mask(*a)))
    torch_weights = check_masked_softmax(lambda s, m: torch.from_numpy(my_masked_softmax(s, m)))
    assert torch_mask.status == torch_weights.status == "passed"


def cases():
    for check, wrong in (
        (check_masked_softmax, WRONG_SOFTMAX),
        (check_window_mask, WRONG_WINDOW),
        (check_packed_causal_mask, WRONG_PACKED),
    ):
        for name, (answer, spoken_of) in wrong.items():
            yield pytest.param(check, answer, spoken_of, id=f"{check.__name__}: {name}")


@pytest.mark.parametrize("check, answer, spoken_of", list(cases()))
def test_wrong_answer_is_rejected_and_named(check, answer, spoken_of):
    assert_rejected(check, answer, spoken_of)


def test_the_open_exercise_s_solution_holds():
    solution = CHAPTER.read_text().split("````{solution-start} ex:masking-reach")[1]
    exec(solution.split("```python\n")[1].split("```")[0], {"np": np})
