"""The checks of rollout, and the ladder on rollout of uniform attention."""

from functools import reduce

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.attention.maps import attention_rollout
from attention_src.exercises.maps import check_rollout, check_uniform


def my_rollout(weights):
    rollout = np.eye(weights.shape[-1])
    for layer in weights:  # layer: [H, n, n]
        mixed = (layer.mean(axis=0) + np.eye(weights.shape[-1])) / 2
        rollout = mixed @ rollout
    return rollout


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


WRONG = {
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
    lambda w: my_rollout(w.swapaxes(0, 1)): "",
    lambda w: my_rollout(w[:, :1]): "",
    lambda w: multiplied(0.4 * w.mean(1) + 0.6 * np.eye(w.shape[-1])): "",
    lambda w: np.linalg.matrix_power(layers(w).mean(0), len(w)): "",
    lambda w: my_rollout(w[:12]): "24 layers",
    lambda w: my_rollout(w[:, :8]): "12 heads",
    lambda w: my_rollout(w) if w.shape[-1] <= 21 else 1 / 0: "72 tokens",
    lambda w: my_rollout(w).squeeze(): "shape",
    lambda w: my_rollout(w).mean(0): "shape",
    lambda w: np.array([multiplied(layers(w)[: i + 1]) for i in range(len(w))]): "shape",
    lambda w: my_rollout(w).astype(np.float16): "float16",
}


RIGHT = {
    "package": attention_rollout,
    "from the top": lambda w: reduce(lambda r, m: r @ m, layers(w)[::-1]),
    "multi_dot": lambda w: np.linalg.multi_dot([*layers(w)[::-1], np.eye(w.shape[-1])] * 1),
    "half and half": lambda w: reduce(lambda r, m: (m @ r + r) / 2, w.mean(1), np.eye(w.shape[-1])),
    "transposed twice": lambda w: reduce(lambda r, m: r @ m.T, layers(w), np.eye(w.shape[-1])).T,
    "rows divided": lambda w: multiplied(layers(w) / layers(w).sum(-1, keepdims=True)),
    "list": lambda w: my_rollout(w).tolist(),
}


def test_worked_solution_and_stub():
    assert_worked("maps", check_rollout, my_rollout)


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_rollout(RIGHT[name]).status == "passed"


@pytest.mark.parametrize(("answer", "words"), WRONG.items())
def test_wrong_answers_are_rejected_and_named(answer, words):
    assert_rejected(check_rollout, answer, words)


# --- the ladder --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rung", "answer", "words"),
    [
        ("a", 1 / 8, "the head's part"),
        ("a", 0.5, "comes round the head"),
        ("a", 1 / 16, "another token's share"),
        ("a", 0.6, "Yours: 0.6"),
        ("b", 1 / 8, "Halve it"),
        ("b", [1 / 16] * 7, "Expected one number"),
        ("c", (9 / 16) ** 2, "hand some of it back"),
        ("c", 0.25, "Yours: 0.25"),
        ("d", (9 / 16) ** 6, "one path only"),
        ("d", 1 / 64, "never entered a head"),
        ("d", 0.123, "another token's share"),
        ("d", 1 / 64 + 1 / 8, "more than 1"),
        ("a", 0.56, "three digits"),
        ("b", 0.06, "three digits"),
        ("c", 0.34, "three digits"),
        ("d", 0.14, "three digits"),
        ("a", 0.565, "Yours: 0.565"),
        ("e", 7, "their ratio"),
        ("e", 9, "Yours: 9"),
    ],
)
def test_a_wrong_rung_gets_its_reply(rung, answer, words):
    assert_rejected(lambda value: check_uniform(**{rung: value}), answer, words)


@pytest.mark.parametrize("answers", [(0.562, 0.062, 0.344, 0.139), (0.563, 0.063, 0.344, 0.139)])
def test_three_digits_will_do(answers):
    assert check_uniform(*answers, 10).status == "passed"
