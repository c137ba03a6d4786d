"""Methods of reading maps, on the model whose truth is known, and the grade on known rankings."""

import numpy as np
import pytest

from attention_src.attention.maps import contributions
from attention_src.models.planted import PlantedModel
from attention_src.models.planted.methods import (
    ablation,
    grade,
    mean_outputs,
    patching,
    value_norms,
)
from attention_src.models.planted.texts import refrain, repeated

MODEL = PlantedModel.load()


def loss(trace):
    return trace.nll[len(trace.tokens) // 2 + 1 :].mean()


@pytest.mark.slow
def test_zero_ablation_finds_constants_too_and_mean_ablation_does_not():
    texts = [repeated(7, seed) for seed in range(10)]
    by_zero, by_mean = (ablation(MODEL, texts, loss, by=by).mean(0) for by in ("zero", "mean"))
    circuit, steady = MODEL.where("previous", "induction"), MODEL.where("steady")
    assert (by_zero[circuit] > 1).all() and (by_mean[circuit] > 1).all()
    assert by_zero[steady] > 1 and abs(by_mean[steady]) < 1e-6
    assert np.abs(by_zero[~circuit & ~steady]).max() < 0.2
    assert grade(by_mean, circuit) == 1


def test_what_matters_depends_on_the_text():
    texts = [refrain(10, seed) for seed in range(10)]
    effect = ablation(MODEL, texts, lambda trace: trace.nll[4::2].mean()).mean(0)
    assert effect[MODEL.where("mean")] > 1
    assert np.abs(effect[MODEL.where("previous", "induction")]).max() < 0.01


def test_ablation_one_by_one_is_blind_to_twins():
    model = PlantedModel.load(twin=True)
    effect = ablation(model, [repeated(7)], loss)[0]
    assert np.abs(effect[model.where("previous", "twin")]).max() < 0.01


def test_patching_finds_the_circuit():
    for seed in range(10):
        clean = repeated(7, seed)
        corrupt = clean[:1] + clean[2:8] + clean[1:2] + clean[8:]  # first copy in another order
        guess = clean[9]  # what follows the second copy's first letter

        def score(trace, guess=guess):
            return trace.logits[8, ord(guess) - ord("a") + 1]

        restored = patching(MODEL, clean, corrupt, score)
        circuit = MODEL.where("previous", "induction")
        np.testing.assert_allclose(restored[MODEL.where("induction")], 1, atol=1e-3)
        assert np.abs(restored[~circuit]).max() < 1e-3


def test_value_norms():
    trace = MODEL.run(repeated(7))
    norms = value_norms(MODEL, trace)
    at = MODEL.find("echo")
    written = trace.values[at] @ MODEL.head(*at).w_o
    np.testing.assert_allclose(norms[at], np.linalg.norm(written, axis=-1))
    assert (norms[MODEL.find("idle")] == 0).all() and norms[MODEL.find("sink")][0] == 0
    assert np.isfinite(contributions(trace.weights, norms)).all()


def test_a_map_is_half_right():
    tokens = repeated(5)
    depends = MODEL.sources(tokens)
    p = MODEL.run(tokens).weights
    assert grade(p[MODEL.find("induction")], depends) == pytest.approx(2 / 3, abs=0.1)


def test_mean_outputs_average_over_tokens_and_texts():
    texts = ["^ab", "^abc"]
    heads = [MODEL.run(text).heads[1, 1] for text in texts]
    mean = mean_outputs(MODEL, texts)
    np.testing.assert_allclose(mean[1, 1], np.concatenate(heads).mean(0))
    assert len(mean) == 8


def test_grade():
    truth = np.array([True, True, False, False])
    assert grade([4, 3, 2, 1], truth) == 1 and grade([1, 2, 3, 4], truth) == 0
    assert grade([4, 1, 3, 2], truth) == 0.5
    assert grade([0, 0, 0, 0], truth) == 0.5
    assert grade([5, 0, 0, 0], truth) == pytest.approx((1 + 1 / 3) / 2)
    # Row 2 may look at places 0 to 2 only; the other rows have nothing to tell apart.
    truth = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=bool)
    assert grade([[9, 9, 9], [1, 2, 9], [1, 5, 2]], truth) == 1
    assert grade(np.zeros((3, 3)), truth) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_outputs(MODEL, []), "texts is empty"),
        (lambda: ablation(MODEL, ["^a"], loss, by="noise"), "by is 'noise'"),
        (lambda: patching(MODEL, "^ab", "^a", loss), "corrupt has 2 tokens, clean 3"),
        (lambda: patching(MODEL, "^ab", "^ab", lambda t: 1.0), "corrupt has clean's score"),
        (lambda: grade([1, 2], [True]), r"scores has shape \[2\]"),
        (lambda: grade([1, 2], [True, True]), "all true or all false"),
    ],
)
def test_bad_input_names_the_argument(call, message, untyped):
    with pytest.raises(ValueError, match=message):
        call()
