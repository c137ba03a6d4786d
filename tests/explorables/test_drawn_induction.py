"""What "induction" says and draws: its planted model is NumPy's, to the last digit shown."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from drawn import box, figures

from attention_src.explorables.induction import WORDS
from attention_src.models.planted import PlantedModel
from attention_src.models.planted.heads import PREVIOUS, VOCABULARY
from attention_src.softmax.reference import softmax

NAME = "induction"
MODEL = PlantedModel.load()
ROLES = list(MODEL.truth.values())
TEXTS = ["stonesto", "banana", "abcdefghij", "aaaaaaaaaa", "z", ""]


def state(text="stonesto", at=None, silent=()):
    return {"text": text, "at": len(text) if at is None else at, "silent": list(silent)}


@cache
def trace_of(text, silent):
    """What NumPy computes: weights, and the chances of the next letter."""
    trace = MODEL.run("^" + text, ablate=[MODEL.find(role) for role in silent])
    return trace, softmax(trace.logits)


def before(trace):
    """The letters that `previous` wrote, by place."""
    written = trace.outputs[MODEL.find("previous")][:, PREVIOUS].round(6)
    return ["".join(VOCABULARY[i] for i in np.flatnonzero(row)) for row in written]


@pytest.fixture(scope="module")
def every():
    """All texts at their places; and one of them without each head, alone and beside another."""
    whole = [state(text, at) for text in TEXTS for at in {len(text), len(text) // 2, 0}]
    silent = [roles for role in ROLES for roles in ([role], [role, "mean"])]
    states = [*whole, *(state(silent=dict.fromkeys(roles)) for roles in silent)]
    return [(one, *trace_of(one.now["text"], tuple(one.now["silent"])))
            for one in figures(NAME, states, [338, 910])]  # fmt: skip


def test_weights_and_chances_are_numpy_s(every):
    for one, trace, chances in every:
        for at, role in MODEL.truth.items():
            for i, row in enumerate(one.now["weights"][role]):
                assert np.abs(row - trace.weights[at][i, : i + 1]).max() < 1e-6
        np.testing.assert_allclose(one.now["chances"], chances, rtol=0, atol=1e-6)


def test_letters_and_what_previous_wrote(every):
    for one, trace, _ in every:
        tokens, here = "^" + one.now["text"], one.now["at"]
        for seen in one.seen:
            assert [seen[f"text{j}"]["words"] for j in range(len(tokens))] == list(tokens)
            assert f"text{len(tokens)}" not in seen
            for j, kind in product(range(len(tokens)), ("text", "before")):
                # Later places are not seen.
                assert float(seen[f"{kind}{j}"]["opacity"]) == (1 if j <= here else 0.35)
            assert [seen[f"before{j}"]["words"] for j in range(len(tokens))] == before(trace)


def test_what_is_found_and_with_which_weight(every):
    for one, trace, _ in every:
        now, here = one.now, one.now["at"]
        p = trace.weights[MODEL.find("induction")][here] * ("induction" not in now["silent"])
        for seen, j in product(one.seen, range(here + 1)):
            assert seen[f"weight{j}"]["words"] == f"{100 * now['weights'][NAME][here][j]:.0f} %"
            assert (float(seen[f"find{j}"]["opacity"]) == 1) == (p[j] > 0.005)
            if p[j] > 0.005:
                assert abs(float(seen[f"find{j}"]["stroke-width"]) - 1.5 - 3 * p[j]) < 0.01


def test_the_guess(every):
    for one, _, chances in every:
        for seen in one.seen:
            assert_guess(one.now, seen, chances[one.now["at"]])


def assert_guess(now, seen, chances):
    shown = [key.removeprefix("guess-bar-") for key in seen if key.startswith("guess-bar-")]
    lowest = min(chances[VOCABULARY.index(letter)] for letter in shown)
    assert len(shown) == 5 and np.sum(chances > lowest + 1e-9) < 5
    for letter in shown:
        chance = chances[VOCABULARY.index(letter)]
        assert seen[f"guess-share-{letter}"]["words"] == f"{100 * chance:.1f} %"
        room = box(seen[f"guess-room-{letter}"])[2]
        assert abs(box(seen[f"guess-bar-{letter}"])[2] - room * chance) < 0.02
    come = now["text"][now["at"] :][:1]
    loss = come and f"{-np.log(chances[VOCABULARY.index(come)]):.2f}"
    assert seen["came"]["words"] == (
        WORDS["came"].format(came=come, loss=loss) if come else WORDS["open"]
    )


def test_what_is_said():
    four = ("sink", "echo", "idle", "late")
    states = [state(), state(silent=four), state(silent=["previous"]), state(silent=["steady"]),
              state("banana"), state("abc")]  # fmt: skip
    whole, less, blind, lost, banana, abc = (one.said for one in figures(NAME, states, []))
    found = "Induction finds “o” among the keys at 1 of 9 places up to here, with 100 % of its"
    assert whole.startswith(found)
    assert whole.endswith("PlantedModel’s guess: “n”, 99.9 %.")
    assert "Without 4 of the heads, PlantedModel’s guess stays “n”, 99.9 %." in less
    n = trace_of("stonesto", ("previous",))[1][8][VOCABULARY.index("n")]
    assert "induction has lost its target" in blind
    assert f"gives “n” {100 * n:.1f} % without previous, and 99.9 % with all 8" in blind
    assert blind.endswith("its guess is now “o”, “s” or “t”.")
    assert lost.endswith("its guess is now “^”.")
    assert "at 2 of 7 places" in banana
    assert abc == (
        "None of 4 places up to here has “c” as its key: induction rests on the start sign, "
        "whose value is 0. PlantedModel’s guess: “a”, “b” or “c”, 16.0 % each."
    )


def test_the_guess_that_is_said(every):
    for one, _, chances in every:
        last = chances[one.now["at"]]
        best = [VOCABULARY[i] for i in np.flatnonzero(last > last.max() - 1e-9)]
        guess = one.said.partition("PlantedModel")[2]
        if not one.now["silent"] and len(best) <= 4:
            assert f"{100 * last.max():.1f} %" in guess
        if len(best) <= 4:
            assert all(f"“{letter}”" in guess for letter in best)
