"""The checks of the chapter on maps pass the worked solutions and reject what people get wrong.

The worked solutions are those that the chapter prints; a test compares the two. Each mutant says
which words its message must hold, so that a learner is told about that mistake and no other.
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises import maps as checks


def my_previous_token_score(p):
    i = np.arange(2, p.shape[-1] - 1)  # words with a word before them
    return p[..., i, i - 1].mean(axis=-1)


def my_attention_entropy(p):
    logs = np.log2(np.where(p > 0, p, 1))  # log2(1) = 0: a weight of 0 adds nothing
    return -(p * logs).sum(axis=-1).mean(axis=-1)


def my_rollout(weights):
    rollout = np.eye(weights.shape[-1])
    for layer in weights:  # layer: [H, n, n]
        mixed = (layer.mean(axis=0) + np.eye(weights.shape[-1])) / 2
        rollout = mixed @ rollout
    return rollout


SOLVED = [
    (checks.check_previous_token_score, my_previous_token_score),
    (checks.check_attention_entropy, my_attention_entropy),
    (checks.check_rollout, my_rollout),
]


@pytest.mark.parametrize(("check", "solution"), SOLVED)
def test_worked_solutions_and_stubs(check, solution):
    assert_worked("maps", check, solution)


def test_other_ways_to_be_right_pass():
    def with_a_loop(p):
        n = p.shape[-1]
        return sum(p[..., i, i - 1] for i in range(2, n - 1)) / (n - 3)

    def with_diagonal(p):
        return np.diagonal(p, offset=-1, axis1=-2, axis2=-1)[..., 1:-1].mean(-1)

    def with_errstate(p):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nansum(-p * np.log2(p), axis=-1).mean(-1)

    def from_the_end(weights):
        mixed = (weights.mean(1) + np.eye(weights.shape[-1])) / 2
        return np.linalg.multi_dot(mixed[::-1]) if len(mixed) > 1 else mixed[0]

    assert checks.check_previous_token_score(with_a_loop).status == "passed"
    assert checks.check_previous_token_score(with_diagonal).status == "passed"
    assert checks.check_attention_entropy(with_errstate).status == "passed"
    assert checks.check_rollout(from_the_end).status == "passed"


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
    over_the_queries: "You summed over the queries",
    of_the_mean_row: "You averaged the rows first",
    one_per_query: "This is one entropy per query",
    total: "You added the entropies of the queries",
    relative: "You divided by the largest possible entropy",
    mean_over_everything: "You averaged over the heads too",
}


# --- rollout ---------------------------------------------------------------------------------


def layers(weights):
    return (weights.mean(1) + np.eye(weights.shape[-1])) / 2


def multiplied(matrices):
    result = np.eye(matrices.shape[-1])
    for matrix in matrices:
        result = matrix @ result
    return result


def first_layer_leftmost(weights):
    return multiplied(layers(weights)[::-1])


def without_residual(weights):
    return multiplied(weights.mean(1))


def residual_not_halved(weights):
    return multiplied(weights.mean(1) + np.eye(weights.shape[-1]))


def entry_by_entry(weights):
    result = np.ones(weights.shape[-2:])
    for layer in layers(weights):
        result = result * layer
    return result


def heads_summed(weights):
    return multiplied((weights.sum(1) + np.eye(weights.shape[-1])) / 2)


def strongest_head(weights):
    return multiplied((weights.max(1) + np.eye(weights.shape[-1])) / 2)


def columns_as_outputs(weights):
    return multiplied(layers(weights)).T


def last_layer(weights):
    return layers(weights)[-1]


def averaged_layers(weights):
    return layers(weights).mean(0)


def one_residual(weights):
    return (multiplied(weights.mean(1)) + np.eye(weights.shape[-1])) / 2


def in_place(weights):
    weights += np.eye(weights.shape[-1])
    return multiplied(weights.mean(1) / 2)


WRONG[checks.check_rollout] = {
    first_layer_leftmost: "You multiplied the layers in the other order",
    without_residual: "You left out the residual path",
    residual_not_halved: "did not halve",
    entry_by_entry: "You multiplied entry by entry",
    heads_summed: "You summed the heads",
    strongest_head: "You took the largest head",
    columns_as_outputs: "Your answer is transposed",
    last_layer: "This is the last layer alone",
    averaged_layers: "You averaged the layers",
    one_residual: "You added the residual once",
    in_place: "changed its input weights in place",
}


CASES = [(check, *case) for check, wrong in WRONG.items() for case in wrong.items()]


@pytest.mark.parametrize(("check", "mutant", "words"), CASES)
def test_wrong_answers(check, mutant, words):
    assert_rejected(check, mutant, words)
