"""The explorable "induction": the script's planted model is NumPy's, to the last digit shown."""

from itertools import product

import numpy as np
import pytest
from hosts import host, state
from marks import STEADY, assert_still, box, marks, numbers, said, until

from attention_src.explorables.induction import WORDS
from attention_src.models.planted import PlantedModel
from attention_src.models.planted.heads import PREVIOUS, VOCABULARY
from attention_src.softmax.reference import softmax

NAME = "induction"
MODEL = PlantedModel.load()
ROLES = list(MODEL.truth.values())
TEXTS = ["stonesto", "banana", "abcdefghij", "aaaaaaaaaa", "z", ""]


def trace_of(now):
    """What NumPy computes for what the page shows: weights, and the chances of the next letter."""
    silent = [MODEL.find(role) for role in now["silent"]]
    trace = MODEL.run("^" + now["text"], ablate=silent)
    return trace, softmax(trace.logits)


def before(trace):
    """The letters that `previous` wrote, by place."""
    written = trace.outputs[MODEL.find("previous")][:, PREVIOUS].round(6)
    return ["".join(VOCABULARY[i] for i in np.flatnonzero(row)) for row in written]


def assert_right(page):
    """All eight heads' weights, all chances, and what is drawn of them."""
    now, seen = state(page, NAME), marks(page, NAME)
    trace, chances = trace_of(now)
    for at, role in MODEL.truth.items():
        for i, row in enumerate(now["weights"][role]):
            np.testing.assert_allclose(row, trace.weights[at][i, : i + 1], rtol=0, atol=1e-6)
    np.testing.assert_allclose(now["chances"], chances, rtol=0, atol=1e-6)
    here, tokens = now["at"], "^" + now["text"]
    assert [seen[f"text{j}"]["words"] for j in range(len(tokens))] == list(tokens)
    assert f"text{len(tokens)}" not in seen
    for j, kind in product(range(len(tokens)), ("text", "before")):  # later places are not seen
        assert float(seen[f"{kind}{j}"]["opacity"]) == (1 if j <= here else 0.35)
    assert [seen[f"before{j}"]["words"] for j in range(len(tokens))] == before(trace)
    p = trace.weights[MODEL.find("induction")][here] * ("induction" not in now["silent"])
    for j in range(here + 1):
        assert seen[f"weight{j}"]["words"] == f"{100 * now['weights'][NAME][here][j]:.0f} %"
        assert (float(seen[f"find{j}"]["opacity"]) == 1) == (p[j] > 0.005)
        if p[j] > 0.005:
            assert numbers(seen[f"find{j}"], "stroke-width") == pytest.approx(
                1.5 + 3 * p[j], abs=0.01
            )
    assert_guess(now, seen, chances[here])


def assert_guess(now, seen, chances):
    shown = [key.removeprefix("guess-bar-") for key in seen if key.startswith("guess-bar-")]
    lowest = min(chances[VOCABULARY.index(letter)] for letter in shown)
    assert len(shown) == 5 and np.sum(chances > lowest + 1e-9) < 5
    for letter in shown:
        chance = chances[VOCABULARY.index(letter)]
        assert seen[f"guess-share-{letter}"]["words"] == f"{100 * chance:.1f} %"
        room = box(seen[f"guess-room-{letter}"])[2]
        assert box(seen[f"guess-bar-{letter}"])[2] == pytest.approx(room * chance, abs=0.02)
    come = now["text"][now["at"] :][:1]
    loss = come and f"{-np.log(chances[VOCABULARY.index(come)]):.2f}"
    assert seen["came"]["words"] == (
        WORDS["came"].format(came=come, loss=loss) if come else WORDS["open"]
    )


def press(page, *names):
    for name in names:
        host(page, NAME).get_by_role("button", name=name, exact=True).click()


@pytest.mark.parametrize("width", [390, 688, 960])
def test_texts_at_their_places(show, width):
    page = show(NAME, width=width, **STEADY)
    for text in TEXTS:
        host(page, NAME).get_by_role("textbox").fill(text)
        assert state(page, NAME)["at"] == len(text)
        for at in {len(text), len(text) // 2, 0}:
            press(page, f"place {at}: {('^' + text)[at]}")
            assert state(page, NAME)["at"] == at
            assert_right(page)
        assert_still(page, NAME)


def test_each_head_silenced_alone_and_beside_another(show):
    page = show(NAME, **STEADY)
    for role in ROLES:
        for name in (role, "mean" if role != "mean" else "steady"):
            press(page, name)
            assert_right(page)
        assert_still(page, NAME)
        press(page, role)
        assert role not in state(page, NAME)["silent"]
        press(page, "Reset")
        assert state(page, NAME)["silent"] == []


def test_what_is_said(show):
    page = show(NAME, **STEADY)
    found = "Induction finds “o” among the keys at 1 of 9 places up to here, with 100 % of its"
    assert said(page, NAME).startswith(found)
    assert said(page, NAME).endswith("PlantedModel’s guess: “n”, 99.9 %.")
    press(page, "sink", "echo", "idle", "late")
    assert "Without 4 of the heads, PlantedModel’s guess stays “n”, 99.9 %." in said(page, NAME)
    press(page, "Reset", "previous")
    _, chances = trace_of(state(page, NAME))
    n = chances[8][VOCABULARY.index("n")]
    assert "induction has lost its target" in said(page, NAME)
    assert f"gives “n” {100 * n:.1f} % without previous, and 99.9 % with all 8" in said(page, NAME)
    assert said(page, NAME).endswith("its guess is now “o”, “s” or “t”.")
    press(page, "Reset", "steady")
    assert said(page, NAME).endswith("its guess is now “^”.")
    press(page, "Reset")
    host(page, NAME).get_by_role("textbox").fill("banana")
    assert "at 2 of 7 places" in said(page, NAME)
    host(page, NAME).get_by_role("textbox").fill("abc")
    assert said(page, NAME) == (
        "None of 4 places up to here has “c” as its key: induction rests on the start sign, "
        "whose value is 0. PlantedModel’s guess: “a”, “b” or “c”, 16.0 % each."
    )


def test_only_letters_are_read_and_ten_at_most(show):
    page = show(NAME, **STEADY)
    field = host(page, NAME).get_by_role("textbox")
    field.fill("Ab-3 ^é c" + 20 * "d")
    assert field.input_value() == state(page, NAME)["text"] == "abcddddddd"
    assert_right(page)


def test_by_keyboard(show):
    page = show(NAME, **STEADY)
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    page.keyboard.type("n")
    assert state(page, NAME)["text"] == "stoneston"
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")  # previous
    assert state(page, NAME)["silent"] == ["previous"]
    page.keyboard.press("Space")
    for _ in ROLES:
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == "place 9: n"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert state(page, NAME)["at"] == 7
    assert page.evaluate("document.activeElement.ariaLabel") == "place 7: t"
    assert_right(page)
    page.keyboard.press("Home")
    assert state(page, NAME)["at"] == 0


def test_by_touch_on_a_phone(show):
    page = show(NAME, width=390, has_touch=True, is_mobile=True, **STEADY)
    host(page, NAME).get_by_role("button", name="induction", exact=True).tap()
    host(page, NAME).get_by_role("button", name="place 6: s").tap()
    now = state(page, NAME)
    assert (now["silent"], now["at"]) == (["induction"], 6)
    assert_right(page)


def test_a_change_glides_and_ends_where_it_should(show):
    page, still = show(NAME), show(NAME, **STEADY)
    for each in (page, still):
        press(each, "previous", "place 5: e", "mean")
    assert until(page, lambda: marks(page, NAME) == marks(still, NAME))
