"""The explorable "kvcache" in a browser: its bytes are `attention_src.costs`'s, for every model."""

import itertools

import pytest
from hosts import host, state

from attention_src.costs import kv_cache_bytes
from attention_src.costs.roofline import CHIPS
from attention_src.explorables.kvcache import MODELS

CARDS = {chip.name: chip.memory_bytes for chip in CHIPS.values()}


def per_text(model, tokens, bits):
    """Bytes of a text's cache; a latent vector is one head of width d and nothing beside it."""
    heads, d_v = (model.heads, model.width) if model.heads else (1, 0)
    return kv_cache_bytes(model.layers, heads, model.width, d_v, tokens, dtype_bytes=bits / 8)


def choose(page, **settings):
    box = host(page, "kvcache")
    selects = ("model", "weightBits", "card", "n_cards", "bits")  # in their order
    for name, value in settings.items():
        if name in selects:
            box.locator("select").nth(selects.index(name)).select_option(str(value))
        else:
            label = {"tokens": "tokens in a text", "texts": "texts at once"}[name]
            box.get_by_label(label).fill(str(value.bit_length() - 1))
    return box


def assert_right(page):
    now = state(page, "kvcache")
    model = next(model for model in MODELS if model.name == now["model"])
    memory = CARDS[now["card"]] * now["n_cards"]
    text = per_text(model, now["tokens"], now["bits"])
    weights = model.parameters * now["weightBits"] / 8
    assert now["token"] == per_text(model, 1, now["bits"])
    assert (now["text"], now["all"]) == (text, text * now["texts"])
    assert (now["weights"], now["memory"]) == (weights, memory)
    assert now["fits"] == max(0, (memory - weights) // text)
    said = host(page, "kvcache").locator(".ae-entropy").text_content()
    if weights > memory:
        assert "do not fit" in said
    else:
        assert f"room for {now['fits']:,.0f} such text" in said


def test_every_model_on_several_cards(show):
    page = show("kvcache")
    assert len(MODELS) >= 8 and all(model.source for model in MODELS)
    turn = itertools.cycle(itertools.product(("H100 SXM", "T4"), (16, 4)))
    for model, (card, bits) in zip(MODELS, turn, strict=False):
        choose(page, model=model.name, card=card, n_cards=8, bits=bits, weightBits=8)
        for tokens, texts in ((1024, 1), (131_072, 64)):
            choose(page, tokens=tokens, texts=texts)
            assert_right(page)
        assert model.source in host(page, "kvcache").locator(".ae-caption").text_content()


def test_what_the_reports_say():
    """Jamba's report gives the caches of 256K tokens in 16 bits: 4 GB, and 32 GB for Mixtral."""
    of = {model.name: 2 * model.numbers * 2**18 / 2**30 for model in MODELS}
    assert (of["Jamba"], of["Mixtral 8x7B"]) == (4, 32)


def test_smollm2_is_as_its_file_says():
    smollm2 = pytest.importorskip("attention_src.models.smollm2")
    try:
        config = smollm2.SmolLM2.load().config
    except ImportError:
        pytest.skip("SmolLM2 is not installed")
    ours = MODELS[-1]
    kept = (config.n_layers, config.n_kv_heads, config.d_head)
    assert (ours.layers, ours.heads, ours.width) == kept
    assert ours.trained == config.max_tokens


def test_the_start_and_start_over(show):
    page = show("kvcache")
    assert_right(page)
    before = state(page, "kvcache")
    assert before["text"] == 10 * 2**30
    choose(page, model="GPT-3", tokens=1 << 20, texts=1024, bits=2)
    assert "Made for 2,048 tokens" in host(page, "kvcache").text_content()
    host(page, "kvcache").get_by_text("Start over").click()
    assert state(page, "kvcache") == before


def test_by_keyboard(show):
    page = show("kvcache")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert state(page, "kvcache")["model"] == "Llama 3.1 405B"
    for _ in range(6):
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert state(page, "kvcache")["tokens"] == 65_536
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    assert state(page, "kvcache")["texts"] == 1024


@pytest.mark.parametrize("width", [390, 1000])
def test_nothing_is_cut_off_and_nothing_jumps(show, width):
    page = show("kvcache", width=width)
    before = host(page, "kvcache").bounding_box()["height"]
    for model in ("SmolLM2-135M", "DeepSeek-V3", "PaLM 540B"):
        choose(page, model=model, tokens=1 << 20, texts=1024)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert host(page, "kvcache").bounding_box()["height"] == before
