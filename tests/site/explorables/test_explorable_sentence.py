"""The explorable "sentence": what it shows is what NumPy says, recorded and typed."""

import re

import numpy as np
import pytest
from hosts import axe, host, state
from marks import OUTSIDE, SHIFT, assert_still, box, marks, said
from model_pages import fetch, visiting, wait, write_pages

from attention_src.explorables import explorable_html, sentence, sentence72
from attention_src.models.minilm import MiniLM
from tools.site.server import serving

NAME = "sentence"
NAMES = ["L3H1", "L0H2", "L1H8"]


@pytest.fixture(scope="module")
def model():
    return MiniLM.load()


def truth(model, text):
    """Tokens, and the weights of the three heads [3, n, n]."""
    trace = model.trace(text)
    n = len(trace.tokens)
    return trace.tokens, trace.weights.reshape(72, n, n)[list(sentence.HEADS)].astype(float)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The address of a page with the explorable and its model; large.html has the large one."""
    root = tmp_path_factory.mktemp("site")
    write_pages(root, index=(NAME, "minilm"), large=("sentence72", "minilm"))
    with serving(root) as base:
        yield base


@pytest.fixture
def visit(new_page, served):
    with visiting(new_page, served) as go:
        yield go


def weights_of(page):
    """The files of weights that the page asked for."""
    return {url for url in page.asked if url.endswith(".bin")}


def read(page, text, n):
    host(page, NAME).get_by_label("Your sentence").fill(text)
    wait(page, f"s.tokens.length === {n}")


def assert_right(page, tokens, p):
    """What is shown of a head and a word beside NumPy's: numbers, bars, lines, the sentence."""
    now, seen = state(page, NAME), marks(page, NAME)
    assert now["tokens"] == tokens
    head, query = now["head"], now["query"]
    row = p[head, query]
    np.testing.assert_allclose(now["weights"], row, atol=1e-5)
    for j, weight in enumerate(row):
        assert float(seen[f"number{j}"]["words"]) == pytest.approx(weight, abs=0.00502)
        full, bar = box(seen[f"back{j}"]), box(seen[f"bar{j}"])
        assert bar[2] / full[2] == pytest.approx(weight, abs=1e-4)
    lines = {key: float(mark["stroke-width"]) for key, mark in seen.items() if key[:4] == "line"}
    for i in range(len(tokens)):
        for j in range(len(tokens)):
            least = 0.01 if i == query else 0.15
            if abs(p[head, i, j] - least) > 1e-5:
                assert (f"line{i}-{j}" in lines) == (p[head, i, j] > least)
            if (width := lines.get(f"line{i}-{j}")) is not None:
                assert width == pytest.approx(0.5 + 6 * p[head, i, j], abs=0.2501)
    assert said(page, NAME) == sentence.said(tokens, p[head], query, NAMES[head])
    found = sentence.finding(tokens, p[head], query, NAMES[head])
    assert host(page, NAME).locator(".ae-question").text_content() == found
    assert host(page, NAME).locator(".ae-body").get_attribute("aria-label") == found


def test_what_was_recorded_is_what_the_model_gives(model):
    tokens, p = truth(model, sentence.TEXT)
    found = sentence.recorded()
    assert found[0] == tokens
    np.testing.assert_allclose(found[1], p, atol=1e-5)
    assert [sentence72.name_of(head) for head in sentence.HEADS] == NAMES
    # What the page says above the picture.
    assert sentence.finding(tokens, p[0], tokens.index("it"), NAMES[0]) == (
        "In one head of a real model, L3H1, “it” gives 77 % of its weight to “horse”."
    )
    row = p[0, tokens.index("it")]
    assert tokens[row.argmax()] == "horse" and round(100 * row.max()) == 77


@pytest.mark.parametrize("width", [390, 688])
def test_before_the_press_each_head_and_word_is_right_and_nothing_is_fetched(visit, width):
    page = visit(width=width)
    tokens, p = sentence.recorded()
    assert tokens[state(page, NAME)["query"]] == "it"
    for name in NAMES:
        host(page, NAME).get_by_role("button", name=name).click()
        assert_right(page, tokens, p)
    word = page.get_by_role("slider", name="Word")
    for _ in tokens:
        word.press("ArrowDown")
        assert_right(page, tokens, p)
    assert tokens[state(page, NAME)["query"]] == "it", "once round"
    assert word.get_attribute("aria-valuetext") == said(page, NAME)
    assert_still(page, NAME)
    assert [url.rsplit("/", 1)[1] for url in page.asked] == ["index.html"]


TYPED = (("To be or not to be, that is the question", 13), ("Crème brûlée, 50 €!", 11), ("Why?", 4))


@pytest.mark.parametrize("width", [390, 688])
def test_a_typed_sentence_is_what_numpy_says(visit, model, width):
    page = visit(width=width)
    fetch(page, NAME)
    field = host(page, NAME).get_by_label("Your sentence")
    assert field.evaluate("e => document.activeElement === e")
    for text, n in TYPED:
        read(page, text, n)
        tokens, p = truth(model, text)
        assert_right(page, tokens, p)
        assert state(page, NAME)["query"] == sentence.strongest(p[0])
        assert page.evaluate(OUTSIDE) == []
    host(page, NAME).get_by_role("button", name="L1H8").click()
    assert_right(page, tokens, p)
    assert_still(page, NAME)


LONG = "The old man who remembers everything never told anybody where the treasure was hidden"


def test_a_key_fetches_the_model_and_what_was_typed_is_read(visit, model):
    page = visit(width=390)
    shown = host(page, NAME)
    field, status = shown.get_by_label("Your sentence"), shown.get_by_role("status")
    page.route("**/*.bin", lambda route: None)  # an answer that never comes
    field.press("Control+End")
    field.press_sequentially("W")
    status.get_by_text("of 28 MB").wait_for()
    field.press("Enter")
    assert field.input_value() == sentence.TEXT + "W", "it is one line"
    shown.get_by_role("button", name="Stop").click()
    field.press("Backspace")
    assert field.input_value() == sentence.TEXT, "what was typed stays"
    assert shown.get_by_role("button", name="Your own sentence").is_visible(), "it was stopped"
    page.unroute("**/*.bin")
    fetch(page, NAME)
    read(page, "Why?", 4)
    tokens, p = truth(model, "Why?")
    assert_right(page, tokens, p)

    # After a reload it is here, as the button says, and a key begins.
    page.reload()
    page.wait_for_selector("[data-ready]")
    page.asked.clear()
    shown.get_by_role("button", name="Your own sentence: the model is here").wait_for()
    assert page.asked == []
    read(page, "Why?", 4)
    assert field.evaluate("e => document.activeElement === e")
    field.fill(LONG)  # as many words as are read
    assert field.evaluate("e => e.scrollHeight <= e.clientHeight"), "all of it is seen"
    assert_still(page, NAME)


def test_offline_is_said(new_page, served):
    # A context of its own, which has fetched nothing before and is offline for nobody else.
    page = new_page(width=688, service_workers="block")
    page.goto(f"{served}/index.html")
    page.wait_for_selector("[data-ready]")
    page.context.set_offline(True)
    host(page, NAME).get_by_label("Your sentence").press_sequentially("W")
    host(page, NAME).get_by_text("Not fetched: this device is offline.").wait_for()


def test_the_word_that_is_picked_stays_where_it_still_stands(visit, model):
    page = visit(width=688)
    fetch(page, NAME)
    text = sentence.TEXT.replace("hungry", "sweet")
    host(page, NAME).get_by_label("Your sentence").fill(text)
    wait(page, "s.tokens.includes('sweet')")
    tokens, p = truth(model, text)
    assert tokens[state(page, NAME)["query"]] == "it" != tokens[sentence.strongest(p[0])]
    assert_right(page, tokens, p)


def test_by_finger(visit):
    page = visit(width=390, height=844, has_touch=True, is_mobile=True)
    tokens, p = sentence.recorded()
    svg = host(page, NAME).locator("svg.ae-scene")
    for i in (2, 9):
        y = float(marks(page, NAME)[f"from{i}"]["y"]) - 4
        svg.tap(position={"x": 40, "y": y})
        assert state(page, NAME)["query"] == i
        assert_right(page, tokens, p)


def test_stop_the_cache_and_the_large_one(visit, served):
    page = visit(width=688)
    page.route("**/*.bin", lambda route: None)  # an answer that never comes
    page.get_by_role("button", name="Your own sentence").click()
    page.get_by_role("button", name="Stop").click()
    assert page.get_by_role("button", name="Your own sentence").is_visible()
    assert not state(page, NAME)["live"]
    page.unroute("**/*.bin")
    page.asked.clear()
    fetch(page, NAME)
    kept = weights_of(page)
    assert kept
    for again, name in (("index", NAME), ("large", "sentence72")):
        page.goto(f"{served}/{again}.html")
        page.wait_for_selector("[data-ready]")
        page.asked.clear()
        fetch(page, name)
        assert not weights_of(page) & kept, "the browser has them"
        assert all(url.startswith(served) for url in page.asked)
        assert name != NAME or not weights_of(page), "the same sentence has the same words"


def test_what_is_wrong_is_said(visit):
    page = visit(width=390)
    fetch(page, NAME)
    field, status = (
        host(page, NAME).get_by_label("Your sentence"),
        host(page, NAME).get_by_role("status"),
    )
    read(page, "word " * 30, 16)
    assert "Read up to" in status.text_content()
    field.fill("x" * 100)
    status.get_by_text("more than 14 pieces").wait_for()
    field.fill("  ")
    page.wait_for_timeout(400)
    assert len(state(page, NAME)["tokens"]) == 16, "an empty field asks nothing"
    field.fill("\u200b")
    status.get_by_text("No word to read.").wait_for()
    host(page, NAME).get_by_role("slider", name="Word").press("ArrowDown")
    assert len(state(page, NAME)["tokens"]) == 16, "what was read last is still there"
    assert_still(page, NAME)


def test_it_is_small():
    """It shares its script with the large one, but brings neither its data nor its picture."""
    small, large = (len(explorable_html(name).encode()) for name in (NAME, "sentence72"))
    assert small < large / 2
    assert len(re.search(r'data-given="([^"]*)"', explorable_html(NAME))[1]) < 2_000


def test_axe_finds_nothing_once_the_model_is_there(visit):
    page = visit(width=390)
    page.add_style_tag(
        content="@media (prefers-color-scheme: dark)"
        " { body { background: #141618; color: #dfe2e6 } }"
    )
    fetch(page, NAME)
    assert axe(page) == []
    page.emulate_media(color_scheme="dark")
    assert axe(page) == []
    assert page.evaluate(SHIFT) == 0
