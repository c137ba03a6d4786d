"""The checks of a head's scores: right answers pass, wrong ones do not, and mistakes are named.

The worked solutions are those that the chapter prints; a test compares the two. In the tables of
wrong answers each mutant says which words its message must hold ("" = any message).
"""

import math

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.attention.maps import offset_score
from attention_src.exercises import maps as checks
from attention_src.softmax.reference import entropy_bits


def my_previous_token_score(p):
    i = np.arange(2, p.shape[-1] - 1)  # words with a word before them
    return p[..., i, i - 1].mean(axis=-1)


def my_attention_entropy(p):
    logs = np.log2(np.where(p > 0, p, 1))  # log2(1) = 0: adds nothing
    return -(p * logs).sum(axis=-1).mean(axis=-1)


def each_map(score):
    """Apply a function of one map to each of many."""
    return lambda p: np.array([score(m) for m in p.reshape(-1, *p.shape[-2:])]).reshape(
        p.shape[:-2]
    )


def in_a_loop(p):
    rows = [[-math.fsum(x * math.log2(x) for x in row if x > 0) for row in p]]
    return float(np.mean(rows))


RIGHT = {
    checks.check_previous_token_score: {
        "worked solution": my_previous_token_score,
        "package": lambda p: offset_score(p, -1),
        "loop": lambda p: (
            sum(p[..., i, i - 1] for i in range(2, p.shape[-1] - 1)) / (p.shape[-1] - 3)
        ),
        "diagonal": lambda p: np.diagonal(p, -1, -2, -1)[..., 1:-1].mean(-1),
        "trace": lambda p: np.trace(p[..., 2:-1, 1:-2], axis1=-2, axis2=-1) / (p.shape[-1] - 3),
        "einsum": lambda p: np.einsum("...ii->...i", p[..., 2:-1, 1:-2]).mean(-1),
        "map by map": each_map(lambda m: np.mean([m[i, i - 1] for i in range(2, len(m) - 1)])),
        "list": lambda p: my_previous_token_score(p).tolist(),
    },
    checks.check_attention_entropy: {
        "worked solution": my_attention_entropy,
        "package": lambda p: entropy_bits(p).mean(axis=-1),
        "nansum": lambda p: np.nansum(-p * np.log2(p), axis=-1).mean(-1),
        "nan_to_num": lambda p: -np.nan_to_num(p * np.log2(p)).sum(-1).mean(-1),
        "natural logarithm": lambda p: (
            -(p * np.log(np.where(p > 0, p, 1))).sum(-1).mean(-1) / np.log(2)
        ),
        "a tiny number added": lambda p: -(p * np.log2(p + 1e-300)).sum(-1).mean(-1),
        "sum of all": lambda p: entropy_bits(p).sum(-1) / p.shape[-2],
        "map by map": each_map(in_a_loop),
        "where": lambda p: -(p * np.log2(p, out=np.zeros_like(p), where=p > 0)).sum(-1).mean(-1),
    },
}
SOLVED = [
    (checks.check_previous_token_score, my_previous_token_score),
    (checks.check_attention_entropy, my_attention_entropy),
]
WRONG = {}  # for each check, wrong answers and what their messages must speak of


# --- previous-token score --------------------------------------------------------------------


def next_token(p):
    i = np.arange(1, p.shape[-1] - 2)
    return p[..., i, i + 1].mean(axis=-1)


def whole_diagonal(p):
    return np.diagonal(p, offset=-1, axis1=-2, axis2=-1).mean(axis=-1)


def from_the_first_word(p):
    i = np.arange(1, p.shape[-1] - 1)
    return p[..., i, i - 1].mean(-1)


def up_to_sep(p):
    i = np.arange(2, p.shape[-1])
    return p[..., i, i - 1].mean(-1)


def itself(p):
    i = np.arange(2, p.shape[-1] - 1)
    return p[..., i, i].mean(-1)


def added_up(p):
    i = np.arange(2, p.shape[-1] - 1)
    return p[..., i, i - 1].sum(-1)


def one_number_for_all_heads(p):
    i = np.arange(2, p.shape[-1] - 1)
    return p[..., i, i - 1].mean()


def trace_over_n(p):
    i = np.arange(2, p.shape[-1] - 1)
    return p[..., i, i - 1].sum(-1) / p.shape[-1]


def share_of_argmax(p):
    i = np.arange(2, p.shape[-1] - 1)
    return (p[..., i, :].argmax(-1) == i - 1).mean(-1)


WRONG[checks.check_previous_token_score] = {
    next_token: "NEXT one",
    whole_diagonal: "You took the whole diagonal",
    from_the_first_word: "You counted the first word",
    up_to_sep: "You counted [SEP] as a query",
    itself: "how much a word looks at itself",
    added_up: "Divide by the number of words",
    one_number_for_all_heads: "You averaged over the heads too",
    trace_over_n: "You divided by all n tokens",
    share_of_argmax: "how often the previous token gets the largest weight",
    lambda p: np.median(p[..., range(2, p.shape[-1] - 1), range(1, p.shape[-1] - 2)], -1): "",
    lambda p: my_previous_token_score(p).squeeze(): "shape",
    lambda p: my_previous_token_score(p)[..., None]: "shape",
    lambda p: my_previous_token_score(p).mean(axis=-1): "shape",
    lambda p: my_previous_token_score(p if p.ndim == 2 else p[0]): "shape",
    lambda p: my_previous_token_score(p[..., :20, :20]): "",
    lambda p: my_previous_token_score(p).round(3): "",
    lambda p: p[..., 2:-1, 1:-2].mean(axis=(-1, -2)): "",
    lambda p: my_previous_token_score(p) - 1 / p.shape[-1]: "",
}


# --- entropy -----------------------------------------------------------------------------------


def in_nats(p):
    return -(p * np.log(np.where(p > 0, p, 1))).sum(-1).mean(-1)


def nan_for_zero_weights(p):
    return -(p * np.log2(p)).sum(-1).mean(-1)


def negative(p):
    return (p * np.log2(np.where(p > 0, p, 1))).sum(-1).mean(-1)


def of_columns(p):
    columns = p / np.maximum(p.sum(-2, keepdims=True), 1e-300)
    return my_attention_entropy(columns.swapaxes(-1, -2))


def over_the_queries(p):
    return -(p * np.log2(np.where(p > 0, p, 1))).sum(-2).mean(-1)


def of_the_mean_row(p):
    return my_attention_entropy(p.mean(-2, keepdims=True))


def one_per_query(p):
    return -(p * np.log2(np.where(p > 0, p, 1))).sum(-1)


def total(p):
    return -(p * np.log2(np.where(p > 0, p, 1))).sum((-1, -2))


def relative(p):
    return my_attention_entropy(p) / np.log2(p.shape[-1])


def mean_over_everything(p):
    return one_per_query(p).mean()


WRONG[checks.check_attention_entropy] = {
    in_nats: "You used the natural logarithm",
    nan_for_zero_weights: "A weight of 0 gives 0 * log2(0)",
    negative: "The sign is wrong",
    of_columns: "You took the entropy of columns",
    over_the_queries: "divide their sum by the number of keys",
    of_the_mean_row: "You averaged the rows first",
    one_per_query: "This is one entropy per query",
    total: "You added the entropies of the queries",
    relative: "You divided by the largest possible entropy",
    mean_over_everything: "You averaged over the heads too",
    lambda p: -(p * np.log2(p + 1e-6)).sum(-1).mean(-1): "",
    lambda p: my_attention_entropy(np.where(p > 1e-5, p, 0)): "",
    lambda p: np.nanmean(-(p * np.log2(p)).sum(-1), -1): "",
    lambda p: 2 ** my_attention_entropy(p): "",
    lambda p: my_attention_entropy(p[..., 1:, :] if p.shape[-2] > 1 else p): "",
    lambda p: my_attention_entropy(p[..., :64]): "",
    lambda p: my_attention_entropy(p[..., :64, :]): "",
    lambda p: one_per_query(p).mean(0): "",
    lambda p: np.median(one_per_query(p), -1): "",
    lambda p: -np.log2((p**2).sum(-1)).mean(-1): "",
}


# --- all of them -------------------------------------------------------------------------------


@pytest.mark.parametrize(("check", "solution"), SOLVED)
def test_worked_solutions_and_stubs(check, solution):
    assert_worked("maps", check, solution)


@pytest.mark.parametrize(
    ("check", "answer"), [(check, answer) for check in RIGHT for answer in RIGHT[check].values()]
)
def test_right_answers_pass(check, answer):
    assert check(answer).status == "passed"


@pytest.mark.parametrize(
    ("check", "answer", "words"),
    [(check, *case) for check in WRONG for case in WRONG[check].items()],
)
def test_wrong_answers_are_rejected_and_named(check, answer, words):
    assert_rejected(check, answer, words)
