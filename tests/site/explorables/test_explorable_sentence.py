"""The explorables "sentence" and "sentence72" in a browser: what was recorded, then one's own.

That the model in the page computes what NumPy does is tested in tests/pipeline/test_page_models.py.
"""

import json
import re

import numpy as np
import pytest
from drawn import shade
from hosts import host, state
from marks import ALONE, OUTSIDE, SHIFT, STEADY, assert_shows, assert_still, marks, said
from test_accessibility import violations
from test_drawn_sentence import truth

from attention_src.explorables import explorable_html, sentence, sentence72
from attention_src.models.minilm import MiniLM
from attention_src.models.minilm.baselines import embed_without_each
from attention_src.models.minilm.sentences import PLAIN
from tools.page.models import weights
from tools.site.server import serving

SMALL, LARGE = BOTH = ["sentence", "sentence72"]
DARK = "@media (prefers-color-scheme: dark) { body { background: #141618; color: #dfe2e6 } }"
FIRST = {SMALL: sentence.TEXT, LARGE: sentence72.TEXT}
# A page, the explorable on it, and the folder in which it is told its model lies.
PAGES = [(SMALL, SMALL, "minilm"), (LARGE, LARGE, "minilm"), ("later", LARGE, "minilm-later")]
# The names of the weights that the browser keeps; and one of an older version.
STORED = """caches.open('minilm').then(s => s.keys())
  .then(all => all.map(one => one.url.split('/').pop()).sort())"""
OLDER = "caches.open('minilm').then(s => s.put('/minilm-older/0.bin', new Response('weights')))"


@pytest.fixture(scope="module")
def model():
    return MiniLM.load()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The address of the pages, and of the model beside them."""
    root = tmp_path_factory.mktemp("site")
    (root / "index.html").touch()  # the server asks for one
    for folder in ("minilm", "minilm-later"):
        (root / folder).symlink_to(weights.ready())
    for page, name, folder in PAGES:
        told = f'data-explorable="{name}" data-model="{folder}/" data-mb="28"'
        part = explorable_html(name).replace(f'data-explorable="{name}"', told, 1)
        (root / f"{page}.html").write_text(
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Heads</title><meta '
            'name="viewport" content="width=device-width"><link rel="icon" href="data:,"></head>'
            f"<body><main><h1>Heads</h1>{part}</main></body></html>",
            "utf-8",
        )
    with serving(root) as base:
        yield base


@pytest.fixture
def visit(new_page, served):
    """A function: visit(name, width=390, ...) -> its page, which must say nothing."""
    wrong = []

    def go(name, **options):
        page = new_page(**STEADY, **options)
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.asked = []
        page.on("request", lambda r: page.asked.append(r.url))
        page.goto(f"{served}/{name}.html")
        page.wait_for_selector("[data-ready]")
        return page

    yield go
    assert not wrong


def wait(page, condition):
    """Wait until something holds of the state s."""
    page.wait_for_function(
        f"() => {{ const s = JSON.parse(document.querySelector('[data-ready]').dataset.state);"
        f" return {condition}; }}"
    )


def fetch(page, name):
    """Fetch the model for an explorable, and let it read the first sentence.

    The model is there before that, but what it then still asks for would be counted as the next
    page's.
    """
    shown = host(page, name)
    words = re.compile("^Your own sentence: (fetch 28 MB|the model is here)$")
    shown.get_by_role("button", name=words).click()
    shown.get_by_role("status").get_by_text(re.compile(r"^\d+ ms$")).wait_for()


def read(page, name, text, n):
    host(page, name).get_by_label("Your sentence").fill(text)
    wait(page, f"s.tokens.length === {n}")


def assert_read(page, name, tokens, p, c):
    """What the page says is what these numbers say, and so are its bars or its large map."""
    now, seen = state(page, name), marks(page, name)
    n, head = len(tokens), now["head"]
    assert now["tokens"] == tokens
    if name == LARGE:
        shades = [[shade(seen[f"weight{i}-{j}"]) for j in range(n)] for i in range(n)]
        np.testing.assert_allclose(shades, p[head], atol=0.0051)
        assert said(page, name).startswith(sentence72.said(tokens, p, c, head))
        looks, takes = (sentence72.on_cls(tokens, x) for x in (p, c))
        all_heads = host(page, name).locator(".ae-all").text_content()
        assert f" {looks} of 72 heads" in all_heads and f"; {takes or 'none'} take" in all_heads
    else:
        head, query = sentence.HEADS[head], now["query"]
        shown = [float(seen[f"number{j}"]["words"]) for j in range(n)]
        np.testing.assert_allclose(shown, p[head, query], atol=0.00502)
        asked = tokens, p[head], query, sentence72.name_of(head)
        assert said(page, name) == sentence.said(*asked)
        found = sentence.finding(*asked)
        assert host(page, name).locator(".ae-question").text_content() == found
        assert host(page, name).locator(".ae-body").get_attribute("aria-label") == found


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (SMALL, ["L3H1", "L0H2", "L1H8"]),
        (LARGE, ["weight", "size of what it adds"]),  # no head is silent without a model
    ],
)
def test_before_the_press_what_was_recorded_is_shown_and_nothing_is_fetched(
    visit, model, name, words
):
    page = visit(name, width=390)
    buttons = host(page, name).locator(".ae-controls:not(.ae-own) button:enabled")
    assert buttons.all_text_contents() == words
    for button in buttons.all():
        button.click()
        assert_shows(page, name)
        assert_read(page, name, *truth(model, FIRST[name]))
    assert_still(page, name)
    assert len(page.asked) == 1, "the page"


TYPED = (("To be or not to be, that is the question", 13), ("Crème brûlée, 50 €!", 11), ("Why?", 4))
LONG = "The old man who remembers everything never told anybody where the treasure was hidden"


@pytest.mark.parametrize("width", [390, 960])
@pytest.mark.parametrize("name", BOTH)
def test_a_typed_sentence_is_what_numpy_says(visit, model, name, width):
    page = visit(name, width=width)
    fetch(page, name)
    field = host(page, name).get_by_label("Your sentence")
    assert field.evaluate("e => document.activeElement === e")
    for text, n in TYPED:
        read(page, name, text, n)
        assert_read(page, name, *truth(model, text))
        assert page.evaluate(OUTSIDE) == []
    assert_still(page, name)


def test_the_word_that_is_picked_stays_where_it_still_stands(visit, model):
    page = visit(SMALL)
    fetch(page, SMALL)
    host(page, SMALL).get_by_label("Your sentence").fill(sentence.TEXT.replace("hungry", "sweet"))
    wait(page, "s.tokens.includes('sweet')")
    tokens, p, c = truth(model, sentence.TEXT.replace("hungry", "sweet"))
    assert tokens[state(page, SMALL)["query"]] == "it" != tokens[sentence.strongest(p[37])]
    assert_read(page, SMALL, tokens, p, c)
    read(page, SMALL, "Why?", 4)
    tokens, p, c = truth(model, "Why?")
    assert state(page, SMALL)["query"] == sentence.strongest(p[37])
    host(page, SMALL).get_by_role("button", name="L1H8").click()
    assert_read(page, SMALL, tokens, p, c)


def test_a_key_fetches_the_model_and_what_was_typed_is_read(visit):
    page = visit(SMALL, width=390)
    shown = host(page, SMALL)
    field, status = shown.get_by_label("Your sentence"), shown.get_by_role("status")
    page.route("**/*.bin", lambda route: None)  # an answer that never comes
    field.press("Control+End")
    field.press_sequentially("W")
    status.get_by_text("of 28 MB").wait_for()
    field.press("Enter")
    assert field.input_value() == sentence.TEXT + "W", "it is one line"
    shown.get_by_role("button", name="Stop").click()
    assert not state(page, SMALL)["live"]
    field.press("Backspace")
    assert field.input_value() == sentence.TEXT, "what was typed stays"
    assert shown.get_by_role("button", name="Your own sentence").is_visible(), "it was stopped"
    page.unroute("**/*.bin")
    fetch(page, SMALL)
    read(page, SMALL, "Why?", 4)

    # At the next load it is here, as the button says, and a key begins.
    page.reload()
    page.wait_for_selector("[data-ready]")
    page.asked.clear()
    shown.get_by_role("button", name="Your own sentence: the model is here").wait_for()
    assert page.asked == []
    read(page, SMALL, "Why?", 4)
    assert field.evaluate("e => document.activeElement === e")
    field.fill(LONG)  # as many words as are read
    assert field.evaluate("e => e.scrollHeight <= e.clientHeight"), "all of it is seen"
    assert_still(page, SMALL)


def test_what_is_wrong_is_said(visit):
    page = visit(SMALL, width=390)
    fetch(page, SMALL)
    shown = host(page, SMALL)
    field, status = shown.get_by_label("Your sentence"), shown.get_by_role("status")
    read(page, SMALL, "word " * 30, 16)
    assert "Read up to" in status.text_content()
    field.fill("x" * 100)
    status.get_by_text("more than 14 pieces").wait_for()
    field.fill("  ")
    page.wait_for_timeout(400)
    assert len(state(page, SMALL)["tokens"]) == 16, "an empty field asks nothing"
    field.fill("\u200b")
    status.get_by_text("No word to read.").wait_for()
    shown.get_by_role("slider", name="Word").press("ArrowDown")
    assert len(state(page, SMALL)["tokens"]) == 16, "what was read last is still there"
    assert_still(page, SMALL)


def test_offline_is_said(visit):
    # A context of its own, which has fetched nothing before and is offline for nobody else.
    page = visit(SMALL, **ALONE)
    page.context.set_offline(True)
    host(page, SMALL).get_by_label("Your sentence").press_sequentially("W")
    host(page, SMALL).get_by_text("Not fetched: this device is offline.").wait_for()


def test_the_browser_keeps_the_weights_for_the_other_and_for_a_later_version(visit, served):
    page = visit(SMALL)
    page.evaluate(OLDER)
    page.asked.clear()
    fetch(page, SMALL)
    kept = page.evaluate(STORED)
    manifest = json.loads((weights.ready() / "manifest.json").read_text("utf-8"))
    at_start = {one["name"] for one in [*manifest["chunks"], manifest["vocabulary"]]}
    blocks = {one["name"] for one in manifest["blocks"]}
    assert at_start <= {url.rsplit("/", 1)[1] for url in page.asked}
    for address, name, _ in PAGES:
        page.goto(f"{served}/{address}.html")
        page.wait_for_selector("[data-ready]")
        page.asked.clear()
        fetch(page, name)
        assert page.asked and all(url.startswith(served) for url in page.asked)
        names = [url.rsplit("/", 1)[1] for url in page.asked]
        fetched = {one for one in names if not one.endswith((".js", ".json"))}
        assert fetched <= blocks - {*kept}
        assert not fetched or address == LARGE, "the same sentence has the same words"
        kept = page.evaluate(STORED)
        assert at_start <= {*kept} <= at_start | blocks, "the older version's are deleted"
        assert len({*kept}) == len(kept), "each once"


def test_a_silent_head(visit, model):
    text = PLAIN[4]
    tokens, p, c = truth(model, text)
    page = visit(LARGE, width=960)
    shown, heads = host(page, LARGE), page.get_by_role("slider", name="Head")
    fetch(page, LARGE)
    read(page, LARGE, text, 14)
    for key in 7 * ["ArrowLeft"] + ["ArrowUp"]:
        heads.press(key)
    assert state(page, LARGE)["name"] == "L0H2"
    means = sentence72.recorded()[3].reshape(6, 12, 32)
    less = {
        "mean": ("silent: its mean", embed_without_each(model, text, means)[0, 2]),
        "zero": ("silent: 0", model.embed(text, ablate=[(0, 2)])),
    }
    for by, (words, embedding) in less.items():
        shown.get_by_role("button", name=words).click()
        wait(page, f"s.silent?.by === '{by}' && s.cosine < 1")
        angle = np.degrees(np.arccos(model.embed(text) @ embedding))
        turn = float(re.search(r"turns by ([\d.]+)°", said(page, LARGE))[1])
        assert turn == pytest.approx(angle, abs=0.06)
        assert "L1H9 changes most" in said(page, LARGE)
        assert marks(page, LARGE)["silent"]["words"] == "silent"
    _, q, _ = truth(model, text, [(0, 2)])
    before, after = (sentence72.shares(tokens, x[21])["the word before"] for x in (p, q))
    ends = f"{before:.0%} of its weight on the word before became {after:.0%}."
    assert said(page, LARGE).endswith(ends.replace("%", " %"))
    shift = np.abs(p - q)[12:, 1:-1].sum(-1).mean(-1)
    assert shift.argmax() + 12 == 21
    shown.get_by_role("button", name="speaks").click()
    wait(page, "s.silent === null")
    assert_read(page, LARGE, tokens, p, c)
    assert_still(page, LARGE)


def test_words_by_keyboard_and_finger(visit):
    page = visit(SMALL, width=390, has_touch=True, is_mobile=True)
    word = page.get_by_role("slider", name="Word")
    n = len(state(page, SMALL)["tokens"])
    first = state(page, SMALL)["query"]
    for step in range(1, n + 1):
        word.press("ArrowDown")
        assert state(page, SMALL)["query"] == (first + step) % n
    assert word.get_attribute("aria-valuetext") == said(page, SMALL)
    for i in (2, 9):
        word.tap(position={"x": 40, "y": word.bounding_box()["height"] * (i + 0.5) / n})
        assert state(page, SMALL)["query"] == i
        assert_shows(page, SMALL)


def test_heads_and_cells_by_keyboard(visit):
    page = visit(LARGE)
    tokens, p, c, _ = sentence72.recorded()
    page.get_by_role("button", name="Your own sentence").focus()
    for _ in range(3):
        page.keyboard.press("Tab")
    for key, head in (("ArrowUp", 9), ("ArrowUp", 69), ("ArrowRight", 70), ("ArrowDown", 10)):
        page.keyboard.press(key)
        assert state(page, LARGE)["head"] == head
    heads = page.get_by_role("slider", name="Head")
    assert heads.get_attribute("aria-valuetext") == sentence72.said(tokens, p, c, 10)
    page.keyboard.press("Tab")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert state(page, LARGE)["cell"] == [2, 1]
    words = f"from “cat” to “the”: weight {p[10, 2, 1]:.2f}, size {c[10, 2, 1]:.2f}"
    assert marks(page, LARGE)["read"]["words"] == words
    assert page.get_by_role("slider", name="Cell").get_attribute("aria-valuetext") == words
    assert_shows(page, LARGE)


def test_heads_and_cells_by_finger_on_a_phone_in_one_view(visit):
    page = visit(LARGE, width=390, has_touch=True, is_mobile=True)
    heads, cells = (page.get_by_role("slider", name=name) for name in ("Head", "Cell"))
    wall, maps = heads.bounding_box(), cells.bounding_box()
    assert maps["y"] + maps["height"] - wall["y"] < 500
    heads.tap(position={"x": wall["width"] * 1.5 / 12, "y": wall["height"] * 3.5 / 6})
    assert state(page, LARGE)["head"] == 37
    cells.tap(position={"x": maps["width"] - 30, "y": 30})
    assert state(page, LARGE)["cell"] == [1, 6]


@pytest.mark.parametrize(("name", "width"), [(SMALL, 390), (LARGE, 960)])
def test_axe_finds_nothing_once_the_model_is_there(visit, name, width):
    page = visit(name, width=width)
    page.add_style_tag(content=DARK)
    fetch(page, name)
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page) == []
    assert page.evaluate(SHIFT) == 0
