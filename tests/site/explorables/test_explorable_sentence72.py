"""The explorable "sentence72": what it shows is what NumPy says, recorded and typed."""

import json
import re

import numpy as np
import pytest
from hosts import axe, host, state
from marks import OUTSIDE, SHIFT, assert_still, marks, said, shade
from model_pages import fetch, visiting, wait, write_pages

from attention_src.explorables import sentence72
from attention_src.models.minilm import MiniLM
from attention_src.models.minilm.baselines import mean_outputs
from attention_src.models.minilm.sentences import PLAIN
from tools.page.models import weights
from tools.site.server import serving

NAME = "sentence72"
LEVELS = 8
FULL = {"weight": 1, "size": 2}


@pytest.fixture(scope="module")
def model():
    return MiniLM.load()


def truth(model, text, ablate=()):
    """Tokens, weights [72, n, n], and the sizes of what is added [72, n, n]."""
    trace = model.trace(text, ablate=ablate)
    n = len(trace.tokens)
    w_o = np.stack([model.head_output_weights(*divmod(head, 12)) for head in range(72)])
    lengths = np.linalg.norm(trace.values.reshape(72, n, 32) @ w_o, axis=-1)
    p = trace.weights.reshape(72, n, n).astype(float)
    return trace.tokens, p, p * lengths[:, None]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The address of a page with the explorable and its model, and of a later version of it."""
    root = tmp_path_factory.mktemp("site")
    write_pages(root, index=(NAME, "minilm"), later=(NAME, "minilm-later"))
    with serving(root) as base:
        yield base


@pytest.fixture
def visit(new_page, served):
    with visiting(new_page, served) as go:
        yield go


def read(page, text, n):
    host(page, NAME).get_by_label("Your sentence").fill(text)
    wait(page, f"s.tokens.length === {n}")


def assert_right(page, tokens, p, c):
    """All that is shown, beside NumPy's numbers: enlarged maps, the wall, the sentences."""
    now, seen = state(page, NAME), marks(page, NAME)
    n, head = len(tokens), now["head"]
    assert now["tokens"] == tokens
    for kind, x in (("weight", p), ("size", c)):
        found = [[shade(seen[f"{kind}{i}-{j}"]) for j in range(n)] for i in range(n)]
        np.testing.assert_allclose(found, np.minimum(x[head] / FULL[kind], 1), atol=0.0051)
    kind = now["kind"]
    x = np.minimum((p if kind == "weight" else c) / FULL[kind], 1)
    np.testing.assert_allclose(wall(seen, kind, n), x, atol=0.51 / LEVELS)
    assert said(page, NAME).startswith(sentence72.said(tokens, p, c, head))
    counts = sentence72.on_cls(tokens, p), sentence72.on_cls(tokens, c)
    shown = re.findall(r"sentence (\d+) of 72|(\d+|none) takes?", all_heads(page))
    assert (shown[0][0], shown[1][1]) == (str(counts[0]), str(counts[1] or "none"))


def all_heads(page):
    return host(page, NAME).locator(".ae-all").text_content()


def wall(seen, kind, n):
    """The strengths that the small maps show [72, n, n], read from their strokes."""
    names = [mark for key, mark in seen.items() if key.startswith("column")]
    middles = [float(mark["x"]) for mark in names]
    wide = middles[1] - middles[0]
    corners = re.findall(r"M([\d.]+) ([\d.]+)h", seen["frames"]["d"])
    left, top = (float(value) for value in corners[0])
    high = float(corners[12][1]) - top
    out = np.zeros((72, n, n))
    for key, mark in seen.items():
        if not (level := re.fullmatch(rf"wall-{kind}(\d+)", key)):
            continue
        for a, b, long in re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)", mark["d"]):
            x, y = float(a) - left, float(b) - top
            column, row = int((x + 1) // wide), int((y + 1) // high)
            i = int((y - row * high) / ((high - 4) / n))
            j = round((x - column * wide) / ((wide - 4) / n))
            count = round(float(long) / ((wide - 4) / n))
            out[12 * row + column, i, j : j + count] = int(level[1]) / LEVELS
    return out


def test_what_was_recorded_is_what_the_model_gives(model):
    tokens, p, c = truth(model, sentence72.TEXT)
    found = sentence72.recorded()
    assert found[0] == tokens
    np.testing.assert_allclose(found[1], p, atol=1e-5)
    np.testing.assert_allclose(found[2], c, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found[3], mean_outputs(model, PLAIN).reshape(72, 32), atol=1e-3)


@pytest.mark.parametrize("width", [390, 688, 960])
def test_before_the_press_the_recorded_sentence_is_right_and_nothing_is_fetched(visit, width):
    page = visit(width=width)
    tokens, p, c, _ = sentence72.recorded()
    assert_right(page, tokens, p, c)
    host(page, NAME).get_by_role("button", name="size of what it adds").click()
    assert_right(page, tokens, p, c)
    assert host(page, NAME).get_by_role("button", name="silent: 0").is_disabled()
    assert_still(page, NAME)
    assert [url.rsplit("/", 1)[1] for url in page.asked] == ["index.html"]


TYPED = (("To be or not to be, that is the question", 13), ("Crème brûlée, 50 €!", 11), ("Why?", 4))


@pytest.mark.parametrize("width", [390, 960])
def test_a_typed_sentence_is_what_numpy_says(visit, model, width):
    page = visit(width=width)
    fetch(page, NAME)
    assert (
        host(page, NAME).get_by_label("Your sentence").evaluate("e => document.activeElement === e")
    )
    for text, n in TYPED:
        read(page, text, n)
        assert_right(page, *truth(model, text))
        assert page.evaluate(OUTSIDE) == []
    assert_still(page, NAME)


def turn(model, text, head, by):
    """The angle in degrees by which the embedding turns without a head."""
    fill = np.zeros((6, 12, 32)) if by == "zero" else mean_outputs(model, PLAIN).astype(np.float16)
    layer, column = divmod(head, 12)
    x = model.trace(text).layers[0]
    for at in range(6):
        o = model.attend(at, x)
        if at == layer:
            o[column] = fill[layer, column]
        x = model.layer(at, x, o)
    mean = x.mean(axis=0) / np.linalg.norm(x.mean(axis=0))
    return np.degrees(np.arccos(min(1, float(mean @ model.embed(text)))))


def test_a_silent_head(visit, model):
    text = PLAIN[4]
    page = visit(width=960)
    fetch(page, NAME)
    read(page, text, 14)
    for _ in range(7):
        page.get_by_role("slider", name="Head").press("ArrowLeft")
    page.get_by_role("slider", name="Head").press("ArrowUp")
    assert state(page, NAME)["name"] == "L0H2"
    for by, words in (("zero", "silent: 0"), ("mean", "silent: its mean")):
        host(page, NAME).get_by_role("button", name=words).click()
        wait(page, f"s.silent?.by === '{by}' && s.cosine < 1")
        shown = float(re.search(r"turns by ([\d.]+)°", said(page, NAME))[1])
        assert shown == pytest.approx(turn(model, text, 2, by), abs=0.06)
        assert "L1H9 changes most" in said(page, NAME)
        assert marks(page, NAME)["silent"]["words"] == "silent"
    host(page, NAME).get_by_role("button", name="silent: 0").click()
    wait(page, "s.silent.by === 'zero'")
    _, p, _ = truth(model, text)
    tokens, q, _ = truth(model, text, [(0, 2)])
    before, after = (sentence72.shares(tokens, x[21])["the word before"] for x in (p, q))
    ends = f"{before:.0%} of its weight on the word before became {after:.0%}."
    assert said(page, NAME).endswith(ends.replace("%", " %"))
    shift = np.abs(p - q)[12:, 1:-1].sum(-1).mean(-1)
    assert shift.argmax() + 12 == 21
    host(page, NAME).get_by_role("button", name="speaks").click()
    wait(page, "s.silent === null")
    assert_right(page, *truth(model, text))
    assert_still(page, NAME)


def test_by_keyboard_alone(visit):
    page = visit(width=960)
    tokens, p, c, _ = sentence72.recorded()
    page.get_by_role("button", name="Your own sentence").focus()
    for _ in range(3):
        page.keyboard.press("Tab")
    for key, head in (("ArrowUp", 9), ("ArrowUp", 69), ("ArrowRight", 70), ("ArrowDown", 10)):
        page.keyboard.press(key)
        assert state(page, NAME)["head"] == head
    heads = page.get_by_role("slider", name="Head")
    assert heads.get_attribute("aria-valuetext") == sentence72.said(tokens, p, c, 10)
    page.keyboard.press("Tab")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert state(page, NAME)["cell"] == [2, 1]
    words = f"from “cat” to “the”: weight {p[10, 2, 1]:.2f}, size {c[10, 2, 1]:.2f}"
    assert marks(page, NAME)["read"]["words"] == words
    assert page.get_by_role("slider", name="Cell").get_attribute("aria-valuetext") == words


def test_by_finger_on_a_phone_wall_and_head_in_one_view(visit):
    page = visit(width=390, height=844, has_touch=True, is_mobile=True)
    seen = marks(page, NAME)
    top = float(seen["column0"]["y"]) - 12
    bottom = float(seen["back-size"]["y"]) + float(seen["back-size"]["height"])
    assert bottom - top < 500
    corners = re.findall(r"M([\d.]+) ([\d.]+)h", seen["frames"]["d"])
    x, y = (float(value) for value in corners[37])
    svg = host(page, NAME).locator("svg.ae-scene")
    svg.tap(position={"x": x + 10, "y": y + 10})
    assert state(page, NAME)["head"] == 37
    box = marks(page, NAME)["back-size"]
    svg.tap(position={"x": float(box["x"]) + 30, "y": float(box["y"]) + 30})
    assert state(page, NAME)["cell"] == [1, 1]


STORED = "caches.open('minilm').then(s => s.keys()).then(all => all.map(one => one.url))"
OLDER = "caches.open('minilm').then(s => s.put('/minilm-older/0.bin', new Response('weights')))"


def test_a_later_version_keeps_the_weights_that_are_the_same_and_deletes_others(visit, served):
    page = visit(width=688)
    page.evaluate(OLDER)
    fetch(page, NAME)
    names = [url.rsplit("/", 1)[1] for url in page.evaluate(STORED)]
    manifest = json.loads((weights.ready() / "manifest.json").read_text("utf-8"))
    at_start = {one["name"] for one in [*manifest["chunks"], manifest["vocabulary"]]}
    blocks = {one["name"] for one in manifest["blocks"]}
    assert at_start <= set(names) <= at_start | blocks and len(set(names)) == len(names)
    page.goto(f"{served}/later.html")
    page.wait_for_selector("[data-ready]")
    page.asked.clear()
    fetch(page, NAME)
    assert page.asked and {url.rsplit(".", 1)[1] for url in page.asked} == {"js", "json"}
    later = [url.rsplit("/", 1)[1] for url in page.evaluate(STORED)]
    assert set(names) <= set(later) <= at_start | blocks and len(set(later)) == len(later)


def test_axe_finds_nothing_once_the_model_is_there(visit):
    page = visit(width=960)
    page.add_style_tag(
        content="@media (prefers-color-scheme: dark)"
        " { body { background: #141618; color: #dfe2e6 } }"
    )
    fetch(page, NAME)
    assert axe(page) == []
    page.emulate_media(color_scheme="dark")
    assert axe(page) == []
    assert page.evaluate(SHIFT) == 0
