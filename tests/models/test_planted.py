"""Each planted head does what its role says, on many random texts."""

import functools

import numpy as np
import pytest

from attention_src.models.planted import PlantedModel
from attention_src.models.planted.heads import ROLES, SCRATCH
from attention_src.models.planted.texts import refrain, repeated

MODEL = PlantedModel.load()
SEEDS = range(25)
REPEATED = [repeated(n, seed) for n in (2, 7, 15) for seed in SEEDS]
REFRAINS = [refrain(n, seed) for n in (3, 7, 15) for seed in SEEDS]


def run(tokens):
    """The whole model's run, to which most tests compare another."""
    return run_once("".join(tokens))


@functools.cache
def run_once(text):
    return MODEL.run(list(text))


def copies(tokens, trace):
    """The share of right guesses where the second copy can be guessed from the first."""
    first = len(tokens) // 2 + 1  # the place of the second copy's first letter
    right = [trace.guesses[i] == tokens[i + 1] for i in range(first, len(tokens) - 1)]
    return np.mean(right)


def refrains(tokens, trace):
    """The share of right guesses after new letters; the first two have no majority yet."""
    return np.mean([trace.guesses[i] == tokens[1] for i in range(4, len(tokens), 2)])


def test_previous_token_head():
    at = MODEL.find("previous")
    for tokens in REPEATED:
        p = run(tokens).weights[at]
        assert (np.diag(p, k=-1) > 0.99).all()


def test_induction_head_looks_at_what_followed():
    at = MODEL.find("induction")
    for tokens in REPEATED:
        p, n = run(tokens).weights[at], len(tokens) // 2
        assert (p[1 : n + 1, 0] > 0.99).all()  # rests on START
        followed = [p[i, i - n + 1] for i in range(n + 1, len(tokens))]
        assert min(followed) > 0.99


def test_induction_shares_its_weight_among_several_matches():
    p = MODEL.run("^abacada").weights[MODEL.find("induction")]
    np.testing.assert_allclose(p[-1, [2, 4, 6]], 1 / 3, atol=1e-4)


@pytest.mark.slow
def test_guesses_are_right_and_need_both_heads_of_the_circuit():
    circuit = [MODEL.find("previous"), MODEL.find("induction")]
    for tokens in REPEATED:
        assert copies(tokens, run(tokens)) == 1
        for head in circuit:
            assert copies(tokens, MODEL.run(tokens, ablate=[head])) == 0


@pytest.mark.slow
def test_the_flat_head_that_matters():
    at = MODEL.find("mean")
    for tokens in REFRAINS:
        whole = run(tokens)
        n = len(tokens)
        np.testing.assert_allclose(whole.weights[at], np.tri(n) / np.arange(1, n + 1)[:, None])
        assert refrains(tokens, whole) == 1
        without = MODEL.run(tokens, ablate=[at])
        assert (without.nll[4::2] > whole.nll[4::2] + 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("role", ["sink", "echo", "idle", "late"])
def test_heads_that_do_nothing(role):
    for tokens in REPEATED + REFRAINS:
        whole, without = run(tokens), MODEL.run(tokens, ablate=[MODEL.find(role)])
        np.testing.assert_allclose(without.logits, whole.logits, atol=1e-6)


def test_the_maps_of_heads_that_do_nothing_are_striking():
    for tokens in REPEATED:
        trace = run(tokens)
        n = len(tokens)
        weights = {role: trace.weights[MODEL.find(role)] for role in MODEL.truth.values()}
        assert (weights["sink"][:, 0] > 0.99).all()
        np.testing.assert_allclose(weights["sink"], weights["steady"], atol=1e-12)
        np.testing.assert_allclose(weights["late"], weights["previous"], atol=1e-12)
        np.testing.assert_allclose(weights["idle"], weights["mean"], atol=1e-12)
        same = np.array([[a == b for b in tokens] for a in tokens]) & np.tri(n, dtype=bool)
        np.testing.assert_allclose(weights["echo"], same / same.sum(-1, keepdims=True), atol=1e-6)


def test_echo_and_late_write_much_and_sink_nothing():
    trace = MODEL.run(repeated(10))
    size = {r: np.linalg.norm(trace.outputs[at], axis=-1) for at, r in MODEL.truth.items()}
    assert size["sink"].max() < 1e-6 and (size["idle"] == 0).all()
    assert (size["echo"][1:] > 0.9).all() and (size["late"][2:] > 0.9).all()
    assert np.abs(trace.outputs[MODEL.find("echo")][1:, SCRATCH]).sum() > 1


@pytest.mark.slow
def test_the_steady_head_writes_the_same_everywhere():
    at = MODEL.find("steady")
    written = [run(tokens).outputs[at] for tokens in REPEATED + REFRAINS]
    assert np.ptp(np.concatenate(written), axis=0).max() < 1e-6
    for tokens in REPEATED:
        assert set(MODEL.run(tokens, ablate=[at]).guesses) == {"^"}
        constant = MODEL.run("^").heads[at][0]
        patched = MODEL.run(tokens, patch={at: constant})
        np.testing.assert_allclose(patched.logits, run(tokens).logits, atol=1e-6)


@pytest.mark.slow
def test_one_of_two_twins_is_enough():
    model = PlantedModel.load(twin=True)
    both = [model.find("previous"), model.find("twin")]
    for tokens in REPEATED:
        whole = model.run(tokens)
        for head in both:
            without = model.run(tokens, ablate=[head])
            np.testing.assert_allclose(without.logits, whole.logits, atol=0.05)
            assert copies(tokens, without) == 1
        assert copies(tokens, model.run(tokens, ablate=both)) == 0


def test_shuffled_heads_compute_the_same():
    tokens = repeated(7)
    places = set()
    for seed in range(5):
        model = PlantedModel.load(shuffle=seed)
        np.testing.assert_allclose(model.run(tokens).logits, run(tokens).logits)
        assert sorted(model.truth.values()) == sorted(MODEL.truth.values())
        assert model.truth == PlantedModel.load(shuffle=seed).truth
        places.add(model.find("previous"))
    assert len(places) > 1 and {layer for layer, _ in places} == {0}


def test_replaced_weights_and_patched_outputs_are_used():
    tokens = repeated(5)
    at, n = MODEL.find("induction"), 11
    whole = run(tokens)
    same = MODEL.run(tokens, replace={at: whole.weights[at]}, patch={(0, 0): whole.heads[0, 0]})
    np.testing.assert_allclose(same.logits, whole.logits, atol=1e-9)
    pinned = np.zeros((n, n))
    pinned[:, 3] = 1
    trace = MODEL.run(tokens, replace={at: pinned})
    assert trace.guesses[-1] == tokens[3]
    np.testing.assert_array_equal(trace.weights[at], pinned)
    other = MODEL.run(repeated(5, seed=1))
    trace = MODEL.run(tokens, patch={at: other.heads[at]})
    assert trace.guesses[6:-1] == other.guesses[6:-1]


def test_the_stream_is_a_sum():
    trace = MODEL.run(refrain(7))
    for layer in range(2):
        added = trace.outputs[layer].sum(axis=0)
        np.testing.assert_allclose(trace.residual[layer] + added, trace.residual[layer + 1])
    averaged = trace.weights @ trace.values
    np.testing.assert_allclose(averaged, trace.heads, atol=1e-12)
    q = np.exp(trace.logits) / np.exp(trace.logits).sum(-1, keepdims=True)
    assert trace.nll[3] == pytest.approx(-np.log(q[3, ord(trace.tokens[4]) - ord("a") + 1]))


def test_sources_are_the_places_that_the_guess_depends_on():
    depends = MODEL.sources("^abcab")
    assert {i: np.flatnonzero(row).tolist() for i, row in enumerate(depends) if row.any()} == {
        4: [1, 2, 4],
        5: [2, 3, 5],
    }
    assert np.flatnonzero(MODEL.sources("^aa")[2]).tolist() == [1, 2]


def test_every_role_is_documented():
    assert set(MODEL.truth.values()) | {"twin"} == set(ROLES)
    assert all(role.does and role.matters for role in ROLES.values())
    assert MODEL.where("previous", "induction").sum() == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MODEL.run("abc"), "tokens is 'abc'; it should begin with"),
        (lambda: MODEL.run("^" + "a" * 32), "tokens has 33 entries; it should have at most 32"),
        (lambda: MODEL.run("^aB"), "tokens holds 'B'; after"),
        (lambda: MODEL.run("^a", ablate=[(2, 0)]), r"ablate holds \(layer, head\) = \(2, 0\)"),
        (lambda: MODEL.run("^a", ablate=[3]), "ablate holds 3; it should hold pairs"),
        (lambda: MODEL.run("^a", replace={(0, 0): np.eye(3)}), r"replace\[\(0, 0\)\] has shape"),
        (lambda: MODEL.run("^a", patch={(0, 0): np.zeros(3)}), r"it should be \[2, 32\]"),
        (lambda: MODEL.find("twin"), "role is 'twin'; it should be one of"),
        (lambda: MODEL.head(0, 4), r"heads 0 to 3"),
        (lambda: repeated(16), "n is 16; it should be at most 15"),
        (lambda: refrain(0), "n is 0; it should be at least 1"),
        (lambda: refrain(16), "n is 16; it should be at most 15"),
    ],
)
def test_bad_input_names_the_argument(call, message, untyped):
    with pytest.raises(ValueError, match=message):
        call()
