"""Explorables that are pictures of marks: their stills, their words, and their numbers."""

import re
import xml.etree.ElementTree as ET
from base64 import b64decode
from html import escape, unescape

import numpy as np
import pytest

from attention_src.attention.reference import attention
from attention_src.explorables import (
    NAMES,
    content,
    difference,
    explorable_html,
    induction,
    one_query,
    states,
)
from attention_src.explorables.drawing import STILLS, file_of, still
from attention_src.explorables.stills import WIDTH, draw

EVERY = [(name, state) for name in NAMES for state in states(name)]


def words_of(name, state=""):
    root = ET.fromstring(still(name, state)[0])
    return [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize(("name", "state"), EVERY)
def test_the_still_is_what_the_script_draws(name, state):
    fresh = draw(name, **state)
    stored = file_of(name, **state).read_text("utf-8")
    assert stored == fresh, "run python -m attention_src.explorables"
    picture, (width, height) = still(name, **state)
    assert picture == stored and width == WIDTH
    assert f'viewBox="0 0 {width} {height}"' in stored
    assert "var(" not in stored and "undefined" not in stored and "NaN" not in stored


def test_there_is_no_other_still():
    assert sorted(STILLS.iterdir()) == sorted(file_of(name, **state) for name, state in EVERY)


def test_each_state_brings_its_own_still_and_words():
    """Two instances on one page differ where no script runs, and take the same scripts."""
    pages = {state: explorable_html("difference", state=state) for state in difference.STATES}
    for state, page in pages.items():
        shown = b64decode(re.search(r"svg\+xml;base64,([^\"]+)", page)[1]).decode()
        assert shown == still("difference", "" if state == "one" else state)[0]
        assert f'"state": "{state}"' in unescape(page)
        assert difference.QUESTIONS[state] in page
    assert len({page[page.index("<script") :] for page in pages.values()}) == 1
    assert "× 0.50" in words_of("difference", "signs")
    with pytest.raises(ValueError, match="state is 'three'; it should be one of one, two, signs"):
        explorable_html("difference", state="three")


def test_a_line_may_have_words_for_each_view():
    page = explorable_html("one_query")
    for kind, (one, every) in (("question", one_query.QUESTION), ("try", one_query.TRIES[0])):
        spans = f"<span>{escape(one)}</span><span>{escape(every)}</span>"
        assert f'<p class="ae-{kind}">{spans}</p>' in page


def test_the_market_s_numbers_are_those_of_attention():
    outputs = attention(one_query.GUESTS, one_query.KEYS, one_query.PRICES)
    np.testing.assert_allclose(outputs[:, 0], [3.870, 29.914, 12.252], atol=5e-4)
    assert one_query.GUESTS.shape == (3, 2)
    assert one_query.KEYS.shape == (4, 2) and one_query.PRICES.shape == (4, 1)
    assert f"stacked to {outputs[0, 0]:.2f}" in content("one_query", {}).alt


def test_the_first_guest_s_chair():
    """What the chapter tells: little weight, much of the answer, which no fruit costs."""
    assert one_query.said(one_query.GUESTS[0]) == (
        "The apple gets the most weight, 59.8 %. The chair gets 3.5 % of the weight and makes "
        "36.5 % of the answer: 1.41 of 3.87."
    )
    assert "The chair gets the most weight, 73.5 %" in one_query.said(one_query.GUESTS[1])
    assert content("one_query", {}).sentence.startswith(one_query.said(one_query.GUESTS[0]))


def test_a_shorter_arrow_solves_the_puzzle():
    """Half of the answer from less than a fifteenth of the weight, as the last line below asks."""
    said = one_query.said(np.array([1.5, 0]))
    small, share = (
        float(x)
        for x in re.findall(r"gets ([\d.]+) % of|makes ([\d.]+) %", said)[0:2]
        for x in x
        if x
    )
    assert small < 6.7 and 50 < share < 54


def test_the_still_of_one_query_follows_from_what_it_shows():
    shown = words_of("one_query")
    for number in ("4.00", "2.828", "0.598", "0.0353", "× 40", "1.414", "3.870", "chair 36.5 %"):
        assert number in shown
    parts = [1.794, 0.590, 0.072, 1.414]
    assert {f"{part:.3f}" for part in parts} <= set(shown)
    assert round(sum(parts), 3) == 3.870


def test_the_still_of_split_merge_shows_both_ways():
    shown = words_of("split_merge")
    assert "x.reshape(5, 2, 4).swapaxes(0, 1)" in shown and "x.reshape(2, 5, 4)" in shown
    assert shown.count("meant") == shown.count("is") == 2


def test_bad_points_of_a_head_are_refused():
    with pytest.raises(ValueError, match=r"point is \[1, -1\]; its two numbers should not have"):
        difference.weigh([1, -1])
    lefts = [content("difference", {"state": state}).alt for state in difference.STATES]
    for alt, left in zip(lefts, (89, 169, 50), strict=True):
        assert alt.endswith(f"{left} % of the error is left.")


@pytest.mark.parametrize("at", induction.MODEL.truth)
def test_runs_hold_a_whole_matrix(at):
    weights = induction.MODEL.head(*at)
    for w in (weights.w_q, weights.w_k, weights.w_v, weights.w_o, induction.MODEL.unembedding):
        back = np.zeros_like(w)
        for row, column, step, count, value in induction.runs(w):
            i = np.arange(count)
            back[row + i, column + step * i] += value
        np.testing.assert_array_equal(back, w)


def test_the_still_of_induction_shows_both_steps():
    shown = words_of("induction")
    assert "2. induction finds “o” among the keys" in shown
    assert {"100 %", "99.9 %", "guess after “o”"} <= set(shown)
    assert content("induction", {}).sentence.startswith(
        "PlantedModel guesses “n” after “stonesto”, 99.9 %."
    )
